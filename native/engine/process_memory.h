// Memory use of the process, and its limit.
#pragma once

#include <cstdint>

namespace quarry {

// Sets the maximum number of bytes that the process should hold; 0, the default, means no limit.
void SetMemoryLimit(uint64_t bytes);

// Whether work may begin that holds `bytes` more until it frees other memory. If the limit leaves less, up to
// an eighth of the limit is still granted, so that work that frees memory at its end is possible when the
// limit is reached. Always true on systems that do not report the memory of the process (Linux does).
bool HasMemoryFor(uint64_t bytes);

// Returns freed memory that the allocator caches to the system, where supported (glibc): a considerable part
// of the memory of a process that has been busy. May take some milliseconds.
void ReleaseFreeMemory();

}  // namespace quarry
