// Sums of rows of codes, each multiplied by its scale. Every multiplication and addition is rounded separately
// and the rows are added in their order, so all versions give identical bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry::text {

struct ScaledRow {
  const int8_t* codes;
  float scale;
};

// sums[i] += rows[0].codes[i] * rows[0].scale, and so on for all `rowCount` rows.
using AddScaledRows = void (*)(const ScaledRow* rows, size_t rowCount, size_t dimensions, float* sums);

void AddScaledRowsScalar(const ScaledRow* rows, size_t rowCount, size_t dimensions, float* sums);
// Returns null if the compiler does not target these instructions.
AddScaledRows AddScaledRowsAvx2();

// Returns the fastest version that this processor can run.
AddScaledRows FastestAddScaledRows();

}  // namespace quarry::text
