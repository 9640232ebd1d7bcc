// sums += codes x scale. Every multiplication and addition is rounded separately, so all versions give
// identical bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry::text {

using AddScaled = void (*)(const int8_t* codes, float scale, size_t count, float* sums);

void AddScaledScalar(const int8_t* codes, float scale, size_t count, float* sums);
// Returns null if the compiler does not target these instructions.
AddScaled AddScaledAvx2();

// Returns the fastest version that this processor can run.
AddScaled FastestAddScaled();

}  // namespace quarry::text
