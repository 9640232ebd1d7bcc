#include "text/dot_records.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <cstring>

#include "text/quantize.h"
#endif

namespace quarry::text {

#if defined(__AVX2__)
namespace {

void Run(const double* vector, size_t dimensions, const uint8_t* records, size_t count, float* products) {
  for (size_t record = 0; record < count; ++record) {
    const uint8_t* const bytes = records + record * RecordBytes(dimensions);
    float step = 0;
    std::memcpy(&step, bytes, sizeof step);
    const uint8_t* const codes = bytes + sizeof step;
    __m256d low = _mm256_setzero_pd();
    __m256d high = _mm256_setzero_pd();
    size_t i = 0;
    for (; i + kDotRecordsLanes <= dimensions; i += kDotRecordsLanes) {
      const __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + i)));
      const __m256d lowCodes = _mm256_cvtepi32_pd(_mm256_castsi256_si128(wide));
      const __m256d highCodes = _mm256_cvtepi32_pd(_mm256_extracti128_si256(wide, 1));
      low = _mm256_add_pd(low, _mm256_mul_pd(_mm256_loadu_pd(vector + i), lowCodes));
      high = _mm256_add_pd(high, _mm256_mul_pd(_mm256_loadu_pd(vector + i + 4), highCodes));
    }
    double sums[kDotRecordsLanes];
    _mm256_storeu_pd(sums, low);
    _mm256_storeu_pd(sums + 4, high);
    double sum = 0;
    for (const double lane : sums) sum += lane;
    for (; i < dimensions; ++i) sum += vector[i] * static_cast<double>(static_cast<int8_t>(codes[i]));
    products[record] = static_cast<float>(sum * static_cast<double>(step));
  }
}

}  // namespace

DotRecords DotRecordsAvx2() { return Run; }
#else
DotRecords DotRecordsAvx2() { return nullptr; }
#endif

}  // namespace quarry::text
