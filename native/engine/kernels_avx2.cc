#include "engine/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

namespace quarry {
namespace {

float Dot(const float* left, const float* right, size_t length) {
  __m256 low = _mm256_setzero_ps();
  __m256 high = _mm256_setzero_ps();
  for (size_t i = 0; i < length; i += kRowAlignment) {
    low = _mm256_fmadd_ps(_mm256_load_ps(left + i), _mm256_load_ps(right + i), low);
    high = _mm256_fmadd_ps(_mm256_load_ps(left + i + 8), _mm256_load_ps(right + i + 8), high);
  }
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

uint32_t Crc32c(uint32_t state, const uint8_t* bytes, size_t length) {
  uint64_t wide = state;
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    wide = _mm_crc32_u64(wide, word);
  }
  auto narrow = static_cast<uint32_t>(wide);
  while (length-- > 0) narrow = _mm_crc32_u8(narrow, *bytes++);
  return narrow;
}

constexpr Kernels kAvx2 = {"avx2", Dot, Crc32c};

}  // namespace

const Kernels* Avx2Kernels() { return &kAvx2; }

}  // namespace quarry

#else

namespace quarry {
const Kernels* Avx2Kernels() { return nullptr; }
}  // namespace quarry

#endif
