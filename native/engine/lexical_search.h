// Finds the rows of one shard that contain words of a query, and their BM25 scores.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/ranking.h"
#include "engine/search_request.h"
#include "engine/shard_view.h"
#include "engine/status.h"

namespace quarry {

// BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). The prefix
// (title and heading path) counts as a field of low weight (kPrefixWeight); only the text contributes to the
// row length. Of the alternatives of one word only the best counts in a row, with the IDF of all alternatives
// together: they are often forms of one occurrence.
inline constexpr float kBm25Saturation = 1.2F;  // k1
inline constexpr float kBm25LengthNorm = 0.6F;  // b

// Returns the terms by group, in group order: alternatives of one word are adjacent.
std::vector<std::vector<QueryTerm>> GroupTerms(std::vector<QueryTerm> terms);

// Returns the inverse document frequency of a word that `found` of `rows` rows contain.
float Idf(uint64_t rows, uint64_t found);

// A score that at least as many rows of the collection as requested are known to reach. Shards searched sequentially
// or concurrently share it and skip rows below it. Scores are comparable across shards, so no result is lost.
class ScoreFloor {
 public:
  float Get() const { return floor_.load(std::memory_order_relaxed); }
  void Raise(float score) {
    float floor = Get();
    while (score > floor && !floor_.compare_exchange_weak(floor, score, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<float> floor_{0};
};

// Runs in two passes, because a score needs the IDF of its words in the whole collection: Count, then, after
// every shard has counted, Score.
class LexicalSearch {
 public:
  using Groups = std::vector<std::vector<QueryTerm>>;

  // All arguments must outlive the search.
  LexicalSearch(const ShardView& view, const ReadSnapshot& readSnapshot, const SearchRequest& request)
      : view_(view), readSnapshot_(readSnapshot), request_(request) {}

  // Counts, per group, the visible rows that contain words of the query, regardless of the filter.
  Status Count(const Groups& groups);
  // Returns the number of visible rows that contain at least one alternative of the group.
  uint64_t RowsWith(size_t group) const { return counts_[group]; }

  // Appends the best request.lexicalCandidates matching rows to *best, except those below the floor, and sets
  // the scores of the entries of `near` that belong to this shard.
  Status Score(const Groups& groups, const std::vector<float>& idfs, ScoreFloor* floor, std::vector<ScoredChunk>* best,
               std::vector<std::pair<ScoredChunk, float>>* near) const;

 private:
  // For words with many postings.
  Status ScoreInWindows(const Groups& groups, const std::vector<float>& idfs, ScoreFloor* floor,
                        std::vector<ScoredChunk>* best, std::vector<std::pair<ScoredChunk, float>>* near) const;
  Status CountGroup(const std::vector<uint64_t>& hashes, uint64_t* count) const;

  const ShardView& view_;
  const ReadSnapshot& readSnapshot_;
  const SearchRequest& request_;
  std::vector<uint64_t> counts_;  // by group
};

}  // namespace quarry
