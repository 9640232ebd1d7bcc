#include "engine/term_groups.h"

#include <algorithm>

namespace quarry {

TermGroups GroupTerms(std::vector<QueryTerm> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const QueryTerm& left, const QueryTerm& right) { return left.group < right.group; });
  TermGroups groups;
  for (const QueryTerm& term : terms) {
    if (groups.empty() || groups.back().front().group != term.group) groups.emplace_back();
    groups.back().push_back(term);
  }
  return groups;
}

void PrefetchLists(const Postings& postings, const TermGroups& groups) {
  for (const auto& group : groups) {
    for (const QueryTerm& term : group) postings.PrefetchSlot(term.hash);
  }
  for (const auto& group : groups) {
    for (const QueryTerm& term : group) postings.PrefetchList(term.hash);
  }
}

}  // namespace quarry
