#include "engine/kernels.h"

#include <atomic>
#include <cstring>

namespace quarry {
namespace {

bool HasAvx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("sse4.2") &&
         __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

bool HasAvx512() {
#if defined(__x86_64__)
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

// The set chosen by SelectKernels; null: not chosen yet.
std::atomic<const Kernels*> chosen{nullptr};

}  // namespace

KernelList SupportedKernels() {
  KernelList list{};
  size_t count = 0;
  list.sets[count++] = ScalarKernels();
  if (NeonKernels() != nullptr) list.sets[count++] = NeonKernels();
  if (Avx2Kernels() != nullptr && HasAvx2()) list.sets[count++] = Avx2Kernels();
  if (Avx512Kernels() != nullptr && HasAvx512()) list.sets[count++] = Avx512Kernels();
  return list;
}

bool SelectKernels(const char* name) {
  const Kernels* found = nullptr;
  for (const Kernels* set : SupportedKernels().sets) {
    if (set != nullptr && (std::strcmp(name, set->name) == 0 || std::strcmp(name, "auto") == 0)) found = set;
  }
  if (found != nullptr) chosen = found;
  return found != nullptr;
}

const Kernels& ActiveKernels() {
  static const Kernels* const active = [] {
    if (chosen == nullptr) SelectKernels("auto");
    return chosen.load();
  }();
  return *active;
}

}  // namespace quarry
