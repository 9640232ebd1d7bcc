#include "engine/file_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>

#include "engine/mutex.h"

namespace quarry {
namespace {

// A mapped address range. `start` is 0 if nothing is mapped.
struct Range {
  uintptr_t start = 0;
  uintptr_t end = 0;
  std::atomic<bool>* readFailed = nullptr;

  bool Contains(uintptr_t address) const { return start != 0 && start <= address && address < end; }
};

// A mapping of file pages, read as a seqlock. A reader gets a complete range, or retries while it changes:
// parts of two ranges would cover memory that belongs to neither.
class Mapping {
 public:
  // One thread at a time.
  void Set(const Range& range) {
    version_.fetch_add(1, std::memory_order_acq_rel);  // odd: changing
    start_.store(range.start, std::memory_order_release);
    end_.store(range.end, std::memory_order_release);
    readFailed_.store(range.readFailed, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
  }

  // Lock-free. A reader that sees part of a newer range also sees its version, and reads again.
  Range Get() const {
    for (int i = 0; i < kReadsMax; i++) {
      const uint32_t version = version_.load(std::memory_order_acquire);
      Range range;
      range.start = start_.load(std::memory_order_acquire);
      range.end = end_.load(std::memory_order_acquire);
      range.readFailed = readFailed_.load(std::memory_order_acquire);
      if (version % 2 == 0 && version_.load(std::memory_order_relaxed) == version) return range;
    }
    return {};
  }

 private:
  // A change takes nanoseconds, but waiting for one that this signal interrupted on its own thread would never end.
  static constexpr int kReadsMax = 1 << 24;

  std::atomic<uint32_t> version_{0};
  std::atomic<uintptr_t> start_{0};
  std::atomic<uintptr_t> end_{0};
  std::atomic<std::atomic<bool>*> readFailed_{nullptr};
};

// All mappings, for a lock-free signal handler: blocks are added and never removed, and entries are reused.
struct MappingBlock {
  static constexpr size_t kMappings = 128;
  Mapping mappings[kMappings];
  std::atomic<MappingBlock*> next{nullptr};
};

MappingBlock firstBlock;
Mutex mappingsMutex;              // held while mappings are added or removed
struct sigaction previousAction;  // set once, before the handler

// Returns an empty range if nothing is mapped at `address`.
Range FindRange(uintptr_t address) {
  for (MappingBlock* block = &firstBlock; block != nullptr; block = block->next.load(std::memory_order_acquire)) {
    for (const Mapping& mapping : block->mappings) {
      const Range range = mapping.Get();
      if (range.Contains(address)) return range;
    }
  }
  return {};
}

// Forwards the signal to the previous handler or the default action.
void CallPreviousHandler(int number, siginfo_t* info, void* context) {
  if ((previousAction.sa_flags & SA_SIGINFO) != 0 && previousAction.sa_sigaction != nullptr) {
    previousAction.sa_sigaction(number, info, context);
  } else if (previousAction.sa_handler != SIG_DFL && previousAction.sa_handler != SIG_IGN) {
    previousAction.sa_handler(number);
  } else {
    // The access is repeated when the handler returns, and then ends the process.
    signal(number, SIG_DFL);
  }
}

// Uses only async-signal-safe operations: system calls and atomics. The thread that read an unreadable page keeps
// its locks and continues with zeros.
void OnBusError(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const Range range = FindRange(reinterpret_cast<uintptr_t>(info->si_addr));
  if (range.start == 0) return CallPreviousHandler(number, info, context);
  range.readFailed->store(true, std::memory_order_release);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  void* const start = reinterpret_cast<void*>(range.start);
  if (mmap(start, range.end - range.start, PROT_READ, kFlags, -1, 0) == MAP_FAILED) {
    return CallPreviousHandler(number, info, context);
  }
  errno = error;
}

bool InstallHandler() {
  struct sigaction action {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGBUS, nullptr, &previousAction) == 0 && sigaction(SIGBUS, &action, nullptr) == 0;
}

// Returns null if there is no memory.
Mapping* AddMapping(const void* at, size_t length, std::atomic<bool>* readFailed) {
  static const bool installed = InstallHandler();
  if (!installed) return nullptr;
  const MutexLock lock(mappingsMutex);
  for (MappingBlock* block = &firstBlock;; block = block->next.load(std::memory_order_relaxed)) {
    for (Mapping& mapping : block->mappings) {
      if (mapping.Get().start != 0) continue;
      const auto start = reinterpret_cast<uintptr_t>(at);
      mapping.Set({start, start + length, readFailed});
      return &mapping;
    }
    if (block->next.load(std::memory_order_relaxed) == nullptr) {
      auto* const next = new (std::nothrow) MappingBlock();
      if (next == nullptr) return nullptr;
      block->next.store(next, std::memory_order_release);
    }
  }
}

// Removes [at, at + length) from all mappings except `kept`. The part of a longer mapping after the range
// stays mapped.
void CutMappings(const void* at, size_t length, const Mapping* kept) {
  const auto start = reinterpret_cast<uintptr_t>(at);
  const MutexLock lock(mappingsMutex);
  for (MappingBlock* block = &firstBlock; block != nullptr; block = block->next.load(std::memory_order_relaxed)) {
    for (Mapping& mapping : block->mappings) {
      const Range range = mapping.Get();
      if (&mapping == kept || range.start < start || range.start >= start + length) continue;
      const bool isLonger = range.end > start + length;
      mapping.Set(isLonger ? Range{start + length, range.end, range.readFailed} : Range{});
    }
  }
}

void RemoveMapping(Mapping* mapping) {
  const MutexLock lock(mappingsMutex);
  mapping->Set({});
}

// Replaces the memory at `to` by the mapping at `from`, atomically for every thread that reads there.
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

bool MapFilePages(int file, uint64_t offset, void* at, size_t length, std::atomic<bool>* readFailed) {
  const size_t page = FilePageBytes();
  if (offset % page != 0 || reinterpret_cast<uintptr_t>(at) % page != 0 || length % page != 0) return false;
  // Every step that can fail runs before the memory at `at` changes.
  void* const mapped = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return false;
  // Access is random: read-ahead would only evict other pages.
  madvise(mapped, length, MADV_RANDOM);
  // Must precede the move, so that the handler knows the pages before readers touch them. An earlier mapping
  // of the same memory is removed once it is replaced.
  Mapping* const mapping = AddMapping(at, length, readFailed);
  if (mapping != nullptr && MovePages(mapped, at, length, file, offset)) {
    CutMappings(at, length, mapping);
    return true;
  }
  if (mapping != nullptr) RemoveMapping(mapping);
  munmap(mapped, length);
  return false;
}

void UnregisterFilePages(const void* at, size_t length) { CutMappings(at, length, nullptr); }

}  // namespace quarry
