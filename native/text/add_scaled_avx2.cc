#include "text/add_scaled.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quarry::text {

#if defined(__AVX2__)
namespace {

constexpr size_t kLanes = 8;

// Adds `kRegisters` x kLanes dimensions of all rows while their sums stay in registers.
template <size_t kRegisters>
void AddBlock(const ScaledRow* rows, size_t rowCount, size_t start, float* sums) {
  __m256 totals[kRegisters];
  for (size_t r = 0; r < kRegisters; ++r) totals[r] = _mm256_loadu_ps(sums + start + r * kLanes);
  for (size_t row = 0; row < rowCount; ++row) {
    const int8_t* const codes = rows[row].codes + start;
    const __m256 scale = _mm256_set1_ps(rows[row].scale);
    for (size_t r = 0; r < kRegisters; ++r) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + r * kLanes));
      const __m256 values = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
      totals[r] = _mm256_add_ps(totals[r], _mm256_mul_ps(values, scale));
    }
  }
  for (size_t r = 0; r < kRegisters; ++r) _mm256_storeu_ps(sums + start + r * kLanes, totals[r]);
}

void Run(const ScaledRow* rows, size_t rowCount, size_t dimensions, float* sums) {
  constexpr size_t kRegisters = 8;
  size_t start = 0;
  for (; start + kRegisters * kLanes <= dimensions; start += kRegisters * kLanes) {
    AddBlock<kRegisters>(rows, rowCount, start, sums);
  }
  for (; start + kLanes <= dimensions; start += kLanes) AddBlock<1>(rows, rowCount, start, sums);
  for (; start < dimensions; ++start) {
    for (size_t row = 0; row < rowCount; ++row) {
      sums[start] += static_cast<float>(rows[row].codes[start]) * rows[row].scale;
    }
  }
}

}  // namespace

AddScaledRows AddScaledRowsAvx2() { return Run; }
#else
AddScaledRows AddScaledRowsAvx2() { return nullptr; }
#endif

}  // namespace quarry::text
