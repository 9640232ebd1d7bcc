// The documents of a shard that a query may see.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/bitset.h"
#include "engine/cancellation.h"
#include "engine/filter.h"
#include "engine/search_request.h"
#include "engine/shard.h"

namespace quarry {

// Returns the slots of visible documents that match the filter (null: all) and whose version is not in `excluded`, which
// must be sorted. If `checker` stops the work, the result is partial.
Bitset MatchingSlots(const Shard& shard, const ReadSnapshot& readSnapshot, const FilterProgram* filter,
                     const std::vector<uint64_t>& excluded, CancellationChecker* checker);

}  // namespace quarry
