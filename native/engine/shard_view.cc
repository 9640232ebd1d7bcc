#include "engine/shard_view.h"

namespace quarry {

ShardView::ShardView(uint32_t number, const Moment& moment, const SearchRequest& request)
    : number_(number), shard_(*(*moment.shards)[number]), epoch_(moment.epoch) {
  if (request.filter.has_value()) matching_ = shard_.filterRows().Find(shard_, *request.filter);
}

Scored Identify(const Shard& shard, uint32_t number, uint32_t row, float score) {
  const DocumentSlot& document = shard.Document(shard.Facts(row).slot);
  return {score, static_cast<double>(document.version), row - document.firstRow, row, number};
}

}  // namespace quarry
