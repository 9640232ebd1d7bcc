#include "engine/kernels.h"

namespace quarry {
namespace {

bool HasAvx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("sse4.2");
#else
  return false;
#endif
}

bool HasAvx512() {
#if defined(__x86_64__)
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

}  // namespace

KernelList RunnableKernels() {
  KernelList list{};
  size_t count = 0;
  list.sets[count++] = ScalarKernels();
  if (NeonKernels() != nullptr) list.sets[count++] = NeonKernels();
  if (Avx2Kernels() != nullptr && HasAvx2()) list.sets[count++] = Avx2Kernels();
  if (Avx512Kernels() != nullptr && HasAvx512()) list.sets[count++] = Avx512Kernels();
  return list;
}

const Kernels& BestKernels() {
  static const Kernels* const best = [] {
    const KernelList list = RunnableKernels();
    const Kernels* last = list.sets[0];
    for (const Kernels* set : list.sets) {
      if (set != nullptr) last = set;
    }
    return last;
  }();
  return *best;
}

}  // namespace quarry
