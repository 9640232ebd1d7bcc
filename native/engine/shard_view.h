// One shard as seen by one search: at its epoch, through its filter.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/bitset.h"
#include "engine/filter_cache.h"
#include "engine/ranking.h"
#include "engine/search_request.h"
#include "engine/shard.h"
#include "engine/status.h"

namespace quarry {

// Returns the row of shard `number` with its version and chunk.
ScoredChunk ToScoredChunk(const Shard& shard, uint32_t number, uint32_t row, float score);

// The filter is evaluated once, before the vector and the lexical search use the view.
class ShardView {
 public:
  // `readSnapshot` must outlive the view.
  ShardView(uint32_t number, const ReadSnapshot& readSnapshot)
      : number_(number), shard_(*(*readSnapshot.shards)[number]), epoch_(readSnapshot.epoch) {}
  // Evaluates the filter of the request, if any. If it fails, the view must not be used.
  Status EvaluateFilter(const SearchRequest& request);

  uint32_t number() const { return number_; }
  const Shard& shard() const { return shard_; }
  bool IsFiltered() const { return matching_ != nullptr; }
  // Superset of the visible rows that match the filter; all its rows match. Requires a filter.
  const Bitset& Matching() const { return matching_->rows; }
  // Whether the matching rows are distributed like a random sample; see Graph::IsUncorrelated. Requires a filter.
  bool IsUncorrelated() const { return matching_->IsUncorrelated(shard_.graph()); }
  // Number of rows that match, or of all rows without a filter. Includes deleted rows.
  uint64_t CandidateCount() const { return IsFiltered() ? matching_->count : shard_.Rows(); }

  bool IsVisible(uint32_t row) const { return shard_.IsRowVisible(row, epoch_); }
  // Lists visible rows that match; see Shard::ListVisible.
  size_t List(uint32_t* word, uint32_t end, size_t limit, uint32_t* rows) const {
    return shard_.ListVisible(IsFiltered() ? &matching_->rows : nullptr, epoch_, word, end, limit, rows);
  }
  ScoredChunk ToScoredChunk(uint32_t row, float score) const {
    return quarry::ToScoredChunk(shard_, number_, row, score);
  }

 private:
  const uint32_t number_;
  const Shard& shard_;
  const uint64_t epoch_;
  std::shared_ptr<const MatchingRows> matching_;  // null without a filter
};

}  // namespace quarry
