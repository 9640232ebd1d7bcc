// Documents that an operation lists or counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/bitset.h"
#include "engine/cancellation.h"
#include "engine/filter.h"
#include "engine/search_request.h"
#include "engine/shard.h"

namespace quarry {

// The visible documents of a collection that match a filter.
struct DocumentSelection {
  ReadSnapshot readSnapshot;
  std::optional<FilterProgram> filter;  // nullopt: all
};

// Returns the slots of the selected documents in a shard of their collection, without those whose version is in `excluded`,
// which must be sorted. If `checker` stops the work, the result is partial.
Bitset MatchingSlots(const Shard& shard, const DocumentSelection& selection, const std::vector<uint64_t>& excluded,
                     CancellationChecker* checker);

}  // namespace quarry
