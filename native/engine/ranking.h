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

}  // namespace quarry
