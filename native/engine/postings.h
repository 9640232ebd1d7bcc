// Which rows hold which term, and how often: the lexical side of a shard.
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

// Lists of postings by term hash: those of a loaded snapshot, read where they lie, and after them those added since.
// One writer at a time adds rows in ascending order; any number of readers walk the lists meanwhile without a lock
// and see every posting that was whole when they reached it.
class Postings {
 public:
  Postings();
  Postings(const Postings&) = delete;
  Postings& operator=(const Postings&) = delete;

  // Puts lists before all that will be added, in `length` bytes that live as long as `keeper`. Before the first Add,
  // and before there are readers.
  void Adopt(const PackedPostings& packed, size_t length, std::shared_ptr<const void> keeper);

  // Adds the posting to the list of `hash`. `row` is not below any row added before, and (hash, row) is new; the
  // row's body has `length` terms.
  void Add(uint64_t hash, const Posting& posting, uint32_t length);

  // Adds all terms of a row at once, which is faster.
  void AddRow(uint32_t row, const TermEntry* entries, uint32_t count, uint32_t length);

  // Have the processor fetch what Open and Add will read: first where the list is, then the list. Whoever asks for
  // several before it opens them waits for memory once.
  void FetchSlot(uint64_t hash) const;
  void FetchList(uint64_t hash) const;

  // Sets the cursor to the start of the term's list; false when there is none.
  bool Open(uint64_t hash, PostingCursor* cursor) const;

  // How many postings the term has.
  uint64_t Count(uint64_t hash) const;

  // Calls visit(posting) in ascending order of rows until it answers false.
  template <class Visit>
  void ForEach(uint64_t hash, Visit visit) const {
    PostingCursor cursor;
    if (Open(hash, &cursor)) cursor.ForEach(visit);
  }

  // The terms that have lists now, ascending.
  std::vector<uint64_t> Hashes() const;

  size_t Bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  // A list that grows: full blocks, and a tail of loose postings that becomes the next block when there are enough.
  // Tails lie in buffers of 1, 2, 4 ... words, and a buffer that one list leaves is given to another. What a reader
  // copied from a tail is therefore good only when `state` still shows the same blocks and the same size of buffer.
  struct List {
    uint64_t hash;
    std::atomic<uint64_t> state;     // a packed State
    std::atomic<uint64_t> word;      // the smallest buffer
    std::atomic<uint32_t> buffer;    // where a larger one is
    std::atomic<uint32_t> segments;  // where the first segment is; 0: no full block yet
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
  // Heads of consecutive blocks, `capacity` of which follow in memory. The first segment has one, each further one
  // twice as many as the one before.
  struct Segment {
    std::atomic<uint32_t> next;  // 0: none yet
    uint32_t capacity;
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), slots(new std::atomic<uint32_t>[size]()) {}
    const size_t mask;                                     // size - 1, the size a power of two
    const std::unique_ptr<std::atomic<uint32_t>[]> slots;  // where lists are; 0: free
  };
  static constexpr uint32_t kSizeClasses = 9;  // 128 postings take no more than 256 words

  static uint64_t Pack(const State& state);
  static State Unpack(uint64_t packed);

  List* ListAt(uint32_t place) const { return reinterpret_cast<List*>(arena_.Row(place)); }
  Segment* SegmentAt(uint32_t place) const { return reinterpret_cast<Segment*>(arena_.Row(place)); }
  static BlockHead* HeadsOf(Segment* segment) { return reinterpret_cast<BlockHead*>(segment + 1); }
  std::atomic<uint64_t>* BufferOf(List* list, uint32_t sizeClass) const;

  List* Find(uint64_t hash) const;
  void FetchTail(uint64_t hash) const;
  List* FindOrAdd(uint64_t hash);
  void GrowTable();
  // The writer's steps of Add.
  void EnlargeTail(List* list, State* state);
  void PackTail(List* list, State* state);
  BlockHead* NewHead(List* list, uint32_t block);
  uint32_t NewBuffer(uint32_t sizeClass);
  // Answers the place of `words` words of zeros, side by side.
  uint32_t Allocate(size_t words);
  // Adds what the list held at one instant to the cursor.
  void Read(List* list, PostingCursor* cursor) const;

  PackedPostings packed_;
  std::shared_ptr<const void> keeper_;  // of the bytes of packed_
  std::atomic<Table*> table_{nullptr};
  // Every table that ever was: a reader may still walk an old one. All together are at most twice the last.
  std::vector<std::unique_ptr<Table>> tables_;
  size_t lists_ = 0;
  BlockArray<uint64_t> arena_;
  uint64_t used_ = 1;  // words; place 0 means none
  std::vector<uint32_t> freeBuffers_[kSizeClasses];
  std::vector<uint64_t> packing_;
  std::atomic<size_t> bytes_{0};
};

}  // namespace quarry
