// sums += codes x scale, each multiplication and each addition rounded by itself: every version gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry::text {

using AddScaled = void (*)(const int8_t* codes, float scale, size_t count, float* sums);

void AddScaledScalar(const int8_t* codes, float scale, size_t count, float* sums);
// Null where the compiler does not know the instructions.
AddScaled AddScaledAvx2();

// The fastest version that this processor runs.
AddScaled FastestAddScaled();

}  // namespace quarry::text
