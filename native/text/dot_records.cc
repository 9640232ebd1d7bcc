#include "text/dot_records.h"

#include <array>
#include <cstring>
#include <numeric>

#include "text/quantize.h"

namespace quarry::text {

void DotRecordsScalar(const double* vector, size_t dimensions, const uint8_t* records, size_t count, float* products) {
  for (size_t record = 0; record < count; ++record) {
    const uint8_t* const bytes = records + record * RecordBytes(dimensions);
    float step = 0;
    std::memcpy(&step, bytes, sizeof step);
    const auto* const codes = reinterpret_cast<const int8_t*>(bytes + sizeof step);
    std::array<double, kDotRecordsLanes> sums{};
    size_t i = 0;
    for (; i + kDotRecordsLanes <= dimensions; i += kDotRecordsLanes) {
      for (size_t lane = 0; lane < kDotRecordsLanes; ++lane) {
        sums[lane] += vector[i + lane] * static_cast<double>(codes[i + lane]);
      }
    }
    double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
    for (; i < dimensions; ++i) sum += vector[i] * static_cast<double>(codes[i]);
    products[record] = static_cast<float>(sum * static_cast<double>(step));
  }
}

DotRecords FastestDotRecords() {
#if defined(__x86_64__)
  if (DotRecordsAvx2() != nullptr && __builtin_cpu_supports("avx2")) return DotRecordsAvx2();
#endif
  return DotRecordsScalar;
}

}  // namespace quarry::text
