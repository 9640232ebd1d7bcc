// Memory that is read from a file instead: the system may take its pages away at any time without swapping.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace quarry {

// Bytes of a page of the system.
size_t FilePageBytes();

// Puts `length` bytes of the file in the place of those at `at`, which nobody writes any more and which are the same:
// readers notice nothing. The file may lose its name afterwards, but should not change or become shorter. False when
// the system cannot do it, or `offset`, `at` or `length` is no multiple of its pages; the memory stays as it was then.
//
// A page that the system cannot bring in (the file was cut off, the disk fails) does not end the process with SIGBUS:
// all of the mapping becomes zeros and `lost` becomes true, before the read that met it ends. `lost` must live until
// ForgetFilePages.
bool MapFilePages(int file, uint64_t offset, void* at, size_t length, std::atomic<bool>* lost);

// Before memory that may hold mapped pages is given back.
void ForgetFilePages(const void* at, size_t length);

}  // namespace quarry
