// The rows of one shard that hold words of a query, and their BM25 scores.
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

// BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). The prefix (title
// and heading path) counts as a field of low weight (kPrefixWeight); only the text makes a row long. Of the
// alternatives of one word a row counts the best, at the rarity of them all: they are often forms of one occurrence.
inline constexpr float kBm25Saturation = 1.2F;  // k1
inline constexpr float kBm25LengthNorm = 0.6F;  // b

// The terms by group, in order of group: alternatives of one word stand together.
std::vector<std::vector<QueryTerm>> GroupTerms(std::vector<QueryTerm> terms);

// How much a word weighs that `found` of `rows` rows hold.
float Rarity(uint64_t rows, uint64_t found);

// A score that is known to be reached by as many rows of the collection as are wanted. Shards that are searched one
// after the other or side by side tell each other, and none looks closer at rows that stay below. Scores are the same
// in every shard, so nothing is lost by it.
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

// In two passes, because a score needs the rarity of its words in the whole collection: Count, then, when every shard
// has counted, Score.
class LexicalSearch {
 public:
  using Groups = std::vector<std::vector<QueryTerm>>;

  // All must outlive the search.
  LexicalSearch(const ShardView& view, const Moment& moment, const SearchRequest& request)
      : view_(view), moment_(moment), request_(request) {}

  // How many visible rows hold words of the query, whether they match the filter or not.
  Status Count(const Groups& groups);
  // Visible rows that hold at least one alternative of the group.
  uint64_t RowsWith(size_t group) const { return counts_[group]; }

  // Adds the best request.lexicalCandidates matching rows to *best, less those below the floor, and gives each of
  // `near` that is of this shard its score.
  Status Score(const Groups& groups, const std::vector<float>& rarities, ScoreFloor* floor, std::vector<Scored>* best,
               std::vector<std::pair<Scored, float>>* near) const;

 private:
  // Where many rows hold words.
  Status ScoreInWindows(const Groups& groups, const std::vector<float>& rarities, ScoreFloor* floor,
                        std::vector<Scored>* best, std::vector<std::pair<Scored, float>>* near) const;
  Status CountGroup(const std::vector<uint64_t>& hashes, uint64_t* count) const;

  const ShardView& view_;
  const Moment& moment_;
  const SearchRequest& request_;
  std::vector<uint64_t> counts_;  // by group
};

}  // namespace quarry
