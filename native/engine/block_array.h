// Growable array whose elements never move, so growth does not block readers.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <numeric>

#include "engine/file_pages.h"

namespace quarry {

// Rows of `width` elements of T in blocks of 1024, 1024, 2048, 4096 ... rows. Each block is one private
// mapping that the kernel fills with zeros page by page on first access: a small shard stays small, a large
// one has few blocks.
//
// T must be valid when all its bytes are zero and must need no destructor. Only one thread at a time may call
// Reserve. Readers may use any row that was reserved before the row's number was published to them.
template <class T>
class BlockArray {
 public:
  // Rows [n * kContiguousRows, (n + 1) * kContiguousRows) are contiguous.
  static constexpr size_t kContiguousRows = 1024;

  explicit BlockArray(size_t width = 1) : width_(width) {}
  BlockArray(const BlockArray&) = delete;
  BlockArray& operator=(const BlockArray&) = delete;
  ~BlockArray() {
    for (size_t block = 0; block < kBlocks; block++) {
      T* start = blocks_[block].load(std::memory_order_relaxed);
      if (start == nullptr) continue;
      if (RowsInFile() > 0) UnregisterFilePages(start, BlockBytes(block));
      munmap(static_cast<void*>(start), BlockBytes(block));
    }
  }

  // Makes rows [0, rows) usable. Throws std::bad_alloc if the mapping fails.
  void Reserve(size_t rows) {
    while (reserved_ < rows) {
      const size_t block = BlockOf(reserved_);
      void* start =
          mmap(nullptr, BlockBytes(block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (start == MAP_FAILED) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
      // Advice only: a kernel without huge pages uses small ones. Small blocks would waste half a huge page.
      if (BlockBytes(block) >= kHugeBytes) madvise(start, BlockBytes(block), MADV_HUGEPAGE);
#endif
      blocks_[block].store(static_cast<T*>(start), std::memory_order_release);
      reserved_ += BlockRows(block);
    }
  }

  // As Reserve, for a row count that is expected to stay for a while. Call it before any of the rows is
  // written: the last huge page, which the rows would fill only in part, is given small pages, so its unused
  // part takes no memory.
  void ReserveExactly(size_t rows) {
    Reserve(rows);
#if defined(MADV_NOHUGEPAGE)
    if (rows == 0) return;
    const auto start = reinterpret_cast<uintptr_t>(blocks_[BlockOf(rows - 1)].load(std::memory_order_relaxed));
    const auto end = reinterpret_cast<uintptr_t>(Row(rows - 1) + width_);
    const uintptr_t part = std::max(start, end / kHugePageBytes * kHugePageBytes);
    const uintptr_t next =
        std::min(start + BlockBytes(BlockOf(rows - 1)), end / kHugePageBytes * kHugePageBytes + kHugePageBytes);
    madvise(reinterpret_cast<void*>(part), next - part, MADV_NOHUGEPAGE);
#endif
  }

  T* Row(size_t row) const {
    const size_t block = BlockOf(row);
    return blocks_[block].load(std::memory_order_acquire) + (row - BlockStart(block)) * width_;
  }
  T& operator[](size_t row) const { return *Row(row); }

  // Number of consecutive rows from `row` to the end of its block, which one copy can cover.
  size_t ContiguousFrom(size_t row) const {
    const size_t block = BlockOf(row);
    return BlockStart(block) + BlockRows(block) - row;
  }

  // Calls visit(first, elements, rows) for each contiguous run of rows in [0, rows), in ascending order,
  // until it returns false. Returns whether it never did. `first` is a row number, `elements` points to that
  // row.
  template <class Visit>
  bool ForRuns(size_t rows, const Visit& visit) const {
    for (size_t row = 0; row < rows;) {
      const size_t run = std::min(rows - row, ContiguousFrom(row));
      if (!visit(row, Row(row), run)) return false;
      row += run;
    }
    return true;
  }

  // Moves rows [0, rows) out of memory: from now on they are read from `file`, which must hold the same bytes
  // starting at `offset`. The rows must not be written afterwards; concurrent readers are unaffected. Rows
  // that do not fill a page stay in memory, as do all rows on systems that cannot map them. One caller at a
  // time. Returns the number of rows that lie in the file.
  size_t MoveToFile(int file, uint64_t offset, size_t rows) {
    const size_t page = FilePageBytes();
    const size_t pageRows = page / std::gcd(page, BytesOf(1));
    const size_t whole = rows / pageRows * pageRows;
    size_t moved = 0;
    ForRuns(whole, [&](size_t first, T* elements, size_t count) {
      if (!MapFilePages(file, offset + BytesOf(first), elements, BytesOf(count), &readFailed_)) return false;
      moved = first + count;
      return true;
    });
    // Rows beyond `moved` that an earlier file holds continue to be read from that file.
    inFile_.store(std::max(moved, inFile_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    return moved;
  }
  size_t RowsInFile() const { return inFile_.load(std::memory_order_relaxed); }
  // Whether some rows could not be read from their file; such rows may be zeros.
  bool HasReadFailed() const { return readFailed_.load(std::memory_order_acquire); }

  // Size of `rows` rows in bytes.
  size_t BytesOf(size_t rows) const { return rows * width_ * sizeof(T); }

 private:
  static constexpr size_t kFirstBits = std::bit_width(kContiguousRows) - 1;
  static constexpr size_t kBlocks = 23;  // up to 2^32 rows
  static constexpr size_t kHugeBytes = 4u << 20;
  static constexpr size_t kHugePageBytes = 2u << 20;

  static size_t BlockOf(size_t row) { return static_cast<size_t>(std::bit_width(row >> kFirstBits)); }
  static size_t BlockStart(size_t block) { return block == 0 ? 0 : size_t{1} << (kFirstBits + block - 1); }
  static size_t BlockRows(size_t block) { return block == 0 ? size_t{1} << kFirstBits : BlockStart(block); }
  size_t BlockBytes(size_t block) const { return BlockRows(block) * width_ * sizeof(T); }

  const size_t width_;
  size_t reserved_ = 0;
  std::atomic<size_t> inFile_{0};
  std::atomic<bool> readFailed_{false};
  std::atomic<T*> blocks_[kBlocks] = {};
};

}  // namespace quarry
