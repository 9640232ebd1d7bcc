// How many visible rows hold a word of a query: counted once, then brought up to date by what was committed since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/splitmix64.h"

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
  };
  struct HashOfKey {
    size_t operator()(const Key& key) const {
      uint64_t hash = 0;
      for (const uint64_t term : key) hash = Mix(hash ^ term);
      return hash;
    }
  };
  using Entries = std::unordered_map<Key, Entry, HashOfKey>;
  static constexpr size_t kEntriesMax = 4096;  // in each of recent_ and former_
  // Beyond them counting again is not much slower.
  static constexpr size_t kChangesMax = 1024;

  // Null when nothing is known.
  const Entry* Find(const Key& key);
  const Entry* Keep(const Key& key, Entry entry);

  std::mutex mutex_;            // innermost
  Entries recent_;              // guarded by mutex_
  Entries former_;              // guarded by mutex_; forgotten when recent_ is full and takes its place
  std::deque<Change> changes_;  // guarded by mutex_
  uint64_t complete_ = 0;       // guarded by mutex_; changes_ has every change after this epoch
};

}  // namespace quarry
