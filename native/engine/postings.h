// Inverted index of a shard: the rows that contain each term, with term frequencies.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/block_array.h"
#include "engine/packed_postings.h"
#include "engine/posting_block.h"
#include "engine/posting_cursor.h"
#include "engine/status.h"

namespace quarry {

// One entry of a packed term block, as produced by native/text and stored in RocksDB.
struct TermEntry {
  uint64_t hash;
  uint16_t body;
  uint16_t prefix;
  uint32_t reserved;
};
static_assert(sizeof(TermEntry) == 16);

inline constexpr uint32_t kTermBlockMagic = 0x31425451;  // "QTB1"

// View of a validated term block. Layout: header u32 magic 'QTB1', u32 rows; u32 entry count of each row;
// zeros up to a multiple of 8 bytes; then all entries in row order, ascending by hash within a row.
class TermBlock {
 public:
  // `bytes` must outlive the view and be aligned to 8. Returns kInvalid if they are malformed.
  static Status Parse(const uint8_t* bytes, size_t length, TermBlock* block);
  uint32_t rows() const { return rows_; }
  uint32_t EntriesOf(uint32_t row) const { return counts_[row]; }
  const TermEntry* entries() const { return entries_; }

 private:
  uint32_t rows_ = 0;
  const uint32_t* counts_ = nullptr;
  const TermEntry* entries_ = nullptr;
};

// Posting lists by term hash: those of a loaded snapshot, read in place, followed by later additions. One
// thread at a time adds rows in ascending order. Any number of readers iterate concurrently without locks and
// see every posting that was complete when they reached it.
class Postings {
 public:
  Postings();
  Postings(const Postings&) = delete;
  Postings& operator=(const Postings&) = delete;

  // Prepends the lists of a snapshot, in `length` bytes that live as long as `owner`. Call it before the
  // first Add and before any reader exists.
  void Adopt(const PackedPostings& packed, size_t length, std::shared_ptr<const void> owner);

  // Appends the posting to the list of `hash`. `row` must not be below any row added before, and (hash, row)
  // must be new. The row's body has `length` terms.
  void Add(uint64_t hash, const Posting& posting, uint32_t length);

  // Adds all terms of a row at once, which is faster than single calls of Add.
  void AddRow(uint32_t row, const TermEntry* entries, uint32_t count, uint32_t length);

  // Prefetch the data that Open and Count read: first the slot, then the list. Prefetching several lists before
  // opening them overlaps their memory latencies.
  void PrefetchSlot(uint64_t hash) const;
  void PrefetchList(uint64_t hash) const;

  // Sets the cursor to the start of the term's list. Returns false if there is none.
  bool Open(uint64_t hash, PostingCursor* cursor) const;

  // Returns the number of postings of the term.
  uint64_t Count(uint64_t hash) const;

  // Calls visit(posting) in ascending row order until it returns false.
  template <class Visit>
  void ForEach(uint64_t hash, Visit visit) const {
    PostingCursor cursor;
    if (Open(hash, &cursor)) cursor.ForEach(visit);
  }

  // Returns the hashes of all terms that have lists now, ascending.
  std::vector<uint64_t> Hashes() const;

  size_t Bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  // A growing list: full blocks, and a tail that is packed into the next block when it is full.
  // Tails lie in buffers of 1, 2, 4 ... words, and released buffers are reused by other lists. A copy of a tail is
  // therefore valid only if `state` still has the same number of blocks and the same size class afterwards.
  struct List {
    uint64_t hash;
    std::atomic<uint64_t> state;     // a packed State
    std::atomic<uint64_t> word;      // the smallest buffer, inline
    std::atomic<uint32_t> buffer;    // offset of a larger buffer
    std::atomic<uint32_t> segments;  // offset of the first segment; 0: no full block yet
    std::atomic<uint32_t> bounds;    // GainBounds of the tail
    uint32_t lastRow;                // writer only
  };
  static_assert(sizeof(List) == 40);
  struct State {
    uint32_t blocks;
    uint32_t sizeClass;  // the buffer has 2^sizeClass words
    uint32_t postings;
    uint32_t bytes;
  };
  // Headers of consecutive blocks; `capacity` headers follow in memory. The first segment has one, each further
  // one twice as many as the one before.
  struct Segment {
    std::atomic<uint32_t> next;  // 0: none yet
    uint32_t capacity;
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), slots(new std::atomic<uint32_t>[size]()) {}
    const size_t mask;                                     // size - 1; the size is a power of two
    const std::unique_ptr<std::atomic<uint32_t>[]> slots;  // offsets of lists; 0: free
  };
  static constexpr uint32_t kSizeClasses = 9;  // 128 postings take at most 256 words

  static uint64_t Pack(const State& state);
  static State Unpack(uint64_t packed);

  List* ListAt(uint32_t offset) const { return reinterpret_cast<List*>(arena_.Row(offset)); }
  Segment* SegmentAt(uint32_t offset) const { return reinterpret_cast<Segment*>(arena_.Row(offset)); }
  static BlockHeader* HeadersOf(Segment* segment) { return reinterpret_cast<BlockHeader*>(segment + 1); }
  std::atomic<uint64_t>* BufferOf(List* list, uint32_t sizeClass) const;

  List* Find(uint64_t hash) const;
  // Same for the data that Add reads.
  void PrefetchTableSlot(uint64_t hash) const;
  void PrefetchTableList(uint64_t hash) const;
  void PrefetchTail(uint64_t hash) const;
  List* FindOrAdd(uint64_t hash);
  void GrowTable();
  // Steps of Add, called by the writer.
  void EnlargeTail(List* list, State* state);
  void PackTail(List* list, State* state);
  BlockHeader* NewHeader(List* list, uint32_t block);
  uint32_t NewBuffer(uint32_t sizeClass);
  // Returns the offset of `words` contiguous zeroed words.
  uint32_t Allocate(size_t words);
  // Adds a consistent state of the list to the cursor.
  void Read(List* list, PostingCursor* cursor) const;

  PackedPostings packed_;
  std::shared_ptr<const void> owner_;  // owns the bytes of packed_
  std::atomic<Table*> table_{nullptr};
  // All tables ever created, because a reader may still scan an old one. Their total size is at most twice the last.
  std::vector<std::unique_ptr<Table>> tables_;
  size_t lists_ = 0;
  BlockArray<uint64_t> arena_;
  uint64_t used_ = 1;  // in words; offset 0 means none
  std::vector<uint32_t> freeBuffers_[kSizeClasses];
  std::vector<uint64_t> packBuffer_;
  std::atomic<size_t> bytes_{0};
};

}  // namespace quarry
