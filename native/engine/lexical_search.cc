#include "engine/lexical_search.h"

#include <algorithm>
#include <cmath>

namespace quarry {
namespace {

constexpr uint32_t kStopEvery = 1024;  // postings between two looks at the clock

// Working memory of one thread.
struct LexicalScratch {
  std::vector<float> scores;      // by row; all zero while `clean`
  std::vector<uint32_t> touched;  // rows whose score is not zero
  bool clean = true;              // false after a search that ran out of memory halfway
};
LexicalScratch& ThreadScratch() {
  thread_local LexicalScratch scratch;
  return scratch;
}

}  // namespace

std::vector<std::vector<QueryTerm>> GroupTerms(std::vector<QueryTerm> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const QueryTerm& left, const QueryTerm& right) { return left.group < right.group; });
  std::vector<std::vector<QueryTerm>> groups;
  for (const QueryTerm& term : terms) {
    if (groups.empty() || groups.back().front().group != term.group) groups.emplace_back();
    groups.back().push_back(term);
  }
  return groups;
}

float Rarity(uint64_t rows, uint64_t found) {
  const auto all = static_cast<double>(rows);
  const auto with = static_cast<double>(found);
  return static_cast<float>(std::log1p(std::max(0.0, all - with + 0.5) / (with + 0.5)));
}

Status LexicalSearch::Find(const std::vector<std::vector<QueryTerm>>& groups) {
  for (const auto& group : groups) {
    auto& matches = matches_.emplace_back();
    for (const QueryTerm& term : group) {
      const size_t before = matches.size();
      if (Status status = Decode(term, &matches); !status.ok()) return status;
      if (before > 0) MergeAlternatives(&matches, before);
    }
  }
  return {};
}

Status LexicalSearch::Decode(const QueryTerm& term, std::vector<Match>* matches) const {
  const float average =
      moment_.rows == 0 ? 1 : static_cast<float>(moment_.bodyLength) / static_cast<float>(moment_.rows);
  const float perTerm = average > 0 ? kBm25LengthNorm / average : 0;
  Status stopped;
  uint32_t decoded = 0;
  view_.shard().postings().ForEach(term.hash, [&](const Posting& posting) {
    if (++decoded % kStopEvery == 0) stopped = request_.patience.Check();
    if (!view_.Visible(posting.row)) return stopped.ok();
    const float frequency = static_cast<float>(posting.body) + kPrefixWeight * static_cast<float>(posting.prefix);
    const float length = static_cast<float>(view_.shard().Facts(posting.row).bodyLength);
    const float norm = kBm25Saturation * (1 - kBm25LengthNorm + perTerm * length);
    matches->push_back({posting.row, term.weight * frequency * (kBm25Saturation + 1) / (frequency + norm)});
    return stopped.ok();
  });
  return stopped;
}

// Two ascending runs become one; a row in both keeps the better gain. Alternatives are often forms of the same
// occurrence, so adding them up would count it twice.
void LexicalSearch::MergeAlternatives(std::vector<Match>* matches, size_t middle) {
  const auto byRow = [](const Match& left, const Match& right) { return left.row < right.row; };
  std::inplace_merge(matches->begin(), matches->begin() + static_cast<std::ptrdiff_t>(middle), matches->end(), byRow);
  size_t kept = 0;
  for (size_t i = 1; i < matches->size(); i++) {
    Match& last = (*matches)[kept];
    const Match& next = (*matches)[i];
    if (last.row == next.row) {
      last.gain = std::max(last.gain, next.gain);
    } else {
      (*matches)[++kept] = next;
    }
  }
  if (!matches->empty()) matches->resize(kept + 1);
}

Status LexicalSearch::Score(const std::vector<float>& rarities, std::vector<Scored>* best,
                            std::vector<std::pair<Scored, float>>* near) {
  const Shard& shard = view_.shard();
  LexicalScratch& scratch = ThreadScratch();
  scratch.touched.clear();
  if (!scratch.clean) scratch.scores.clear();
  scratch.clean = false;
  if (scratch.scores.size() < shard.Rows()) scratch.scores.resize(shard.Rows());
  for (size_t group = 0; group < matches_.size(); group++) {
    for (const Match& match : matches_[group]) {
      float& score = scratch.scores[match.row];
      if (score == 0) scratch.touched.push_back(match.row);
      score += match.gain * rarities[group];
    }
  }
  for (auto& [entry, score] : *near) {
    if (entry.shard == view_.number()) score = scratch.scores[entry.row];
  }
  BestHeap heap(request_.lexicalCandidates);
  for (const uint32_t row : scratch.touched) {
    const float score = scratch.scores[row];
    scratch.scores[row] = 0;
    if (score > 0 && heap.WouldTake(score) && view_.Matches(row)) heap.Offer(view_.Identify(row, score));
  }
  scratch.clean = true;
  best->insert(best->end(), heap.entries().begin(), heap.entries().end());
  return request_.patience.Check();
}

}  // namespace quarry
