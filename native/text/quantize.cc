#include "text/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace quarry::text {
namespace {

constexpr double kCodeMax = 127;

// Rounds to the nearest integer, ties toward +infinity, as JavaScript's Math.round. Branch-free, so that it
// can be vectorized.
int Round(double value) {
  const int whole = static_cast<int>(value);
  const double rest = value - whole;
  return whole + static_cast<int>(rest >= 0.5) - static_cast<int>(rest < -0.5);
}

}  // namespace

void Quantize(const float* vector, size_t dimensions, uint8_t* record) {
  static_assert(std::endian::native == std::endian::little, "a step is written in the byte order of memory");
  float peak = 0;
  for (size_t i = 0; i < dimensions; ++i) peak = std::max(peak, std::abs(vector[i]));
  const auto step = static_cast<float>(peak / kCodeMax);
  std::memcpy(record, &step, sizeof step);
  const double scale = peak == 0 ? 0 : kCodeMax / peak;
  uint8_t* const codes = record + sizeof step;
  for (size_t i = 0; i < dimensions; ++i) codes[i] = static_cast<uint8_t>(Round(vector[i] * scale));
}

}  // namespace quarry::text
