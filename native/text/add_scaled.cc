#include "text/add_scaled.h"

namespace quarry::text {

void AddScaledScalar(const int8_t* codes, float scale, size_t count, float* sums) {
  for (size_t i = 0; i < count; ++i) sums[i] += static_cast<float>(codes[i]) * scale;
}

AddScaled FastestAddScaled() {
#if defined(__x86_64__)
  if (AddScaledAvx2() != nullptr && __builtin_cpu_supports("avx2")) return AddScaledAvx2();
#endif
  return AddScaledScalar;
}

}  // namespace quarry::text
