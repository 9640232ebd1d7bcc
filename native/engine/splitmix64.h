// Deterministic mixing of 64-bit integers.
#pragma once

#include <cstdint>

namespace quarry {

// Steele, Lea and Flood's splitmix64.
inline uint64_t SplitMix64(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

}  // namespace quarry
