#include "engine/ef_values.h"

#include <algorithm>
#include <cmath>

namespace quarry {
uint32_t RowsPerShardMax(uint32_t topK, size_t shards) {
  if (shards == 1) return topK;
  const double mean = static_cast<double>(topK) / static_cast<double>(shards);
  return std::min(topK, static_cast<uint32_t>(std::ceil(mean + 2 * std::sqrt(mean))));
}

EfValues DefaultEfValues(size_t shards) {
  constexpr double kEfMargin = 100;  // more than any measured collection needed
  const auto guess = [&](uint32_t topK) {
    return RowsPerShardMax(topK, shards) + static_cast<uint32_t>(kEfMargin / std::sqrt(static_cast<double>(shards)));
  };
  return {guess(kFewRows), guess(kManyRows), false};
}

EfValues MaxEfValues(const EfValues& efValues, const EfValues& conservative) {
  return {std::max(efValues.few, conservative.few), std::max(efValues.many, conservative.many), false};
}

bool IsCalibrationStale(uint64_t changes, uint64_t rows) {
  constexpr uint64_t kChangedDivisor = 4;
  return changes * kChangedDivisor >= rows && changes > 0;
}

uint32_t EfFor(const EfValues& efValues, uint32_t topK, size_t shards) {
  if (topK >= kManyRows) {
    const double growth = static_cast<double>(RowsPerShardMax(topK, shards)) / RowsPerShardMax(kManyRows, shards);
    return static_cast<uint32_t>(std::ceil(efValues.many * growth));
  }
  if (topK <= kFewRows) return std::max(efValues.few, RowsPerShardMax(topK, shards));
  const double between = static_cast<double>(topK - kFewRows) / (kManyRows - kFewRows);
  const auto ef = static_cast<uint32_t>(std::ceil(efValues.few + between * (efValues.many - efValues.few)));
  return std::max(ef, RowsPerShardMax(topK, shards));
}

}  // namespace quarry
