// Half floats (IEEE 754 binary16) without the instructions for them.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/kernels.h"

namespace quarry {

// Only for what is finite. The bits of a half are those of a float whose exponent has another zero.
inline float FromHalf(Half half) {
  constexpr float kRebias = 0x1p112F;
  const float magnitude = std::bit_cast<float>(static_cast<uint32_t>(half & 0x7fff) << 13) * kRebias;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | static_cast<uint32_t>(half & 0x8000) << 16);
}

// As Kernels::toHalves does.
inline Half ToHalf(float value) {
  constexpr float kLargest = 65504;
  constexpr float kLeastNormal = 0x1p-14F;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint32_t>(bits >> 16 & 0x8000);
  float magnitude = std::bit_cast<float>(bits & 0x7fffffff);
  if (magnitude > kLargest) magnitude = kLargest;
  // A float of .5 and more has its last bit where a half below the normal ones has its own: adding rounds to it.
  if (magnitude < kLeastNormal) {
    return static_cast<Half>(sign | (std::bit_cast<uint32_t>(magnitude + 0.5F) - std::bit_cast<uint32_t>(0.5F)));
  }
  const uint32_t wide = std::bit_cast<uint32_t>(magnitude) - (uint32_t{112} << 23);
  return static_cast<Half>(sign | (wide + 0xfff + (wide >> 13 & 1)) >> 13);
}

}  // namespace quarry
