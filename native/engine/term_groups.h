// Terms of a query by word.
#pragma once

#include <vector>

#include "engine/postings.h"
#include "engine/search_request.h"

namespace quarry {

// The alternatives of each word of a query.
using TermGroups = std::vector<std::vector<QueryTerm>>;

// Returns the terms by group, in group order: alternatives of one word are adjacent.
TermGroups GroupTerms(std::vector<QueryTerm> terms);

// Prefetches the lists of all terms, so that their memory latencies overlap.
void PrefetchLists(const Postings& postings, const TermGroups& groups);

}  // namespace quarry
