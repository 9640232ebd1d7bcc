#include "engine/file_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace quarry {
namespace {

// Puts the mapping at `from` over the memory at `to`, in one step for every thread that reads there.
bool MovePages(void* from, void* to, size_t length, int file, uint64_t offset) {
#if defined(__linux__)
  static_cast<void>(file);
  static_cast<void>(offset);
  return mremap(from, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
#else
  const auto fixed = MAP_PRIVATE | MAP_FIXED;
  if (mmap(to, length, PROT_READ, fixed, file, static_cast<off_t>(offset)) == MAP_FAILED) return false;
  munmap(from, length);
  return true;
#endif
}

}  // namespace

size_t FilePageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

bool MapFilePages(int file, uint64_t offset, void* at, size_t length) {
  const size_t page = FilePageBytes();
  if (offset % page != 0 || reinterpret_cast<uintptr_t>(at) % page != 0 || length % page != 0) return false;
  // What can fail, fails here, where nothing is lost.
  void* const mapped = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return false;
  // Rows are read here and there: reading ahead would only push other pages out.
  madvise(mapped, length, MADV_RANDOM);
  if (MovePages(mapped, at, length, file, offset)) return true;
  munmap(mapped, length);
  return false;
}

}  // namespace quarry
