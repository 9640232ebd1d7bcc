#include "engine/posting_cursor.h"

#include <algorithm>

namespace quarry {

namespace {

// Prefetches the typical size of a packed block of a common term.
void PrefetchBlock(const uint64_t* words) {
  __builtin_prefetch(words);
  __builtin_prefetch(words + 8);
  __builtin_prefetch(words + 16);
}

}  // namespace

// Defined out of line, so that construction does not zero the buffers.
PostingCursor::PostingCursor() = default;

void PostingCursor::Reset() {
  runs_.clear();
  tailCount_ = 0;
  count_ = 0;
}

void PostingCursor::AddBlocks(const BlockHeader* headers, uint32_t count, uint32_t before, const uint64_t* base) {
  if (count == 0) return;
  runs_.push_back({headers, count, before, base, nullptr, kPacked});
  count_ += uint64_t{count} * kBlockPostings;
}

void PostingCursor::AddBlocks(const BlockHeader* headers, uint32_t count, uint32_t before,
                              const BlockArray<uint64_t>& arena) {
  if (count == 0) return;
  runs_.push_back({headers, count, before, nullptr, &arena, kPacked});
  count_ += uint64_t{count} * kBlockPostings;
}

void PostingCursor::AddTail(const uint8_t* bytes, uint32_t count, uint32_t before, GainBounds bounds) {
  if (count == 0) return;
  Tail& tail = tails_[tailCount_];
  DecodeTail(bytes, count, before, tail.rows, tail.counts);
  tail.size = count;
  tail.header = {};
  tail.header.lastRow = tail.rows[count - 1];
  tail.header.bounds = bounds;
  runs_.push_back({&tail.header, 1, before, nullptr, nullptr, tailCount_++});
  count_ += count;
}

void PostingCursor::Start() {
  run_ = 0;
  block_ = 0;
  EnterBlock();
}

void PostingCursor::EnterBlock() {
  rowsUnpacked_ = false;
  countsUnpacked_ = false;
  next_ = 0;
  if (AtEnd()) return;
  const Run& run = runs_[run_];
  before_ = block_ == 0 ? run.before : run.headers[block_ - 1].lastRow;
  if (run.tail != kPacked) return;
  // The blocks of a list that grew are scattered in memory, and other lists are read in between:
  // prefetch the next.
  PrefetchBlock(WordsOf(run, block_));
  if (block_ + 1 < run.count) PrefetchBlock(WordsOf(run, block_ + 1));
}

const uint64_t* PostingCursor::WordsOf(const Run& run, uint32_t block) {
  const uint32_t offset = run.headers[block].offset;
  return run.arena == nullptr ? run.base + offset : run.arena->Row(offset);
}

const uint32_t* PostingCursor::Rows() {
  const Run& run = runs_[run_];
  if (run.tail != kPacked) return tails_[run.tail].rows;
  if (!rowsUnpacked_) UnpackRows(run.headers[block_], Words(), before_, rows_);
  rowsUnpacked_ = true;
  return rows_;
}

const uint32_t* PostingCursor::Counts() {
  const Run& run = runs_[run_];
  if (run.tail != kPacked) return tails_[run.tail].counts;
  if (!countsUnpacked_) UnpackCounts(run.headers[block_], Words(), counts_);
  countsUnpacked_ = true;
  return counts_;
}

void PostingCursor::NextBlock() {
  if (++block_ == runs_[run_].count) {
    run_++;
    block_ = 0;
  }
  EnterBlock();
}

void PostingCursor::Seek(uint32_t row) {
  if (AtEnd() || LastRow() >= row) return;
  while (run_ < runs_.size() && runs_[run_].headers[runs_[run_].count - 1].lastRow < row) {
    run_++;
    block_ = 0;
  }
  if (!AtEnd()) {
    // Exponential search: most steps are short.
    const Run& run = runs_[run_];
    uint32_t low = block_;
    uint32_t step = 1;
    while (low + step < run.count && run.headers[low + step].lastRow < row) {
      low += step;
      step *= 2;
    }
    const BlockHeader* found =
        std::lower_bound(run.headers + low, run.headers + std::min(low + step, run.count - 1), row,
                         [](const BlockHeader& header, uint32_t r) { return header.lastRow < r; });
    block_ = static_cast<uint32_t>(found - run.headers);
  }
  EnterBlock();
}

bool PostingCursor::Find(uint32_t row, uint32_t* counts) {
  Seek(row);
  if (AtEnd() || (before_ != kBeforeFirst && row <= before_)) return false;
  const uint32_t* rows = Rows();
  const uint32_t* const end = rows + Size();
  const uint32_t* const found = std::lower_bound(rows + next_, end, row);
  next_ = static_cast<uint32_t>(found - rows);
  if (found == end || *found != row) return false;
  const Run& run = runs_[run_];
  if (run.tail != kPacked) {
    *counts = tails_[run.tail].counts[next_];
  } else {
    *counts = countsUnpacked_ ? counts_[next_] : CountsAt(run.headers[block_], Words(), next_);
  }
  return true;
}

}  // namespace quarry
