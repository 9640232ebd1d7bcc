// Memory that is read from a file instead: the system may take its pages away at any time without swapping.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry {

// Bytes of a page of the system.
size_t FilePageBytes();

// Puts `length` bytes of the file in the place of those at `at`, which nobody writes any more and which are the same:
// readers notice nothing. The file may lose its name afterwards, but must not change or become shorter. False when
// the system cannot do it, or `offset`, `at` or `length` is no multiple of its pages; the memory stays as it was then.
bool MapFilePages(int file, uint64_t offset, void* at, size_t length);

}  // namespace quarry
