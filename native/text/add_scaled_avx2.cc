#include "text/add_scaled.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quarry::text {

#if defined(__AVX2__)
namespace {

void Run(const int8_t* codes, float scale, size_t count, float* sums) {
  constexpr size_t kLanes = 8;
  const __m256 scales = _mm256_set1_ps(scale);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + i));
    const __m256 values = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
    const __m256 products = _mm256_mul_ps(values, scales);
    _mm256_storeu_ps(sums + i, _mm256_add_ps(_mm256_loadu_ps(sums + i), products));
  }
  for (; i < count; ++i) sums[i] += static_cast<float>(codes[i]) * scale;
}

}  // namespace

AddScaled AddScaledAvx2() { return Run; }
#else
AddScaled AddScaledAvx2() { return nullptr; }
#endif

}  // namespace quarry::text
