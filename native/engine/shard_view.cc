#include "engine/shard_view.h"

namespace quarry {

Status ShardView::EvaluateFilter(const SearchRequest& request) {
  if (!request.filter.has_value()) return {};
  return shard_.filterCache().Find(shard_, *request.filter, request.cancellation, &matching_);
}

ScoredChunk ToScoredChunk(const Shard& shard, uint32_t number, uint32_t row, float score) {
  const DocumentSlot& document = shard.Document(shard.Info(row).slot);
  return {score, static_cast<double>(document.version), row - document.firstRow, row, number};
}

}  // namespace quarry
