// Memory backed by a file: the system may evict its pages at any time without swapping.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace quarry {

// Size of a memory page of the system, in bytes.
size_t FilePageBytes();

// Replaces the `length` bytes at `at` with a mapping of the same bytes of the file at `offset`. The memory must
// not be written; concurrent readers are unaffected. The file may be unlinked afterwards, but must not
// change or shrink. Returns false if the system does not support it, or if `offset`, `at` or `length` is not
// a multiple of the page size; then the memory is unchanged.
//
// If the system cannot read a page (the file was truncated, the disk fails), the process does not end with
// SIGBUS: the whole mapping becomes zeros and `readFailed` becomes true before the failing read returns. `readFailed` must
// live until UnregisterFilePages.
bool MapFilePages(int file, uint64_t offset, void* at, size_t length, std::atomic<bool>* readFailed);

// Call before unmapping memory that may hold mapped file pages.
void UnregisterFilePages(const void* at, size_t length);

}  // namespace quarry
