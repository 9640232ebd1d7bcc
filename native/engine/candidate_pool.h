// Candidate list of a graph search: the best rows seen so far, best first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/code_array.h"

namespace quarry {

// One sorted list serves as both frontier and result. It holds the best `ef` accepted rows, and
// between them the rows that are only traversed. Rows after the last accepted one are dropped.
class CandidatePool {
 public:
  // Row numbers leave two bits free for flags.
  static constexpr uint32_t kRowsEnd = uint32_t{1} << 30;

  void Reset(uint32_t ef) {
    entries_.clear();
    ef_ = ef;
    accepted_ = 0;
    next_ = 0;
    bound_ = std::numeric_limits<int32_t>::min();
  }

  // Whether a row with that score would be kept.
  bool IsCompetitive(int32_t score) const { return score > bound_; }

  // Adds a row for which IsCompetitive returned true.
  void Add(Neighbor near, bool accepted) {
    const size_t at = PositionOf(near.score);
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(at),
                    {near.score, near.row << 2 | (accepted ? kAccepted : 0)});
    if (at < next_) next_ = at;
    if (!accepted || ++accepted_ < ef_) return;
    if (accepted_ > ef_) {
      accepted_--;
      entries_.pop_back();
    }
    while ((entries_.back().mark & kAccepted) == 0) entries_.pop_back();
    bound_ = entries_.back().score;
  }

  // Returns each row once, always the best one not yet returned. Returns false if none is left.
  bool Next(uint32_t* row) {
    while (next_ < entries_.size() && (entries_[next_].mark & kExpanded) != 0) next_++;
    if (next_ >= entries_.size()) return false;
    entries_[next_].mark |= kExpanded;
    *row = entries_[next_++].mark >> 2;
    return true;
  }

  // Number of rows that are only traversed, not accepted.
  size_t rejected() const { return entries_.size() - accepted_; }
  // Maximum number of accepted rows.
  uint32_t ef() const { return ef_; }
  size_t size() const { return entries_.size(); }
  Neighbor operator[](size_t i) const { return {entries_[i].score, entries_[i].mark >> 2}; }

  // Copies the accepted rows, best first.
  void CopyAccepted(std::vector<Neighbor>* rows) const {
    rows->clear();
    for (const Entry& entry : entries_) {
      if ((entry.mark & kAccepted) != 0) rows->push_back({entry.score, entry.mark >> 2});
    }
  }

 private:
  static constexpr uint32_t kAccepted = 1;
  static constexpr uint32_t kExpanded = 2;
  struct Entry {
    int32_t score;
    uint32_t mark;  // row << 2, plus the two flags
  };

  // Returns the position after all entries with a score of at least `score`. The search direction is
  // unpredictable, so the loop is branch-free.
  size_t PositionOf(int32_t score) const {
    const Entry* low = entries_.data();
    size_t count = entries_.size();
    while (count > 0) {
      const size_t half = (count + 1) / 2;
      low += half & (0 - static_cast<size_t>(low[half - 1].score >= score));
      count -= half;
    }
    return static_cast<size_t>(low - entries_.data());
  }

  std::vector<Entry> entries_;
  uint32_t ef_ = 0;
  uint32_t accepted_ = 0;
  size_t next_ = 0;  // every entry before it was returned
  int32_t bound_ = 0;
};

}  // namespace quarry
