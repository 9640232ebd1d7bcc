// The rows of one shard that hold words of a query, and their BM25 scores.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/ranking.h"
#include "engine/search_request.h"
#include "engine/shard_view.h"
#include "engine/status.h"

namespace quarry {

// BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). The prefix (title
// and heading path) counts as a field of low weight; only the text makes a row long.
inline constexpr float kBm25Saturation = 1.2F;  // k1
inline constexpr float kBm25LengthNorm = 0.6F;  // b
inline constexpr float kPrefixWeight = 0.3F;

// The terms by group, in order of group: alternatives of one word stand together.
std::vector<std::vector<QueryTerm>> GroupTerms(std::vector<QueryTerm> terms);

// In two passes, because a score needs the rarity of its words in the whole collection: Find, then, when every shard
// has found, Score.
class LexicalSearch {
 public:
  // All must outlive the search.
  LexicalSearch(const ShardView& view, const Moment& moment, const SearchRequest& request)
      : view_(view), moment_(moment), request_(request) {}

  // The visible rows that hold words of the query.
  Status Find(const std::vector<std::vector<QueryTerm>>& groups);
  // Visible rows that hold at least one alternative of the group.
  uint64_t RowsWith(size_t group) const { return matches_[group].size(); }

  // BM25 of every match. Adds the best to *best and gives each of `near` that is of this shard its score.
  Status Score(const std::vector<float>& rarities, std::vector<Scored>* best,
               std::vector<std::pair<Scored, float>>* near);

 private:
  // One visible row that holds a word of the query. `gain` is what the word adds to its score, without its rarity.
  struct Match {
    uint32_t row;
    float gain;
  };

  Status Decode(const QueryTerm& term, std::vector<Match>* matches) const;
  static void MergeAlternatives(std::vector<Match>* matches, size_t middle);

  const ShardView& view_;
  const Moment& moment_;
  const SearchRequest& request_;
  std::vector<std::vector<Match>> matches_;  // by group
};

// How much a word weighs that `found` of `rows` rows hold.
float Rarity(uint64_t rows, uint64_t found);

}  // namespace quarry
