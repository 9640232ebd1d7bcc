// Cache of the number of visible rows that contain a word: counted once, then updated from later commits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/mutex.h"
#include "engine/splitmix64.h"

namespace quarry {

// Caches counts of one shard with the epoch at which they are exact. Thread-safe.
class RowCountCache {
 public:
  // A document that became visible at `epoch`, or was removed.
  struct Change {
    uint64_t epoch;
    uint32_t firstRow;
    uint32_t rowCount;
    bool added;
  };
  // Records a change. Epochs must not descend.
  void AddChange(const Change& change);
  // Drops all entries: the shard has adopted the state of another shard as of `epoch`.
  void Reset(uint64_t epoch);

  // Hashes of terms of which any makes a row count, ascending.
  using Key = std::vector<uint64_t>;
  struct CachedCount {
    uint64_t count = 0;
    // Changes to apply to the count, ordered by first row. For an epoch before the counted one, the changes
    // are inverted.
    std::vector<Change> since;
  };
  // Returns false if the rows must be counted.
  bool Lookup(const Key& key, uint64_t epoch, CachedCount* cached);
  void Insert(const Key& key, uint64_t epoch, uint64_t count);

 private:
  struct Entry {
    uint64_t epoch;
    uint64_t count;
  };
  struct HashOfKey {
    size_t operator()(const Key& key) const {
      uint64_t hash = 0;
      for (const uint64_t term : key) hash = SplitMix64(hash ^ term);
      return hash;
    }
  };
  using Entries = std::unordered_map<Key, Entry, HashOfKey>;
  static constexpr size_t kEntriesMax = 4096;  // in each of recent_ and previous_
  // With more changes, counting again is not much slower.
  static constexpr size_t kChangesMax = 1024;

  // Returns null if there is no entry.
  const Entry* Find(const Key& key) REQUIRES(mutex_);
  const Entry* Promote(const Key& key, Entry entry) REQUIRES(mutex_);

  Mutex mutex_;  // innermost
  Entries recent_ GUARDED_BY(mutex_);
  Entries previous_ GUARDED_BY(mutex_);  // dropped when recent_ is full and replaces it
  std::deque<Change> changes_ GUARDED_BY(mutex_);
  uint64_t changesSince_ GUARDED_BY(mutex_) = 0;  // changes_ has every change after this epoch
};

}  // namespace quarry
