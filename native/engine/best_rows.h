// The best rows of one shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/ranking.h"
#include "engine/shard_view.h"

namespace quarry {

// Keeps the best rows of a shard. Version and chunk of a row are looked up only to break ties and at the end,
// because most offered rows are not kept.
class BestRows {
 public:
  BestRows(const ShardView& view, size_t count) : view_(view), count_(count) {}

  void Offer(uint32_t row, float score);
  bool IsCompetitive(float score) const { return count_ > 0 && (!full() || score >= heap_.front().score); }
  bool full() const { return heap_.size() >= count_; }
  // Minimum score that a further row must reach; 0 while any row is accepted.
  float MinCompetitiveScore() const { return count_ > 0 && full() ? heap_.front().score : 0; }

  // Appends the rows in unspecified order.
  void AddTo(std::vector<ScoredChunk>* best) const;

 private:
  struct Entry {
    float score;
    uint32_t row;
  };
  bool IsBetter(const Entry& left, const Entry& right) const {
    if (left.score != right.score) return left.score > right.score;
    return quarry::IsBetter(view_.ToScoredChunk(left.row, left.score), view_.ToScoredChunk(right.row, right.score));
  }

  const ShardView& view_;
  const size_t count_;
  std::vector<Entry> heap_;  // the worst on top
};

}  // namespace quarry
