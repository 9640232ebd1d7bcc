#include "text/dot_rows.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quarry::text {

#if defined(__AVX2__)
namespace {

constexpr size_t kLanes = 16;

int32_t SumOf(__m256i lanes) {
  __m128i sums = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4e));
  sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xb1));
  return _mm_cvtsi128_si32(sums);
}

// Multiplies `row` with `kRows` others at once, so that it is widened to 16 bits once for all of them.
template <size_t kRows>
void DotBlock(const int8_t* row, const int16_t* others, size_t length, int32_t* products) {
  __m256i totals[kRows];
  for (size_t r = 0; r < kRows; ++r) totals[r] = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    const __m256i codes = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i)));
    for (size_t r = 0; r < kRows; ++r) {
      const __m256i other = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(others + r * length + i));
      totals[r] = _mm256_add_epi32(totals[r], _mm256_madd_epi16(codes, other));
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    products[r] = SumOf(totals[r]);
    for (size_t rest = i; rest < length; ++rest) products[r] += row[rest] * others[r * length + rest];
  }
}

void Run(const int8_t* row, const int16_t* others, size_t count, size_t length, int32_t* products) {
  constexpr size_t kRows = 4;
  size_t other = 0;
  for (; other + kRows <= count; other += kRows) {
    DotBlock<kRows>(row, others + other * length, length, products + other);
  }
  for (; other < count; ++other) DotBlock<1>(row, others + other * length, length, products + other);
}

}  // namespace

DotRows DotRowsAvx2() { return Run; }
#else
DotRows DotRowsAvx2() { return nullptr; }
#endif

}  // namespace quarry::text
