// The memory that the process holds, and what may be taken of it besides.
#pragma once

#include <cstdint>

namespace quarry {

// How many bytes the process should hold at most; 0, the default, is no limit.
void UseMemoryLimit(uint64_t bytes);

// Whether work may begin that holds so many bytes more until it frees others. Where the limit leaves less, an eighth of
// it may be taken beyond: so what frees memory at its end is possible also when the limit is reached. Always true where
// the system does not tell what the process holds (it does on Linux).
bool MayHold(uint64_t bytes);

// Gives memory back to the system that was freed and that the allocator keeps, where it can be told to (in glibc): a
// good part of what a process holds that has been busy. May take some milliseconds.
void ReleaseFreeMemory();

}  // namespace quarry
