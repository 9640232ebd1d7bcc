#include "engine/ef_values.h"

#include <algorithm>
#include <cmath>

namespace quarry {
uint32_t ShareOf(uint32_t wanted, size_t shards) {
  if (shards == 1) return wanted;
  const double mean = static_cast<double>(wanted) / static_cast<double>(shards);
  return std::min(wanted, static_cast<uint32_t>(std::ceil(mean + 2 * std::sqrt(mean))));
}

Efforts DefaultEfforts(size_t shards) {
  constexpr double kBeyond = 100;  // more than any measured collection needed
  const auto guess = [&](uint32_t wanted) {
    return ShareOf(wanted, shards) + static_cast<uint32_t>(kBeyond / std::sqrt(static_cast<double>(shards)));
  };
  return {guess(kFewRows), guess(kManyRows), false};
}

Efforts MoreCareful(const Efforts& efforts, const Efforts& careful) {
  return {std::max(efforts.few, careful.few), std::max(efforts.many, careful.many), false};
}

bool OutOfDate(uint64_t changes, uint64_t rows) {
  constexpr uint64_t kChangedShare = 4;
  return changes * kChangedShare >= rows && changes > 0;
}

uint32_t EffortFor(const Efforts& efforts, uint32_t wanted, size_t shards) {
  if (wanted >= kManyRows) {
    const double growth = static_cast<double>(ShareOf(wanted, shards)) / ShareOf(kManyRows, shards);
    return static_cast<uint32_t>(std::ceil(efforts.many * growth));
  }
  if (wanted <= kFewRows) return std::max(efforts.few, ShareOf(wanted, shards));
  const double between = static_cast<double>(wanted - kFewRows) / (kManyRows - kFewRows);
  const auto effort = static_cast<uint32_t>(std::ceil(efforts.few + between * (efforts.many - efforts.few)));
  return std::max(effort, ShareOf(wanted, shards));
}

}  // namespace quarry
