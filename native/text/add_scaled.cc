#include "text/add_scaled.h"

namespace quarry::text {

void AddScaledRowsScalar(const ScaledRow* rows, size_t rowCount, size_t dimensions, float* sums) {
  for (size_t row = 0; row < rowCount; ++row) {
    const auto [codes, scale] = rows[row];
    for (size_t i = 0; i < dimensions; ++i) sums[i] += static_cast<float>(codes[i]) * scale;
  }
}

AddScaledRows FastestAddScaledRows() {
#if defined(__x86_64__)
  if (AddScaledRowsAvx2() != nullptr && __builtin_cpu_supports("avx2")) return AddScaledRowsAvx2();
#endif
  return AddScaledRowsScalar;
}

}  // namespace quarry::text
