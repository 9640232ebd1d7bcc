// Iterates over the postings of one term in ascending row order, and unpacks only the blocks that are read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/block_array.h"
#include "engine/posting_block.h"

namespace quarry {

// A list is a sequence of blocks; its tail counts as a separate block. The cursor sees the list as
// of Open: later additions are invisible.
class PostingCursor {
 public:
  PostingCursor();
  PostingCursor(const PostingCursor&) = delete;
  PostingCursor& operator=(const PostingCursor&) = delete;

  // For list implementations: clears the cursor. The parts of a list are then added in order.
  void Reset();
  // Adds blocks whose `offset` counts from `base`, the first one after row `before`. The bytes must outlive
  // the cursor.
  void AddBlocks(const BlockHeader* headers, uint32_t count, uint32_t before, const uint64_t* base);
  // As above, with offsets in an arena.
  void AddBlocks(const BlockHeader* headers, uint32_t count, uint32_t before, const BlockArray<uint64_t>& arena);
  // Adds at most 127 postings after row `before`.
  void AddTail(const uint8_t* bytes, uint32_t count, uint32_t before, GainBounds bounds);
  // Moves to the first block. Call it after the last part was added.
  void Start();

  uint64_t Count() const { return count_; }
  // Whether the cursor is past the last block. The functions below refer to the current block.
  bool AtEnd() const { return run_ == runs_.size(); }
  uint32_t LastRow() const { return runs_[run_].headers[block_].lastRow; }
  // All rows of the block are after this one (kBeforeFirst: no bound).
  uint32_t Before() const { return before_; }
  const GainBounds& Bounds() const { return runs_[run_].headers[block_].bounds; }
  uint32_t Size() const { return runs_[run_].tail == kPacked ? kBlockPostings : tails_[runs_[run_].tail].size; }
  const uint32_t* Rows();
  // body + 65536 * prefix of each posting.
  const uint32_t* Counts();

  void NextBlock();
  // Moves forward to the first block whose last row is `row` or later.
  void Seek(uint32_t row);
  // Whether the list contains `row`; sets *counts. Moves as Seek does; rows must not descend.
  bool Find(uint32_t row, uint32_t* counts);
  // Calls visit(bounds) for this block and those after it that may contain rows up to `row`.
  template <class Visit>
  void ForEachBoundsUpTo(uint32_t row, Visit visit) const {
    size_t run = run_;
    uint32_t block = block_;
    uint32_t before = before_;
    while (run < runs_.size() && (before == kBeforeFirst || before < row)) {
      const BlockHeader& header = runs_[run].headers[block];
      visit(header.bounds);
      before = header.lastRow;
      if (++block < runs_[run].count) continue;
      run++;
      block = 0;
    }
  }

  // Calls visit(row) for the rows of the current block in [start, end) without moving the cursor. Returns
  // false if visit returned false, which stops the scan, or if later blocks may contain more such rows.
  template <class Visit>
  bool ForEachRowIn(uint32_t start, uint32_t end, Visit visit) {
    if (AtEnd() || (before_ != kBeforeFirst && before_ + 1 >= end)) return true;
    const uint32_t* const rows = Rows();
    const uint32_t* const last = rows + Size();
    for (const uint32_t* row = std::lower_bound(rows + next_, last, start); row < last && *row < end; row++) {
      if (!visit(*row)) return false;
    }
    return last[-1] >= end - 1 || IsLastBlock();
  }

  // Calls visit(posting) for every posting from the current block on, until it returns false.
  template <class Visit>
  void ForEach(Visit visit) {
    for (; !AtEnd(); NextBlock()) {
      const uint32_t* rows = Rows();
      const uint32_t* counts = Counts();
      for (uint32_t i = 0, size = Size(); i < size; i++) {
        if (!visit(Posting{rows[i], counts[i] & 0xffff, counts[i] >> 16})) return;
      }
    }
  }

 private:
  static constexpr uint32_t kPacked = 0xffffffff;
  // Blocks whose headers are contiguous.
  struct Run {
    const BlockHeader* headers;
    uint32_t count;
    uint32_t before;
    const uint64_t* base;               // null: offsets refer to `arena`
    const BlockArray<uint64_t>* arena;  // null: offsets count from `base`
    uint32_t tail;                      // index into tails_, or kPacked
  };
  struct Tail {
    BlockHeader header;
    uint32_t size;
    uint32_t rows[kBlockPostings];
    uint32_t counts[kBlockPostings];
  };
  // One from the loaded snapshot, one from later additions.
  static constexpr uint32_t kTailsMax = 2;

  bool IsLastBlock() const { return run_ + 1 == runs_.size() && block_ + 1 == runs_[run_].count; }
  static const uint64_t* WordsOf(const Run& run, uint32_t block);
  const uint64_t* Words() const { return WordsOf(runs_[run_], block_); }
  void EnterBlock();

  std::vector<Run> runs_;
  Tail tails_[kTailsMax];
  uint32_t tailCount_ = 0;
  uint64_t count_ = 0;
  size_t run_ = 0;
  uint32_t block_ = 0;
  uint32_t before_ = kBeforeFirst;
  uint32_t next_ = 0;  // postings of this block before this index are below the rows that Find was called with
  bool rowsUnpacked_ = false;
  bool countsUnpacked_ = false;
  uint32_t rows_[kBlockPostings];
  uint32_t counts_[kBlockPostings];
};

}  // namespace quarry
