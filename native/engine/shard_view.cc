#include "engine/shard_view.h"

namespace quarry {

ShardView::ShardView(uint32_t number, const Moment& moment, const SearchRequest& request)
    : number_(number), shard_(*(*moment.shards)[number]), epoch_(moment.epoch) {
  if (request.filter.has_value()) EvaluateFilter(*request.filter);
}

Scored Identify(const Shard& shard, uint32_t number, uint32_t row, float score) {
  const DocumentSlot& document = shard.Document(shard.Facts(row).slot);
  return {score, static_cast<double>(document.version), row - document.firstRow, row, number};
}

void ShardView::EvaluateFilter(const FilterProgram& filter) {
  filtered_.emplace();
  const uint32_t slots = shard_.Slots();
  const Bitset matching = shard_.attributes().Evaluate(filter, slots);
  // Loaded after the slots, so that it covers the rows of all of them.
  filtered_->rows.Reset(shard_.Rows());
  matching.ForEach([&](size_t slot) {
    if (!shard_.SlotVisible(static_cast<uint32_t>(slot), epoch_)) return true;
    const DocumentSlot& document = shard_.Document(static_cast<uint32_t>(slot));
    filtered_->rows.AddRange(document.firstRow, document.rowCount);
    filtered_->count += document.rowCount;
    return true;
  });
}

}  // namespace quarry
