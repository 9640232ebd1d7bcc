#include "engine/shard_view.h"

namespace quarry {

Status ShardView::Match(const SearchRequest& request) {
  if (!request.filter.has_value()) return {};
  return shard_.filterRows().Find(shard_, *request.filter, request.patience, &matching_);
}

Scored Identify(const Shard& shard, uint32_t number, uint32_t row, float score) {
  const DocumentSlot& document = shard.Document(shard.Facts(row).slot);
  return {score, static_cast<double>(document.version), row - document.firstRow, row, number};
}

}  // namespace quarry
