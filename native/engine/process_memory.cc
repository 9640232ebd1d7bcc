#include "engine/process_memory.h"

#include <atomic>
#include <fstream>
#include <optional>
#include <string>

// Defined after the first header of the C library.
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace quarry {
namespace {

constexpr uint64_t kOvershootDivisor = 8;

std::atomic<uint64_t> limit{0};

// Returns the memory without a backing file, resident or swapped out, as in proc(5). The same figure as in
// src/core/process-memory.ts.
std::optional<uint64_t> UsedBytes() {
  std::ifstream status("/proc/self/status");
  uint64_t kilobytes = 0;
  int found = 0;
  for (std::string name; status >> name;) {
    uint64_t value = 0;
    if (name == "RssAnon:" || name == "RssShmem:" || name == "VmSwap:") {
      status >> value;
      kilobytes += value;
      found++;
    }
  }
  if (found != 3) return {};
  return kilobytes * 1024;
}

}  // namespace

void SetMemoryLimit(uint64_t bytes) { limit.store(bytes, std::memory_order_relaxed); }

bool HasMemoryFor(uint64_t bytes) {
  const uint64_t bytesMax = limit.load(std::memory_order_relaxed);
  if (bytesMax == 0 || bytes <= bytesMax / kOvershootDivisor) return true;
  const std::optional<uint64_t> used = UsedBytes();
  return !used.has_value() || *used + bytes <= bytesMax;
}

void ReleaseFreeMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace quarry
