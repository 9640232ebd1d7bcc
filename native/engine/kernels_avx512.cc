#include "engine/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

namespace quarry {
namespace {

// Masked extracts instead of _mm512_reduce_add_ps and casts, whose headers make GCC 12 warn.
float Sum(__m512 sixteen) {
  const __m256 eight =
      _mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xff, sixteen, 0), _mm512_maskz_extractf32x8_ps(0xff, sixteen, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

float Dot(const float* left, const float* right, size_t length) {
  __m512 even = _mm512_setzero_ps();
  __m512 odd = _mm512_setzero_ps();
  size_t i = 0;
  for (; i + 2 * kRowAlignment <= length; i += 2 * kRowAlignment) {
    even = _mm512_fmadd_ps(_mm512_load_ps(left + i), _mm512_load_ps(right + i), even);
    odd = _mm512_fmadd_ps(_mm512_load_ps(left + i + 16), _mm512_load_ps(right + i + 16), odd);
  }
  if (i < length) even = _mm512_fmadd_ps(_mm512_load_ps(left + i), _mm512_load_ps(right + i), even);
  return Sum(_mm512_add_ps(even, odd));
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

constexpr Kernels kAvx512 = {"avx512", Dot, Crc32c};

}  // namespace

const Kernels* Avx512Kernels() { return &kAvx512; }

}  // namespace quarry

#else

namespace quarry {
const Kernels* Avx512Kernels() { return nullptr; }
}  // namespace quarry

#endif
