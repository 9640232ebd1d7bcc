// Beam width (ef) of the graph search in each shard, chosen so that all shards together find the nearest rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry {

// Candidates that each shard keeps (ef) in a search for the few or the many nearest rows of its collection.
struct EfValues {
  uint32_t few = 0;         // for kFewRows
  uint32_t many = 0;        // for kManyRows
  bool calibrated = false;  // measured on the collection's rows; otherwise the conservative default

  bool operator==(const EfValues&) const = default;
};

// A graph search with a smaller ef does not find its target reliably.
inline constexpr uint32_t kEfMin = 4;
inline constexpr uint32_t kFewRows = 10;
inline constexpr uint32_t kManyRows = 100;

// Upper bound, exceeded with low probability, on how many of the collection's `topK` nearest rows lie in
// one shard: documents are distributed over the shards by hash.
uint32_t RowsPerShardMax(uint32_t topK, size_t shards);

// Returns the conservative default for a collection that was not calibrated.
EfValues DefaultEfValues(size_t shards);

// Returns the larger value of each field, for `efValues` that may have become too small.
EfValues MaxEfValues(const EfValues& efValues, const EfValues& conservative);

// Whether measured ef values no longer hold for a collection that has `rows` rows now and had `changes` rows
// added or removed since the measurement.
bool IsCalibrationStale(uint64_t changes, uint64_t rows);

// Returns the ef of each shard in a search for `topK` rows.
uint32_t EfFor(const EfValues& efValues, uint32_t topK, size_t shards);

}  // namespace quarry
