#include "text/dot_rows.h"

namespace quarry::text {

void DotRowsScalar(const int8_t* row, const int16_t* others, size_t count, size_t length, int32_t* products) {
  for (size_t other = 0; other < count; ++other) {
    int32_t sum = 0;
    for (size_t i = 0; i < length; ++i) sum += static_cast<int32_t>(row[i]) * others[other * length + i];
    products[other] = sum;
  }
}

DotRows FastestDotRows() {
#if defined(__x86_64__)
  if (DotRowsAvx2() != nullptr && __builtin_cpu_supports("avx2")) return DotRowsAvx2();
#endif
  return DotRowsScalar;
}

}  // namespace quarry::text
