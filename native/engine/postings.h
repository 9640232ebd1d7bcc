// Which rows hold which term, and how often: the lexical side of a shard.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/status.h"

namespace quarry {

// One term in one row. Counts saturate at 65535 where they are made.
struct Posting {
  uint32_t row;
  uint32_t body;    // occurrences in the text
  uint32_t prefix;  // occurrences in the title and heading path
};

// One entry of a packed term block: what the text room makes and RocksDB keeps.
struct TermEntry {
  uint64_t hash;
  uint16_t body;
  uint16_t prefix;
  uint32_t reserved;
};
static_assert(sizeof(TermEntry) == 16);

// A view of a checked term block: header u32 magic 'QTB1', u32 rows; u32 entry count of each row; zeros up to a
// multiple of 8 bytes; then all entries in row order, inside a row ascending by hash.
class TermBlock {
 public:
  // The bytes must outlive the view and be aligned to 8.
  static Status Parse(const uint8_t* bytes, size_t length, TermBlock* block);
  uint32_t rows() const { return rows_; }
  uint32_t EntriesOf(uint32_t row) const { return counts_[row]; }
  const TermEntry* entries() const { return entries_; }

 private:
  uint32_t rows_ = 0;
  const uint32_t* counts_ = nullptr;
  const TermEntry* entries_ = nullptr;
};

// Lists of postings by term hash. One writer at a time adds rows in ascending order; any number of readers walk the
// lists meanwhile without a lock and see every posting that was whole when they reached it.
class Postings {
 public:
  // A stretch of encoded postings. Per posting: varint of the row's distance to the row before (the first of a
  // list: to zero), varint of `body * 2 + (prefix > 0)`, and varint of `prefix` when it is not zero. A posting never
  // crosses into the next block.
  struct Block {
    std::atomic<Block*> next{nullptr};
    std::atomic<uint32_t> used{0};
    uint32_t capacity = 0;
    uint8_t* bytes() { return reinterpret_cast<uint8_t*>(this + 1); }
    const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(this + 1); }
  };
  struct List {
    uint64_t hash = 0;
    Block* tail = nullptr;  // writer only
    uint32_t lastRow = 0;   // writer only
    std::atomic<uint32_t> count{0};
    Block first;  // its bytes follow the list in memory
  };

  Postings();
  Postings(const Postings&) = delete;
  Postings& operator=(const Postings&) = delete;

  // Adds the posting to the list of `hash`. `row` is not below any row added before, and (hash, row) is new.
  void Add(uint64_t hash, const Posting& posting);

  // Calls visit(posting) in ascending order of rows until it answers false.
  template <class Visit>
  void ForEach(uint64_t hash, Visit visit) const {
    if (const List* list = Find(hash); list != nullptr) ForEach(*list, visit);
  }
  template <class Visit>
  static void ForEach(const List& list, Visit visit) {
    uint32_t row = 0;
    for (const Block* block = &list.first; block != nullptr; block = block->next.load(std::memory_order_acquire)) {
      const uint8_t* at = block->bytes();
      const uint8_t* const end = at + block->used.load(std::memory_order_acquire);
      while (at < end) {
        row += Take(&at);
        const uint32_t counts = Take(&at);
        const Posting posting{row, counts >> 1, (counts & 1) != 0 ? Take(&at) : 0};
        if (!visit(posting)) return;
      }
    }
  }

  // The lists that exist now, in no order; they live as long as the postings.
  std::vector<const List*> Lists() const;

  size_t Terms() const { return terms_.load(std::memory_order_relaxed); }
  size_t Bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Table {
    explicit Table(size_t size) : mask(size - 1), slots(new std::atomic<List*>[size]()) {}
    const size_t mask;  // size - 1, the size a power of two
    const std::unique_ptr<std::atomic<List*>[]> slots;
  };

  static uint32_t Take(const uint8_t** at);
  const List* Find(uint64_t hash) const;
  List* FindOrAdd(uint64_t hash);
  void Grow();
  void* Allocate(size_t bytes);

  std::atomic<Table*> table_{nullptr};
  // Every table that ever was: a reader may still walk an old one. All together are at most twice the last.
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<std::unique_ptr<uint8_t[]>> chunks_;
  uint8_t* free_ = nullptr;
  size_t freeBytes_ = 0;
  std::atomic<size_t> terms_{0};
  std::atomic<size_t> bytes_{0};
};

inline uint32_t Postings::Take(const uint8_t** at) {
  uint32_t value = *(*at)++;
  if (value < 0x80) return value;
  value &= 0x7f;
  for (int shift = 7;; shift += 7) {
    const uint8_t byte = *(*at)++;
    value |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

}  // namespace quarry
