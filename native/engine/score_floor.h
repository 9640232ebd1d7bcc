// Minimum score that concurrent searches of several shards share.
#pragma once

#include <atomic>

namespace quarry {

// A score that at least as many rows of the collection as requested are known to reach. Shards searched sequentially
// or concurrently share it and skip rows below it. Scores are comparable across shards, so no result is lost.
class ScoreFloor {
 public:
  float Get() const { return floor_.load(std::memory_order_relaxed); }
  void Raise(float score) {
    float floor = Get();
    while (score > floor && !floor_.compare_exchange_weak(floor, score, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<float> floor_{0};
};

}  // namespace quarry
