// Rows with scores, and their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry {

struct ScoredChunk {
  float score;
  double version;
  uint32_t chunk;
  uint32_t row;
  uint32_t shard;
};
// Higher scores come first. Ties are ordered by version and chunk, independently of the shard count.
inline bool IsBetter(const ScoredChunk& left, const ScoredChunk& right) {
  if (left.score != right.score) return left.score > right.score;
  if (left.version != right.version) return left.version < right.version;
  return left.chunk < right.chunk;
}

// Keeps the best `count` entries, in unspecified order.
inline void KeepBest(std::vector<ScoredChunk>* entries, size_t count) {
  if (entries->size() <= count) return;
  std::nth_element(entries->begin(), entries->begin() + static_cast<std::ptrdiff_t>(count), entries->end(), IsBetter);
  entries->resize(count);
}

}  // namespace quarry
