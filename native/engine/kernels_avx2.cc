#include "engine/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

namespace quarry {
namespace {

// Adds 8 products to the 8 sums.
__m256 AddProducts(__m256 sum, const float* left, const float* right) {
  return _mm256_add_ps(sum, _mm256_mul_ps(_mm256_load_ps(left), _mm256_load_ps(right)));
}

float Dot(const float* left, const float* right, size_t length) {
  __m256 evenLow = _mm256_setzero_ps(), evenHigh = evenLow, oddLow = evenLow, oddHigh = evenLow;
  size_t i = 0;
  for (; i + 2 * kRowAlignment <= length; i += 2 * kRowAlignment) {
    evenLow = AddProducts(evenLow, left + i, right + i);
    evenHigh = AddProducts(evenHigh, left + i + 8, right + i + 8);
    oddLow = AddProducts(oddLow, left + i + 16, right + i + 16);
    oddHigh = AddProducts(oddHigh, left + i + 24, right + i + 24);
  }
  if (i < length) {
    evenLow = AddProducts(evenLow, left + i, right + i);
    evenHigh = AddProducts(evenHigh, left + i + 8, right + i + 8);
  }
  const __m256 eight = _mm256_add_ps(_mm256_add_ps(evenLow, oddLow), _mm256_add_ps(evenHigh, oddHigh));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

int32_t Sum(__m256i eight) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

// Uses 16-bit products: _mm256_maddubs_epi16 would saturate.
__m256i Products(const uint8_t* codes, const int8_t* query) {
  const __m256i left = _mm256_cvtepu8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(codes)));
  const __m256i right = _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(query)));
  return _mm256_madd_epi16(left, right);
}

int32_t DotCodes(const uint8_t* codes, const int8_t* query, size_t length) {
  __m256i even = _mm256_setzero_si256();
  __m256i odd = _mm256_setzero_si256();
  for (size_t i = 0; i < length; i += kCodeAlignment) {
    even = _mm256_add_epi32(even, Products(codes + i, query + i));
    odd = _mm256_add_epi32(odd, Products(codes + i + 16, query + i + 16));
    even = _mm256_add_epi32(even, Products(codes + i + 32, query + i + 32));
    odd = _mm256_add_epi32(odd, Products(codes + i + 48, query + i + 48));
  }
  return Sum(_mm256_add_epi32(even, odd));
}

void DotRows(const uint8_t* const* rows, size_t count, const int8_t* query, size_t length, int32_t* products) {
  for (size_t row = 0; row < count; row++) products[row] = DotCodes(rows[row], query, length);
}

void Transform(float* values, const float* signs, size_t count) {
  if (count < 8) return ScalarKernels()->transform(values, signs, count);
  for (size_t i = 0; i < count; i += 8) {
    // Transform levels inside a register: in each pair, one side becomes the sum and the other the difference.
    __m256 at = _mm256_mul_ps(_mm256_loadu_ps(values + i), _mm256_loadu_ps(signs + i));
    __m256 swapped = _mm256_permute_ps(at, 0xb1);
    at = _mm256_blend_ps(_mm256_add_ps(at, swapped), _mm256_sub_ps(swapped, at), 0xaa);
    swapped = _mm256_permute_ps(at, 0x4e);
    at = _mm256_blend_ps(_mm256_add_ps(at, swapped), _mm256_sub_ps(swapped, at), 0xcc);
    swapped = _mm256_permute2f128_ps(at, at, 0x01);
    at = _mm256_blend_ps(_mm256_add_ps(at, swapped), _mm256_sub_ps(swapped, at), 0xf0);
    _mm256_storeu_ps(values + i, at);
  }
  for (size_t half = 8; half < count; half *= 2) {
    for (size_t start = 0; start < count; start += 2 * half) {
      for (float* at = values + start; at < values + start + half; at += 8) {
        const __m256 first = _mm256_loadu_ps(at);
        const __m256 second = _mm256_loadu_ps(at + half);
        _mm256_storeu_ps(at, _mm256_add_ps(first, second));
        _mm256_storeu_ps(at + half, _mm256_sub_ps(first, second));
      }
    }
  }
}

void Encode(const float* values, float perStep, size_t count, uint8_t* codes) {
  const __m256 scale = _mm256_set1_ps(perStep);
  const __m256 largest = _mm256_set1_ps(kCodeMax);
  const __m256 least = _mm256_set1_ps(-kCodeMax);
  const __m256 middle = _mm256_set1_ps(kCodeZeroPoint + 0.5F);
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 steps = _mm256_mul_ps(_mm256_loadu_ps(values + i), scale);
    const __m256 clamped = _mm256_max_ps(_mm256_min_ps(steps, largest), least);
    const __m256i rounded = _mm256_cvttps_epi32(_mm256_add_ps(clamped, middle));
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(codes + i), _mm_packus_epi16(words, words));
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

constexpr Kernels kAvx2 = {"avx2", Dot, DotCodes, DotRows, Transform, Encode, CountCommon, Crc32c};

}  // namespace

const Kernels* Avx2Kernels() { return &kAvx2; }

}  // namespace quarry

#else

namespace quarry {
const Kernels* Avx2Kernels() { return nullptr; }
}  // namespace quarry

#endif
