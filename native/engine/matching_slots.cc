#include "engine/matching_slots.h"

#include <algorithm>

namespace quarry {
namespace {
// Cost of one document in work units of CancellationChecker.
constexpr size_t kMatchingDocumentWork = 8;
}  // namespace

Bitset MatchingSlots(const Shard& shard, const ReadSnapshot& readSnapshot, const FilterProgram* filter,
                     const std::vector<uint64_t>& excluded, CancellationChecker* checker) {
  const uint32_t slots = shard.Slots();
  Bitset candidates(slots);
  if (filter != nullptr) {
    candidates = shard.Evaluate(*filter, slots, checker);
  } else {
    candidates.Invert();
  }
  Bitset matching(slots);
  candidates.ForEach([&](size_t index) {
    const auto slot = static_cast<uint32_t>(index);
    if (shard.IsSlotVisible(slot, readSnapshot.epoch) &&
        (excluded.empty() || !std::binary_search(excluded.begin(), excluded.end(), shard.Document(slot).version))) {
      matching.Add(slot);
    }
    return checker->MayContinue(kMatchingDocumentWork);
  });
  return matching;
}

}  // namespace quarry
