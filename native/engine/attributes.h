// Index from attribute values to documents: the sorted value dictionaries on which filters are evaluated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/bitset.h"
#include "engine/cancellation.h"
#include "engine/filter.h"
#include "engine/mutex.h"
#include "engine/status.h"

namespace quarry {

// Attributes of one document. Each name occurs once, with one value (a string, or a typed value of typed_values.h) or any
// number of values (a list).
struct Attribute {
  std::string name;
  std::vector<std::string> values;
};
using Attributes = std::vector<Attribute>;

// Parses u32 count, then for each attribute: name, u32 value count, values. Each text is a u32 length
// followed by its bytes: UTF-8, or a typed value. Returns kInvalid if the bytes are malformed.
Status ParseAttributes(const uint8_t* bytes, size_t length, Attributes* attributes);

// Append-only set of document slots: a sorted list while sparse, a bitmap once the list would be larger. It
// never needs invalidation.
class SlotSet {
 public:
  // `slot` must not be below any slot added before.
  void Add(uint32_t slot);
  // For every member in [from, from + target->size()), adds `member - from` to `target`. `from` must be a
  // multiple of 64.
  void AddTo(uint32_t from, Bitset* target) const;
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const uint32_t slot : list_) visit(slot);
    for (size_t w = 0; w < bits_.size(); w++) {
      for (uint64_t word = bits_[w]; word != 0; word &= word - 1) {
        visit(static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word))));
      }
    }
  }
  // Returns the number of members that are in `slots` as well.
  uint64_t CountIn(const Bitset& slots) const;
  // Upper bound on the list entries and words that AddTo scans.
  size_t Size() const { return list_.size() + bits_.size(); }
  size_t Bytes() const { return list_.capacity() * sizeof(uint32_t) + bits_.capacity() * sizeof(uint64_t); }

 private:
  std::vector<uint32_t> list_;  // empty once bits_ is used
  std::vector<uint64_t> bits_;
};

class AttributeIndex {
 public:
  // Slots must arrive in ascending order. Takes the write lock once per document.
  void Add(uint32_t slot, const Attributes& attributes);
  void AddValue(uint32_t slot, std::string_view name, std::string_view value);
  void AddValue(const std::vector<uint32_t>& slots, std::string_view name, std::string_view value);

  // Returns the slots in [from, slots) that match the comparison or membership, each minus `from`, which must
  // be a multiple of 64. If `checker` stops the work, the result is partial.
  Bitset Compare(const FilterStep& step, uint32_t from, uint32_t slots, CancellationChecker* checker) const;
  // Returns the slots of documents by their versions.
  using VersionLookup = std::function<std::vector<uint32_t>(const std::vector<uint64_t>& versions)>;

  // Returns the slots in [0, slots) that match. If `checker` stops the work, the result is partial.
  Bitset Evaluate(const FilterProgram& filter, uint32_t slots, const VersionLookup& slotsOf,
                  CancellationChecker* checker) const;

  // Calls visit(name, value, set) for every pair, in byte order of name, then value. Holds the read lock.
  template <class Visit>
  void ForEach(Visit visit) const {
    const ReaderLock lock(mutex_);
    for (const auto& [name, column] : columns_) {
      for (const auto& [value, set] : column) visit(name, value, set);
    }
  }

  // Calls visit(value, set) for the values of one attribute in [from, to), until it returns false. Holds the read lock;
  // the value exists as long as the index.
  template <class Visit>
  void ForEachValue(std::string_view name, std::string_view from, std::string_view to, Visit visit) const {
    const ReaderLock lock(mutex_);
    const auto column = columns_.find(name);
    if (column == columns_.end() || to <= from) return;
    const auto last = column->second.lower_bound(to);
    for (auto entry = column->second.lower_bound(from); entry != last; ++entry) {
      if (!visit(entry->first, entry->second)) return;
    }
  }

  // Estimated memory. Constant time and without a lock, because the main thread of the server calls it.
  size_t Bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // Estimated bytes that a node of the ordered map takes in addition to its text.
  static constexpr size_t kNodeBytes = 96;

 private:
  // std::string compares as unsigned bytes, which is the documented order of filters.
  using Column = std::map<std::string, SlotSet, std::less<>>;

  // Returns the set of the pair and creates it if missing.
  SlotSet& SetOf(std::string_view name, std::string_view value) REQUIRES(mutex_);
  void AddSlot(uint32_t slot, SlotSet* set) REQUIRES(mutex_);
  // Same as Compare, under the lock.
  Bitset CompareLocked(const FilterStep& step, uint32_t from, uint32_t slots, CancellationChecker* checker) const
      REQUIRES_SHARED(mutex_);
  // Adds the slots of values in [first, last) for which `accepts` is true.
  template <class Accepts>
  static void CollectRange(Column::const_iterator first, Column::const_iterator last, uint32_t from, Bitset* matches,
                           CancellationChecker* checker, const Accepts& accepts);
  // Bounds of a range, of one type. A missing bound is null; at least one is present.
  struct ValueBounds {
    const std::string* low;
    const std::string* high;
    bool includesLow;
    bool includesHigh;
  };
  // Same as Collect, for values within bounds, for instants within bounds, and for points in an area.
  static void CollectBounded(const Column& column, const ValueBounds& bounds, uint32_t from, Bitset* matches,
                             CancellationChecker* checker);
  static void CollectDates(const Column& column, const ValueBounds& bounds, uint32_t from, Bitset* matches,
                           CancellationChecker* checker);
  static void CollectArea(const Column& column, const std::string& area, uint32_t from, Bitset* matches,
                          CancellationChecker* checker);
  // Adds the slots that match `step`, ignoring its negation, to `matches`.
  void Collect(const FilterStep& step, uint32_t from, Bitset* matches, CancellationChecker* checker) const
      REQUIRES_SHARED(mutex_);

  mutable SharedMutex mutex_;
  std::map<std::string, Column, std::less<>> columns_ GUARDED_BY(mutex_);
  std::atomic<size_t> bytes_ = 0;
};

}  // namespace quarry
