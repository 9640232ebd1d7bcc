// Which rows of a shard a filter matches, remembered from one search to the next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "engine/bitset.h"
#include "engine/filter.h"
#include "engine/patience.h"
#include "engine/status.h"

namespace quarry {

class Graph;
class Shard;

// Rows that a filter matches, visible or not. Once made they do not change; any thread.
struct MatchingRows {
  Bitset rows;
  uint64_t count = 0;  // of them

  // What Graph::Scattered says of them; false while it cannot say. Judged when it is first asked for.
  bool Scattered(const Graph& graph) const;

 private:
  enum class Judged : uint8_t { kNot, kScattered, kGathered };
  mutable std::atomic<Judged> judged_{Judged::kNot};
};

// Remembers the rows of single comparisons, which searches combine. A document's attributes never change and its rows
// are only ever appended, so what is remembered stays true; what was appended since is added when it is asked for
// again. Whether a row is visible is not remembered. At most kComparisonsMax comparisons are kept, the latest used: 8
// bytes for every row of the shard. Any thread.
class FilterRows {
 public:
  static constexpr size_t kComparisonsMax = 64;
  // Longer comparisons, such as lists of a thousand values, are evaluated each time.
  static constexpr size_t kKeyBytesMax = 1024;

  // Covers at least the documents whose filling was finished before the call. Comparisons that were finished before
  // the patience ended are remembered.
  Status Find(const Shard& shard, const FilterProgram& filter, const Patience& patience,
              std::shared_ptr<const MatchingRows>* matching);

  // What Find will have to do: rows that match, at most, and rows that have to be looked at because what they match is
  // not remembered, those of each comparison. Of filters with more comparisons than are remembered, the most.
  struct Expected {
    uint64_t matching;
    uint64_t unseen;
  };
  Expected Expect(const Shard& shard, const FilterProgram& filter) const;

  size_t Bytes() const;

 private:
  using Rows = std::shared_ptr<const MatchingRows>;
  struct Remembered {
    Rows rows;
    uint32_t slots = 0;    // covered
    uint64_t lastUse = 0;  // larger is later
  };

  // Null when the pace says stop.
  Rows Compare(const Shard& shard, const FilterStep& step, uint32_t slots, Pace* pace);
  Remembered Recall(const std::string& key);
  void Remember(const std::string& key, const Rows& rows, uint32_t slots);

  mutable std::mutex mutex_;
  uint64_t uses_ = 0;                                       // guarded by mutex_
  std::unordered_map<std::string, Remembered> remembered_;  // guarded by mutex_
};

}  // namespace quarry
