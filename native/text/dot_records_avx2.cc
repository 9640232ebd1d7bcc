#include "text/dot_records.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <cstring>

#include "text/quantize.h"
#endif

namespace quarry::text {

#if defined(__AVX2__)
namespace {

// Each sum waits for its previous addition, so several records are summed at a time.
constexpr size_t kRecordsAtOnce = 4;

template <size_t Count>
void Products(const double* vector, size_t dimensions, const uint8_t* records, float* products) {
  const size_t recordBytes = RecordBytes(dimensions);
  __m256d low[Count];
  __m256d high[Count];
  for (size_t record = 0; record < Count; ++record) low[record] = high[record] = _mm256_setzero_pd();
  size_t i = 0;
  for (; i + kDotRecordsLanes <= dimensions; i += kDotRecordsLanes) {
    const __m256d lowVector = _mm256_loadu_pd(vector + i);
    const __m256d highVector = _mm256_loadu_pd(vector + i + 4);
    for (size_t record = 0; record < Count; ++record) {
      const uint8_t* const codes = records + record * recordBytes + sizeof(float) + i;
      const __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
      const __m256d lowCodes = _mm256_cvtepi32_pd(_mm256_castsi256_si128(wide));
      const __m256d highCodes = _mm256_cvtepi32_pd(_mm256_extracti128_si256(wide, 1));
      low[record] = _mm256_add_pd(low[record], _mm256_mul_pd(lowVector, lowCodes));
      high[record] = _mm256_add_pd(high[record], _mm256_mul_pd(highVector, highCodes));
    }
  }
  for (size_t record = 0; record < Count; ++record) {
    const uint8_t* const bytes = records + record * recordBytes;
    float step = 0;
    std::memcpy(&step, bytes, sizeof step);
    const uint8_t* const codes = bytes + sizeof step;
    double sums[kDotRecordsLanes];
    _mm256_storeu_pd(sums, low[record]);
    _mm256_storeu_pd(sums + 4, high[record]);
    double sum = 0;
    for (const double lane : sums) sum += lane;
    for (size_t at = i; at < dimensions; ++at) sum += vector[at] * static_cast<double>(static_cast<int8_t>(codes[at]));
    products[record] = static_cast<float>(sum * static_cast<double>(step));
  }
}

void Run(const double* vector, size_t dimensions, const uint8_t* records, size_t count, float* products) {
  const size_t recordBytes = RecordBytes(dimensions);
  size_t record = 0;
  for (; record + kRecordsAtOnce <= count; record += kRecordsAtOnce) {
    Products<kRecordsAtOnce>(vector, dimensions, records + record * recordBytes, products + record);
  }
  for (; record < count; ++record) Products<1>(vector, dimensions, records + record * recordBytes, products + record);
}

}  // namespace

DotRecords DotRecordsAvx2() { return Run; }
#else
DotRecords DotRecordsAvx2() { return nullptr; }
#endif

}  // namespace quarry::text
