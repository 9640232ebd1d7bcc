// Lists the documents of a collection that match a filter.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/filter.h"
#include "engine/search_request.h"
#include "engine/status.h"

namespace quarry {

// Lists visible versions that match the filter (null: all), at most `limit`, in unspecified order.
Status ListVersions(const ReadSnapshot& readSnapshot, const FilterProgram* filter,
                    const CancellationToken& cancellation, uint64_t limit, std::vector<double>* versions);
// Returns the number of visible versions that match.
uint64_t CountVersions(const ReadSnapshot& readSnapshot, const FilterProgram* filter);

}  // namespace quarry
