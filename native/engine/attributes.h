// Which documents carry which attribute value: the sorted value dictionaries that filters are evaluated on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/bitset.h"
#include "engine/filter.h"
#include "engine/patience.h"
#include "engine/status.h"

namespace quarry {

// One document's attributes: each name once, with one value (a string) or any number (a list).
struct Attribute {
  std::string name;
  std::vector<std::string> values;
};
using Attributes = std::vector<Attribute>;

// u32 count; then each attribute: name, u32 value count, values; each text a u32 length and its UTF-8 bytes.
Status ParseAttributes(const uint8_t* bytes, size_t length, Attributes* attributes);

// A set of document slots that only grows: a sorted list while it is sparse, bits once the list would be larger.
// Nothing ever has to invalidate it.
class SlotSet {
 public:
  // `slot` is not below any slot added before.
  void Add(uint32_t slot);
  // Adds every member in [from, from + target->size()) to `target`, less `from`, which is a multiple of 64.
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
  // What AddTo has to go through, at most.
  size_t Size() const { return list_.size() + bits_.size(); }
  size_t Bytes() const { return list_.capacity() * sizeof(uint32_t) + bits_.capacity() * sizeof(uint64_t); }

 private:
  std::vector<uint32_t> list_;  // empty once bits_ is used
  std::vector<uint64_t> bits_;
};

class AttributeIndex {
 public:
  // Slots arrive in ascending order. Takes the lock for writing, for one document at a time.
  void Add(uint32_t slot, const Attributes& attributes);
  void AddValue(uint32_t slot, std::string_view name, std::string_view value);
  void AddValue(const std::vector<uint32_t>& slots, std::string_view name, std::string_view value);

  // The slots in [from, slots) that match the comparison or membership, less `from`, which is a multiple of 64. When
  // the pace says stop, some of them.
  Bitset Compare(const FilterStep& step, uint32_t from, uint32_t slots, Pace* pace) const;
  // The slots in [0, slots) that match. When the pace says stop, some of them.
  Bitset Evaluate(const FilterProgram& filter, uint32_t slots, Pace* pace) const;

  // Calls visit(name, value, set) for every pair, in byte order of name, then value; holds the lock for reading.
  template <class Visit>
  void ForEach(Visit visit) const {
    const std::shared_lock lock(mutex_);
    for (const auto& [name, column] : columns_) {
      for (const auto& [value, set] : column) visit(name, value, set);
    }
  }

  size_t Bytes() const;

 private:
  // std::string compares as unsigned bytes, which is the order that filters promise.
  using Column = std::map<std::string, SlotSet, std::less<>>;

  // The set of the pair, which is made when there is none. Holds mutex_ for writing.
  SlotSet& SetOf(std::string_view name, std::string_view value);
  // Compare, holding mutex_ for reading.
  Bitset CompareLocked(const FilterStep& step, uint32_t from, uint32_t slots, Pace* pace) const;
  // Adds the slots of `step`, taken without its negation, to `matches`. Holds mutex_ for reading.
  void Collect(const FilterStep& step, uint32_t from, Bitset* matches, Pace* pace) const;

  mutable std::shared_mutex mutex_;
  std::map<std::string, Column, std::less<>> columns_;  // guarded by mutex_
};

}  // namespace quarry
