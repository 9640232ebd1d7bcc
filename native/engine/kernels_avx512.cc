#include "engine/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

namespace quarry {
namespace {

// Masked extracts instead of _mm512_reduce_add_ps and casts, whose headers cause warnings in GCC 12.
float Sum(__m512 sixteen) {
  const __m256 eight =
      _mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xff, sixteen, 0), _mm512_maskz_extractf32x8_ps(0xff, sixteen, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// Adds 16 products to the 16 sums.
__m512 AddProducts(__m512 sum, const float* left, const float* right) {
  return _mm512_add_ps(sum, _mm512_mul_ps(_mm512_load_ps(left), _mm512_load_ps(right)));
}

float Dot(const float* left, const float* right, size_t length) {
  __m512 even = _mm512_setzero_ps();
  __m512 odd = _mm512_setzero_ps();
  size_t i = 0;
  for (; i + 2 * kRowAlignment <= length; i += 2 * kRowAlignment) {
    even = AddProducts(even, left + i, right + i);
    odd = AddProducts(odd, left + i + 16, right + i + 16);
  }
  if (i < length) even = AddProducts(even, left + i, right + i);
  return Sum(_mm512_add_ps(even, odd));
}

int32_t Sum(__m512i sixteen) {
  const __m256i eight = _mm256_add_epi32(_mm512_maskz_extracti32x8_epi32(0xff, sixteen, 0),
                                         _mm512_maskz_extracti32x8_epi32(0xff, sixteen, 1));
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

int32_t DotCodes(const uint8_t* codes, const int8_t* query, size_t length) {
  __m512i even = _mm512_setzero_si512();
  __m512i odd = _mm512_setzero_si512();
  size_t i = 0;
  for (; i + 2 * kCodeAlignment <= length; i += 2 * kCodeAlignment) {
    even = _mm512_dpbusd_epi32(even, _mm512_load_si512(codes + i), _mm512_load_si512(query + i));
    odd = _mm512_dpbusd_epi32(odd, _mm512_load_si512(codes + i + 64), _mm512_load_si512(query + i + 64));
  }
  if (i < length) even = _mm512_dpbusd_epi32(even, _mm512_load_si512(codes + i), _mm512_load_si512(query + i));
  return Sum(_mm512_add_epi32(even, odd));
}

// Returns the horizontal sums of four registers.
__m128i Sums(const __m512i* sums) {
  const __m512i low01 = _mm512_maskz_unpacklo_epi32(0xffff, sums[0], sums[1]);
  const __m512i high01 = _mm512_maskz_unpackhi_epi32(0xffff, sums[0], sums[1]);
  const __m512i low23 = _mm512_maskz_unpacklo_epi32(0xffff, sums[2], sums[3]);
  const __m512i high23 = _mm512_maskz_unpackhi_epi32(0xffff, sums[2], sums[3]);
  const __m512i two01 = _mm512_add_epi32(low01, high01);
  const __m512i two23 = _mm512_add_epi32(low23, high23);
  const __m512i four = _mm512_add_epi32(_mm512_maskz_unpacklo_epi64(0xff, two01, two23),
                                        _mm512_maskz_unpackhi_epi64(0xff, two01, two23));
  const __m256i eight =
      _mm256_add_epi32(_mm512_maskz_extracti32x8_epi32(0xff, four, 0), _mm512_maskz_extracti32x8_epi32(0xff, four, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
}

// Four rows at a time share the loads of the query and the horizontal sums.
void DotRows(const uint8_t* const* rows, size_t count, const int8_t* query, size_t length, int32_t* products) {
  size_t row = 0;
  for (; row + 4 <= count; row += 4) {
    __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    for (size_t i = 0; i < length; i += kCodeAlignment) {
      const __m512i part = _mm512_load_si512(query + i);
      for (size_t k = 0; k < 4; k++) sums[k] = _mm512_dpbusd_epi32(sums[k], _mm512_load_si512(rows[row + k] + i), part);
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(products + row), Sums(sums));
  }
  for (; row < count; row++) products[row] = DotCodes(rows[row], query, length);
}

// One transform level inside a register. `swapped` has the two sides of each pair exchanged; `second` masks
// the lanes that become differences.
__m512 Level(__m512 values, __m512 swapped, __mmask16 second) {
  return _mm512_mask_sub_ps(_mm512_add_ps(values, swapped), second, swapped, values);
}

void Transform(float* values, const float* signs, size_t count) {
  if (count < 16) return ScalarKernels()->transform(values, signs, count);
  for (size_t i = 0; i < count; i += 16) {
    __m512 at = _mm512_mul_ps(_mm512_loadu_ps(values + i), _mm512_loadu_ps(signs + i));
    at = Level(at, _mm512_maskz_permute_ps(0xffff, at, 0xb1), 0xaaaa);
    at = Level(at, _mm512_maskz_permute_ps(0xffff, at, 0x4e), 0xcccc);
    at = Level(at, _mm512_maskz_shuffle_f32x4(0xffff, at, at, 0xb1), 0xf0f0);
    at = Level(at, _mm512_maskz_shuffle_f32x4(0xffff, at, at, 0x4e), 0xff00);
    _mm512_storeu_ps(values + i, at);
  }
  size_t half = 16;
  for (; half * 4 <= count; half *= 4) {
    for (size_t start = 0; start < count; start += 4 * half) {
      for (float* at = values + start; at < values + start + half; at += 16) {
        const __m512 first = _mm512_loadu_ps(at);
        const __m512 second = _mm512_loadu_ps(at + half);
        const __m512 third = _mm512_loadu_ps(at + 2 * half);
        const __m512 fourth = _mm512_loadu_ps(at + 3 * half);
        const __m512 a = _mm512_add_ps(first, second);
        const __m512 b = _mm512_sub_ps(first, second);
        const __m512 c = _mm512_add_ps(third, fourth);
        const __m512 d = _mm512_sub_ps(third, fourth);
        _mm512_storeu_ps(at, _mm512_add_ps(a, c));
        _mm512_storeu_ps(at + half, _mm512_add_ps(b, d));
        _mm512_storeu_ps(at + 2 * half, _mm512_sub_ps(a, c));
        _mm512_storeu_ps(at + 3 * half, _mm512_sub_ps(b, d));
      }
    }
  }
  if (half == count) return;
  for (float* at = values; at < values + half; at += 16) {
    const __m512 first = _mm512_loadu_ps(at);
    const __m512 second = _mm512_loadu_ps(at + half);
    _mm512_storeu_ps(at, _mm512_add_ps(first, second));
    _mm512_storeu_ps(at + half, _mm512_sub_ps(first, second));
  }
}

void Encode(const float* values, float perStep, size_t count, uint8_t* codes) {
  const __m512 scale = _mm512_set1_ps(perStep);
  const __m512 largest = _mm512_set1_ps(kCodeMax);
  const __m512 least = _mm512_set1_ps(-kCodeMax);
  const __m512 middle = _mm512_set1_ps(kCodeZeroPoint + 0.5F);
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512 steps = _mm512_mul_ps(_mm512_loadu_ps(values + i), scale);
    const __m512 clamped = _mm512_maskz_max_ps(0xffff, _mm512_maskz_min_ps(0xffff, steps, largest), least);
    const __m512i rounded = _mm512_maskz_cvttps_epi32(0xffff, _mm512_add_ps(clamped, middle));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + i), _mm512_maskz_cvtepi32_epi8(0xffff, rounded));
  }
  ScalarKernels()->encode(values + i, perStep, count - i, codes + i);
}

uint64_t CountCommon(const uint64_t* left, const uint64_t* right, size_t words) {
  uint64_t count = 0;
  for (size_t i = 0; i < words; i++) count += static_cast<uint64_t>(_mm_popcnt_u64(left[i] & right[i]));
  return count;
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

constexpr Kernels kAvx512 = {"avx512", Dot, DotCodes, DotRows, Transform, Encode, CountCommon, Crc32c};

}  // namespace

const Kernels* Avx512Kernels() { return &kAvx512; }

}  // namespace quarry

#else

namespace quarry {
const Kernels* Avx512Kernels() { return nullptr; }
}  // namespace quarry

#endif
