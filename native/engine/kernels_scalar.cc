#include <array>
#include <bit>
#include <cstring>

#include "engine/kernels.h"

namespace quarry {
namespace {

float Dot(const float* left, const float* right, size_t length) {
  float sums[2 * kRowAlignment] = {};
  for (size_t i = 0; i < length; i++) sums[i % (2 * kRowAlignment)] += left[i] * right[i];
  for (size_t width = kRowAlignment; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; lane++) sums[lane] += sums[lane + width];
  }
  return sums[0];
}

int32_t DotCodes(const uint8_t* codes, const int8_t* query, size_t length) {
  int32_t sum = 0;
  for (size_t i = 0; i < length; i++) sum += static_cast<int32_t>(codes[i]) * query[i];
  return sum;
}

void DotRows(const uint8_t* const* rows, size_t count, const int8_t* query, size_t length, int32_t* products) {
  for (size_t row = 0; row < count; row++) products[row] = DotCodes(rows[row], query, length);
}

// Processes two levels per pass.
void Transform(float* values, const float* signs, size_t count) {
  for (size_t i = 0; i < count; i++) values[i] *= signs[i];
  size_t half = 1;
  for (; half * 4 <= count; half *= 4) {
    for (size_t start = 0; start < count; start += 4 * half) {
      float* const at = values + start;
      for (size_t i = 0; i < half; i++) {
        const float a = at[i] + at[i + half];
        const float b = at[i] - at[i + half];
        const float c = at[i + 2 * half] + at[i + 3 * half];
        const float d = at[i + 2 * half] - at[i + 3 * half];
        at[i] = a + c;
        at[i + half] = b + d;
        at[i + 2 * half] = a - c;
        at[i + 3 * half] = b - d;
      }
    }
  }
  if (half == count) return;
  for (size_t i = 0; i < half; i++) {
    const float sum = values[i] + values[i + half];
    values[i + half] = values[i] - values[i + half];
    values[i] = sum;
  }
}

// The values are positive: adding one half and truncating rounds to nearest without a function call.
void Encode(const float* values, float perStep, size_t count, uint8_t* codes) {
  for (size_t i = 0; i < count; i++) {
    const float steps = values[i] * perStep;
    const float below = steps < kCodeMax ? steps : kCodeMax;
    const float clamped = below > -kCodeMax ? below : -kCodeMax;
    codes[i] = static_cast<uint8_t>(static_cast<int32_t>(clamped + (kCodeZeroPoint + 0.5F)));
  }
}

uint64_t CountCommon(const uint64_t* left, const uint64_t* right, size_t words) {
  uint64_t count = 0;
  for (size_t i = 0; i < words; i++) count += static_cast<uint64_t>(std::popcount(left[i] & right[i]));
  return count;
}

using Crc32cTable = std::array<std::array<uint32_t, 256>, 8>;

// Tables for "slicing by eight": table[k][b] is the CRC of byte b followed by k zero bytes.
constexpr Crc32cTable MakeCrc32cTable() {
  constexpr uint32_t polynomial = 0x82f63b78;  // Castagnoli, bits reflected
  Crc32cTable table{};
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    table[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; k++) {
    for (size_t byte = 0; byte < 256; byte++) {
      table[k][byte] = (table[k - 1][byte] >> 8) ^ table[0][table[k - 1][byte] & 0xff];
    }
  }
  return table;
}

constexpr Crc32cTable kCrc32cTable = MakeCrc32cTable();

uint32_t Crc32c(uint32_t state, const uint8_t* bytes, size_t length) {
  const auto& table = kCrc32cTable;
  while (length >= 8) {
    const uint32_t low = state ^ (bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24);
    state = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^
            table[3][bytes[4]] ^ table[2][bytes[5]] ^ table[1][bytes[6]] ^ table[0][bytes[7]];
    bytes += 8;
    length -= 8;
  }
  while (length-- > 0) state = (state >> 8) ^ table[0][(state ^ *bytes++) & 0xff];
  return state;
}

constexpr Kernels kScalar = {"scalar", Dot, DotCodes, DotRows, Transform, Encode, CountCommon, Crc32c};

}  // namespace

const Kernels* ScalarKernels() { return &kScalar; }

}  // namespace quarry
