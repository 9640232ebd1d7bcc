#include "engine/attributes.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "engine/bytes.h"
#include "engine/typed_values.h"

namespace quarry {
namespace {
// Memory of one list entry, in bits.
constexpr size_t kBitsPerListEntry = 32;
// Cost of advancing from one value of a column to the next, in work units of CancellationChecker.
constexpr size_t kValueWork = 64;

// Returns the operator that the step negates, or the operator itself.
FilterOperator PositiveOperator(FilterOperator op) {
  switch (op) {
    case FilterOperator::kNotEqual: return FilterOperator::kEqual;
    case FilterOperator::kNotIn: return FilterOperator::kIn;
    case FilterOperator::kNotExists: return FilterOperator::kExists;
    case FilterOperator::kNotGreater: return FilterOperator::kGreater;
    case FilterOperator::kNotGreaterOrEqual: return FilterOperator::kGreaterOrEqual;
    case FilterOperator::kNotLess: return FilterOperator::kLess;
    case FilterOperator::kNotLessOrEqual: return FilterOperator::kLessOrEqual;
    case FilterOperator::kNotInArea: return FilterOperator::kInArea;
    default: return op;
  }
}

bool IncludesLow(FilterOperator op) {
  return op == FilterOperator::kEqual || op == FilterOperator::kIn || op == FilterOperator::kGreaterOrEqual ||
         op == FilterOperator::kGreaterOrEqualAndLess || op == FilterOperator::kGreaterOrEqualAndLessOrEqual;
}

bool IncludesHigh(FilterOperator op) {
  return op == FilterOperator::kEqual || op == FilterOperator::kIn || op == FilterOperator::kLessOrEqual ||
         op == FilterOperator::kGreaterAndLessOrEqual || op == FilterOperator::kGreaterOrEqualAndLessOrEqual;
}
}  // namespace

Status ParseAttributes(const uint8_t* bytes, size_t length, Attributes* attributes) {
  const Status malformed(StatusCode::kInvalid, "malformed attributes");
  ByteReader reader(bytes, length);
  const auto count = reader.Read<uint32_t>();
  if (!reader.ok() || count > reader.remaining()) return malformed;
  attributes->clear();
  for (uint32_t i = 0; i < count; i++) {
    Attribute attribute;
    attribute.name = reader.ReadText();
    const auto values = reader.Read<uint32_t>();
    if (!reader.ok() || values > reader.remaining()) return malformed;
    for (uint32_t v = 0; v < values; v++) attribute.values.emplace_back(reader.ReadText());
    if (!reader.ok()) return malformed;
    attributes->push_back(std::move(attribute));
  }
  return reader.remaining() == 0 ? Status() : malformed;
}

void SlotSet::Add(uint32_t slot) {
  if (bits_.empty()) {
    if (!list_.empty() && list_.back() == slot) return;
    list_.push_back(slot);
    // Small sets stay lists: conversion to bits saves memory only from 16 entries on.
    if (list_.size() < 16 || list_.size() * kBitsPerListEntry < slot + size_t{1}) return;
    std::vector<uint64_t> bits((size_t{slot} + 64) / 64);
    for (const uint32_t member : list_) bits[member >> 6] |= uint64_t{1} << (member & 63);
    bits_ = std::move(bits);
    list_ = {};
    return;
  }
  if (slot / 64 >= bits_.size()) bits_.resize(slot / 64 + 1);
  bits_[slot >> 6] |= uint64_t{1} << (slot & 63);
}

void SlotSet::AddTo(uint32_t from, Bitset* target) const {
  for (auto slot = std::lower_bound(list_.begin(), list_.end(), from); slot != list_.end(); ++slot) {
    if (*slot - from >= target->size()) break;
    target->Add(*slot - from);
  }
  if (!bits_.empty()) target->OrWords(bits_, from / 64);
}

uint64_t SlotSet::CountIn(const Bitset& slots) const {
  uint64_t count = 0;
  for (const uint32_t slot : list_) count += slots.Has(slot) ? 1 : 0;
  for (size_t w = 0; w < bits_.size(); w++) count += static_cast<uint64_t>(std::popcount(bits_[w] & slots.Word(w)));
  return count;
}

void AttributeIndex::Add(uint32_t slot, const Attributes& attributes) {
  const WriterLock lock(mutex_);
  for (const auto& attribute : attributes) {
    for (const auto& value : attribute.values) AddSlot(slot, &SetOf(attribute.name, value));
  }
}

void AttributeIndex::AddValue(uint32_t slot, std::string_view name, std::string_view value) {
  const WriterLock lock(mutex_);
  AddSlot(slot, &SetOf(name, value));
}

void AttributeIndex::AddValue(const std::vector<uint32_t>& slots, std::string_view name, std::string_view value) {
  const WriterLock lock(mutex_);
  SlotSet& set = SetOf(name, value);
  for (const uint32_t slot : slots) AddSlot(slot, &set);
}

void AttributeIndex::AddSlot(uint32_t slot, SlotSet* set) {
  const size_t before = set->Bytes();
  set->Add(slot);
  // Unsigned: a set that became a bitmap may take less.
  bytes_.fetch_add(set->Bytes() - before, std::memory_order_relaxed);
}

SlotSet& AttributeIndex::SetOf(std::string_view name, std::string_view value) {
  auto column = columns_.find(name);
  if (column == columns_.end()) {
    column = columns_.emplace(std::string(name), Column()).first;
    bytes_.fetch_add(name.size() + kNodeBytes, std::memory_order_relaxed);
  }
  auto entry = column->second.find(value);
  if (entry == column->second.end()) {
    entry = column->second.emplace(std::string(value), SlotSet()).first;
    bytes_.fetch_add(value.size() + kNodeBytes, std::memory_order_relaxed);
  }
  return entry->second;
}

template <class Accepts>
void AttributeIndex::CollectRange(Column::const_iterator first, Column::const_iterator last, uint32_t from,
                                  Bitset* matches, CancellationChecker* checker, const Accepts& accepts) {
  for (; first != last; ++first) {
    const bool accepted = accepts(first->first);
    if (!checker->MayContinue(kValueWork + (accepted ? first->second.Size() : 0))) return;
    if (accepted) first->second.AddTo(from, matches);
  }
}

void AttributeIndex::CollectDates(const Column& column, const ValueBounds& bounds, uint32_t from, Bitset* matches,
                                  CancellationChecker* checker) {
  const std::string* const low = bounds.low;
  const std::string* const high = bounds.high;
  // Dates start with a local day, which differs by at most one from that in UTC.
  const auto first = low == nullptr ? column.begin() : column.lower_bound(FirstDay(*low));
  const auto last =
      column.lower_bound(high == nullptr ? std::string(EndOfType(ValueType::kString))
                                         : std::string(LastDay(*high)).append(EndOfType(ValueType::kString)));
  const Instant start = low == nullptr ? Instant() : ToInstant(*low);
  const Instant end = high == nullptr ? Instant() : ToInstant(*high);
  CollectRange(first, last, from, matches, checker, [&](const std::string& value) {
    const std::optional<Instant> instant = ParseDate(value);
    if (!instant.has_value()) return false;
    const bool isAbove = low == nullptr || *instant > start || (bounds.includesLow && *instant == start);
    return isAbove && (high == nullptr || *instant < end || (bounds.includesHigh && *instant == end));
  });
}

void AttributeIndex::CollectBounded(const Column& column, const ValueBounds& bounds, uint32_t from, Bitset* matches,
                                    CancellationChecker* checker) {
  const std::string* const low = bounds.low;
  const std::string* const high = bounds.high;
  // The iterators of an empty range would be in the wrong order.
  if (low != nullptr && high != nullptr &&
      (*low > *high || (*low == *high && !(bounds.includesLow && bounds.includesHigh)))) {
    return;
  }
  const ValueType type = TypeOf(low != nullptr ? *low : *high);
  if (type == ValueType::kInstant) {
    CollectDates(column, bounds, from, matches, checker);
    return;
  }
  // Values of other types do not match.
  auto first = column.lower_bound(StartOfType(type));
  auto last = column.lower_bound(EndOfType(type));
  if (low != nullptr) first = bounds.includesLow ? column.lower_bound(*low) : column.upper_bound(*low);
  if (high != nullptr) last = bounds.includesHigh ? column.upper_bound(*high) : column.lower_bound(*high);
  CollectRange(first, last, from, matches, checker, [](const std::string&) { return true; });
}

void AttributeIndex::CollectArea(const Column& column, const std::string& area, uint32_t from, Bitset* matches,
                                 CancellationChecker* checker) {
  const std::string south = SouthOf(area);
  const std::string north = NorthOf(area);
  if (south > north) return;
  // The texts after the northern latitude with any longitude start with a type above that of points, or a byte more.
  const auto last = column.upper_bound(north + std::string(kGeoPointBytes - kLatitudeKeyBytes, '\xff'));
  CollectRange(column.lower_bound(south), last, from, matches, checker,
               [&](const std::string& point) { return IsInArea(point, area); });
}

void AttributeIndex::Collect(const FilterStep& step, uint32_t from, Bitset* matches,
                             CancellationChecker* checker) const {
  const auto found = columns_.find(step.attribute);
  if (found == columns_.end()) return;
  const Column& column = found->second;
  const FilterOperator op = PositiveOperator(step.op);
  const auto collectBounded = [&](const std::string* low, const std::string* high) {
    CollectBounded(column, {low, high, IncludesLow(op), IncludesHigh(op)}, from, matches, checker);
  };
  switch (op) {
    case FilterOperator::kEqual:
    case FilterOperator::kIn:
      for (const auto& value : step.values) {
        if (TypeOf(value) == ValueType::kInstant) {
          collectBounded(&value, &value);
          if (!checker->status().ok()) return;
          continue;
        }
        const auto entry = column.find(value);
        if (!checker->MayContinue(kValueWork + (entry == column.end() ? 0 : entry->second.Size()))) return;
        if (entry != column.end()) entry->second.AddTo(from, matches);
      }
      return;
    case FilterOperator::kInArea: CollectArea(column, step.values.front(), from, matches, checker); return;
    case FilterOperator::kExists:
      CollectRange(column.begin(), column.end(), from, matches, checker, [](const std::string&) { return true; });
      return;
    case FilterOperator::kGreater:
    case FilterOperator::kGreaterOrEqual: collectBounded(&step.values.front(), nullptr); return;
    case FilterOperator::kLess:
    case FilterOperator::kLessOrEqual: collectBounded(nullptr, &step.values.front()); return;
    case FilterOperator::kGreaterAndLess:
    case FilterOperator::kGreaterAndLessOrEqual:
    case FilterOperator::kGreaterOrEqualAndLess:
    case FilterOperator::kGreaterOrEqualAndLessOrEqual:
      collectBounded(&step.values.front(), &step.values.back());
      return;
    default: return;
  }
}

Bitset AttributeIndex::CompareLocked(const FilterStep& step, uint32_t from, uint32_t slots,
                                     CancellationChecker* checker) const {
  Bitset matches(slots - from);
  Collect(step, from, &matches, checker);
  if (PositiveOperator(step.op) != step.op) matches.Invert();
  return matches;
}

Bitset AttributeIndex::Compare(const FilterStep& step, uint32_t from, uint32_t slots,
                               CancellationChecker* checker) const {
  const ReaderLock lock(mutex_);
  return CompareLocked(step, from, slots, checker);
}

Bitset AttributeIndex::Evaluate(const FilterProgram& filter, uint32_t slots, const VersionLookup& slotsOf,
                                CancellationChecker* checker) const {
  const ReaderLock lock(mutex_);
  std::vector<Bitset> stack;
  for (const FilterStep& step : filter.steps()) {
    if (step.HasVersions()) {
      Bitset matches(slots);
      for (const uint32_t slot : slotsOf(step.versions)) {
        if (slot < slots) matches.Add(slot);
      }
      if (step.op == FilterOperator::kVersionNotIn) matches.Invert();
      stack.push_back(std::move(matches));
      continue;
    }
    if (step.op != FilterOperator::kAnd && step.op != FilterOperator::kOr) {
      if (!checker->MayContinue(slots / 64)) return {};
      stack.push_back(CompareLocked(step, 0, slots, checker));
      continue;
    }
    Bitset result(slots);
    if (step.op == FilterOperator::kAnd) result.Invert();
    for (uint32_t i = 0; i < step.arity; i++) {
      if (!checker->MayContinue(slots / 64)) return {};
      if (step.op == FilterOperator::kAnd) {
        result.And(stack.back());
      } else {
        result.Or(stack.back());
      }
      stack.pop_back();
    }
    stack.push_back(std::move(result));
  }
  return std::move(stack.back());
}

}  // namespace quarry
