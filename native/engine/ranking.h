// Rows with a score, the best first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry {

struct Scored {
  float score;
  double version;
  uint32_t chunk;
  uint32_t row;
  uint32_t shard;
};
// Better first; equal scores in the order of version and chunk, which no shard count changes.
inline bool Better(const Scored& left, const Scored& right) {
  if (left.score != right.score) return left.score > right.score;
  if (left.version != right.version) return left.version < right.version;
  return left.chunk < right.chunk;
}

// Keeps the best `count` of the entries.
inline void KeepBest(std::vector<Scored>* entries, size_t count) {
  if (entries->size() <= count) return;
  std::nth_element(entries->begin(), entries->begin() + static_cast<std::ptrdiff_t>(count), entries->end(), Better);
  entries->resize(count);
}

// A bounded heap of the best entries, worst on top.
class BestHeap {
 public:
  explicit BestHeap(size_t count) : count_(count) {}
  void Offer(const Scored& entry) {
    if (count_ == 0) return;
    if (entries_.size() == count_) {
      if (!Better(entry, entries_.front())) return;
      std::pop_heap(entries_.begin(), entries_.end(), Better);
      entries_.pop_back();
    }
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), Better);
  }
  bool WouldTake(float score) const {
    return count_ > 0 && (entries_.size() < count_ || score >= entries_.front().score);
  }
  bool full() const { return count_ > 0 && entries_.size() == count_; }
  // The score that a further entry has to reach; 0 while any is taken.
  float Least() const { return full() ? entries_.front().score : 0; }
  std::vector<Scored>& entries() { return entries_; }

 private:
  const size_t count_;
  std::vector<Scored> entries_;
};

}  // namespace quarry
