#include "engine/best_rows.h"

#include <algorithm>

namespace quarry {

void BestRows::Offer(uint32_t row, float score) {
  const Entry entry{score, row};
  const auto better = [this](const Entry& left, const Entry& right) { return IsBetter(left, right); };
  if (full()) {
    if (!IsBetter(entry, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), better);
    heap_.pop_back();
  }
  heap_.push_back(entry);
  std::push_heap(heap_.begin(), heap_.end(), better);
}

void BestRows::AddTo(std::vector<ScoredChunk>* best) const {
  for (const Entry& entry : heap_) view_.shard().PrefetchInfo(entry.row);
  for (const Entry& entry : heap_) view_.shard().PrefetchDocument(entry.row);
  for (const Entry& entry : heap_) best->push_back(view_.ToScoredChunk(entry.row, entry.score));
}

}  // namespace quarry
