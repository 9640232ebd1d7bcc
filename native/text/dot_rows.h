// Exact dot products of one row of codes with several others. All versions return the same integers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry::text {

// products[i] = the dot product of `row` and row i of `others`, whose `count` rows of `length` codes follow each
// other. `length` is below 2^16; codes of `others` have the range of a signed byte.
using DotRows = void (*)(const int8_t* row, const int16_t* others, size_t count, size_t length, int32_t* products);

void DotRowsScalar(const int8_t* row, const int16_t* others, size_t count, size_t length, int32_t* products);
// Returns null if the compiler does not target these instructions.
DotRows DotRowsAvx2();

// Returns the fastest version that this processor can run.
DotRows FastestDotRows();

}  // namespace quarry::text
