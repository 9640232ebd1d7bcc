#include "engine/attributes.h"

#include <algorithm>
#include <utility>

#include "engine/bytes.h"

namespace quarry {
namespace {
// Memory of one list entry, in bits.
constexpr size_t kBitsPerListEntry = 32;
// Cost of advancing from one value of a column to the next, in work units of CancellationChecker.
constexpr size_t kValueWork = 64;
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

void AttributeIndex::Collect(const FilterStep& step, uint32_t from, Bitset* matches,
                             CancellationChecker* checker) const {
  const auto found = columns_.find(step.attribute);
  if (found == columns_.end()) return;
  const Column& column = found->second;
  auto first = column.begin();
  auto last = column.end();
  const auto add = [&](const SlotSet& set) {
    if (!checker->MayContinue(kValueWork + set.Size())) return false;
    set.AddTo(from, matches);
    return true;
  };
  switch (step.op) {
    case FilterOperator::kAnd:
    case FilterOperator::kOr: return;
    case FilterOperator::kEqual:
    case FilterOperator::kNotEqual:
    case FilterOperator::kIn:
    case FilterOperator::kNotIn:
      for (const auto& value : step.values) {
        const auto entry = column.find(value);
        if (!(entry == column.end() ? checker->MayContinue(kValueWork) : add(entry->second))) return;
      }
      return;
    case FilterOperator::kExists:
    case FilterOperator::kNotExists: break;
    case FilterOperator::kGreater: first = column.upper_bound(step.values.front()); break;
    case FilterOperator::kGreaterOrEqual: first = column.lower_bound(step.values.front()); break;
    case FilterOperator::kLess: last = column.lower_bound(step.values.front()); break;
    case FilterOperator::kLessOrEqual: last = column.upper_bound(step.values.front()); break;
  }
  for (; first != last && add(first->second); ++first) {
  }
}

Bitset AttributeIndex::CompareLocked(const FilterStep& step, uint32_t from, uint32_t slots,
                                     CancellationChecker* checker) const {
  Bitset matches(slots - from);
  Collect(step, from, &matches, checker);
  const bool negated = step.op == FilterOperator::kNotEqual || step.op == FilterOperator::kNotIn ||
                       step.op == FilterOperator::kNotExists;
  if (negated) matches.Invert();
  return matches;
}

Bitset AttributeIndex::Compare(const FilterStep& step, uint32_t from, uint32_t slots,
                               CancellationChecker* checker) const {
  const ReaderLock lock(mutex_);
  return CompareLocked(step, from, slots, checker);
}

Bitset AttributeIndex::Evaluate(const FilterProgram& filter, uint32_t slots, CancellationChecker* checker) const {
  const ReaderLock lock(mutex_);
  std::vector<Bitset> stack;
  for (const FilterStep& step : filter.steps()) {
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
