// Cache of the rows of a shard that filters match, shared between searches.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/bitset.h"
#include "engine/cancellation.h"
#include "engine/filter.h"
#include "engine/mutex.h"
#include "engine/status.h"

namespace quarry {

class Graph;
class Shard;

// Rows that a filter matches, visible or not. Immutable once published; thread-safe.
struct MatchingRows {
  Bitset rows;
  uint64_t count = 0;  // number of matching rows

  // Result of Graph::IsUncorrelated for these rows, computed on first use and cached. False while it is unknown.
  bool IsUncorrelated(const Graph& graph) const;

 private:
  enum class Correlation : uint8_t { kUnknown, kUncorrelated, kCorrelated };
  mutable std::atomic<Correlation> correlation_{Correlation::kUnknown};
};

// Caches the rows of single comparisons, which searches combine. A document's attributes never change and
// rows are only appended, so cached entries stay valid; newly appended rows are added on the next lookup.
// Visibility of rows is not cached. Keeps the kComparisonsMax most recently used comparisons: at most 8 bytes
// for every row of the shard. Thread-safe.
class FilterCache {
 public:
  static constexpr size_t kComparisonsMax = 64;
  // Comparisons with longer keys, such as lists of a thousand values, are not cached.
  static constexpr size_t kKeyBytesMax = 1024;

  // Covers at least the documents that were completely filled in before the call. Comparisons finished before
  // `cancellation` ends are cached, even if the call fails.
  Status Find(const Shard& shard, const FilterProgram& filter, const CancellationToken& cancellation,
              std::shared_ptr<const MatchingRows>* matching);

  // Estimated work of Find: upper bound on the rows that match, and the number of rows to evaluate because they are
  // not cached, summed over all comparisons. For filters with more than kComparisonsMax comparisons, the maximum.
  struct CostEstimate {
    uint64_t matching;
    uint64_t uncached;
  };
  CostEstimate EstimateCost(const Shard& shard, const FilterProgram& filter) const;

  size_t Bytes() const;

 private:
  using Rows = std::shared_ptr<const MatchingRows>;
  struct CacheEntry {
    Rows rows;
    uint32_t slots = 0;    // number of slots covered
    uint64_t lastUse = 0;  // larger is more recent
  };

  // Returns the rows of the versions of a step, or the others. Not cached, because they are found by a table, and a
  // version that is staged later would be missing.
  static Rows SelectVersions(const Shard& shard, const FilterStep& step, uint32_t slots);
  // Returns null if `checker` stops the work.
  Rows Compare(const Shard& shard, const FilterStep& step, uint32_t slots, CancellationChecker* checker);
  CacheEntry Lookup(const std::string& key);
  void Insert(const std::string& key, const Rows& rows, uint32_t slots);

  mutable Mutex mutex_;
  uint64_t uses_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, CacheEntry> entries_ GUARDED_BY(mutex_);
};

}  // namespace quarry
