// How many visible rows hold a word of a query: counted once, then brought up to date by what was committed since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace quarry {

// Remembers counts of one shard with the epoch they are exact for. Any thread, any time.
class RowCounts {
 public:
  // A document that became visible with `epoch`, or ceased to be.
  struct Change {
    uint64_t epoch;
    uint32_t firstRow;
    uint32_t rowCount;
    bool added;
  };
  // Takes note of a change. Epochs do not descend.
  void Note(const Change& change);
  // The shard has taken over another's state of `epoch`: what is known is not about this one.
  void Restart(uint64_t epoch);

  // Terms of which a row counts once, ascending.
  using Key = std::vector<uint64_t>;
  struct Known {
    uint64_t count = 0;
    // What to add to and take from the count, by first row; of a moment before the one that was counted, the reverse
    // of what happened.
    std::vector<Change> since;
  };
  // False when the rows have to be counted.
  bool Recall(const Key& key, uint64_t epoch, Known* known);
  void Remember(const Key& key, uint64_t epoch, uint64_t count);

 private:
  struct Entry {
    uint64_t epoch;
    uint64_t count;
    uint64_t used;  // by clock_
  };
  static constexpr size_t kEntriesMax = 1024;
  // Beyond them counting again is not much slower.
  static constexpr size_t kChangesMax = 1024;

  std::mutex mutex_;              // innermost
  std::map<Key, Entry> entries_;  // guarded by mutex_
  std::deque<Change> changes_;    // guarded by mutex_
  uint64_t complete_ = 0;         // guarded by mutex_; changes_ has every change after this epoch
  uint64_t clock_ = 0;            // guarded by mutex_
};

}  // namespace quarry
