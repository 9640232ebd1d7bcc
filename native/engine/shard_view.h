// One shard as one search sees it: at its moment, through its filter.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/bitset.h"
#include "engine/ranking.h"
#include "engine/search_request.h"
#include "engine/shard.h"

namespace quarry {

// The row of shard `number` with its document's names for it.
Scored Identify(const Shard& shard, uint32_t number, uint32_t row, float score);

// The filter is evaluated once, when the view is made; both sides of the search ask the view.
class ShardView {
 public:
  // `moment` and `request` must outlive the view.
  ShardView(uint32_t number, const Moment& moment, const SearchRequest& request);

  uint32_t number() const { return number_; }
  const Shard& shard() const { return shard_; }
  bool filtered() const { return filtered_.has_value(); }
  // Visible rows that match the filter. Only when there is one.
  const Bitset& Matching() const { return filtered_->rows; }
  // Rows that may be in the answer: those that match, or without a filter all, dead ones too.
  uint64_t Candidates() const { return filtered() ? filtered_->count : shard_.Rows(); }

  bool Visible(uint32_t row) const { return shard_.RowVisible(row, epoch_); }
  // For a visible row: whether it matches the filter.
  bool Matches(uint32_t row) const { return !filtered() || filtered_->rows.Has(row); }
  Scored Identify(uint32_t row, float score) const { return quarry::Identify(shard_, number_, row, score); }

 private:
  struct FilteredRows {
    Bitset rows;
    uint64_t count = 0;
  };

  void EvaluateFilter(const FilterProgram& filter);

  const uint32_t number_;
  const Shard& shard_;
  const uint64_t epoch_;
  std::optional<FilteredRows> filtered_;
};

}  // namespace quarry
