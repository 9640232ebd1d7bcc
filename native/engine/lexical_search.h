// Finds the rows of one shard that contain words of a query, and their BM25 scores.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/lexical_query.h"

namespace quarry {

// Runs in two passes, because a score needs the IDF of its words in the whole collection: Count, then, after
// every shard has counted, Score.
class LexicalSearch {
 public:
  // All arguments must outlive the search.
  LexicalSearch(const ShardView& view, const ReadSnapshot& readSnapshot, const SearchRequest& request)
      : view_(view), readSnapshot_(readSnapshot), request_(request) {}

  // Counts, per group, the visible rows that contain words of the query, regardless of the filter.
  Status Count(const TermGroups& groups);
  // Returns the number of visible rows that contain at least one alternative of the group.
  uint64_t RowsWith(size_t group) const { return counts_[group]; }

  // Appends the best request.lexicalCandidates matching rows to *best, except those below the floor, and sets
  // the scores of the entries of `near` that belong to this shard.
  Status Score(const TermGroups& groups, const std::vector<float>& idfs, ScoreFloor* floor,
               std::vector<ScoredChunk>* best, LexicalScores* near) const;

 private:
  Status CountGroup(const std::vector<uint64_t>& hashes, uint64_t* count) const;

  const ShardView& view_;
  const ReadSnapshot& readSnapshot_;
  const SearchRequest& request_;
  std::vector<uint64_t> counts_;  // by group
};

}  // namespace quarry
