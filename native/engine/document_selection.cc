#include "engine/document_selection.h"

#include <algorithm>

namespace quarry {
namespace {
// Cost of one document in work units of CancellationChecker.
constexpr size_t kMatchingDocumentWork = 8;
}  // namespace

Bitset MatchingSlots(const Shard& shard, const DocumentSelection& selection, const std::vector<uint64_t>& excluded,
                     CancellationChecker* checker) {
  const uint32_t slots = shard.Slots();
  Bitset candidates(slots);
  if (selection.filter.has_value()) {
    candidates = shard.Evaluate(*selection.filter, slots, checker);
  } else {
    candidates.Invert();
  }
  Bitset matching(slots);
  candidates.ForEach([&](size_t index) {
    const auto slot = static_cast<uint32_t>(index);
    if (shard.IsSlotVisible(slot, selection.readSnapshot.epoch) &&
        (excluded.empty() || !std::binary_search(excluded.begin(), excluded.end(), shard.Document(slot).version))) {
      matching.Add(slot);
    }
    return checker->MayContinue(kMatchingDocumentWork);
  });
  return matching;
}

}  // namespace quarry
