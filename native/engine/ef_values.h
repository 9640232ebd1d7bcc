// How widely the graph of each shard is searched, so that all of them together find the nearest rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry {

// Rows that each shard keeps in view (ef) in a search for the few or the many nearest rows of its collection.
struct Efforts {
  uint32_t few = 0;         // for kFewRows
  uint32_t many = 0;        // for kManyRows
  bool calibrated = false;  // measured on the collection's own rows; otherwise the careful guess for any

  bool operator==(const Efforts&) const = default;
};

// A graph that keeps fewer rows in view loses its way.
inline constexpr uint32_t kEffortMin = 4;
inline constexpr uint32_t kFewRows = 10;
inline constexpr uint32_t kManyRows = 100;

// How many of the collection's `wanted` nearest rows a shard holds at most, but for rare chance: documents are spread
// over the shards by hash.
uint32_t ShareOf(uint32_t wanted, size_t shards);

// The guess for a collection that was not calibrated.
Efforts DefaultEfforts(size_t shards);

// Efforts that may be too small by now, so that those of `careful` hold where they are greater.
Efforts MoreCareful(const Efforts& efforts, const Efforts& careful);

// Whether what was measured on a collection says nothing of it any more, that has so many rows now and of which so many
// came or went since.
bool OutOfDate(uint64_t changes, uint64_t rows);

// The effort of each shard in a search for `wanted` rows.
uint32_t EffortFor(const Efforts& efforts, uint32_t wanted, size_t shards);

}  // namespace quarry
