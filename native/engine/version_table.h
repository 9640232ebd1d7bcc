// Hash table from version to slot: four bytes per place, without allocations per entry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/block_array.h"
#include "engine/document_slot.h"
#include "engine/splitmix64.h"

namespace quarry {

// Slots keyed by their versions, which must not change while they are in the table. Not thread-safe.
class VersionTable {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  explicit VersionTable(const BlockArray<DocumentSlot>& documents) : documents_(documents) {}
  VersionTable(const VersionTable&) = delete;
  VersionTable& operator=(const VersionTable&) = delete;

  // Reserves space for `count` versions. If it throws std::bad_alloc, the table is unchanged.
  void Reserve(size_t count) {
    const size_t wanted = std::max(kPlacesMin, count + count / 3 + 1);
    if (wanted <= places_.size()) return;
    std::vector<uint32_t> former(std::max(wanted, places_.size() + places_.size() / 2), kNone);
    former.swap(places_);
    for (const uint32_t slot : former) {
      if (slot != kNone) places_[PlaceOf(documents_[slot].version)] = slot;
    }
  }

  // Returns kNone if the version is not in the table.
  uint32_t Find(uint64_t version) const { return places_.empty() ? kNone : places_[PlaceOf(version)]; }

  // Adds the slot and replaces an entry of the same version. Throws std::bad_alloc as Reserve does.
  void Set(uint32_t slot) {
    Reserve(count_ + 1);
    uint32_t& place = places_[PlaceOf(documents_[slot].version)];
    count_ += place == kNone ? 1 : 0;
    place = slot;
  }

  // Removes the version; an unknown version is ignored.
  void Erase(uint64_t version) {
    if (Find(version) == kNone) return;
    size_t hole = PlaceOf(version);
    for (size_t at = Next(hole); places_[at] != kNone; at = Next(at)) {
      // Move later entries into the gap, unless that would put them before their home place.
      if (Distance(Home(documents_[places_[at]].version), at) < Distance(hole, at)) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = kNone;
    count_--;
  }

  // Calls visit(slot) for all entries, in unspecified order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const uint32_t slot : places_) {
      if (slot != kNone) visit(slot);
    }
  }

  size_t size() const { return count_; }
  size_t Bytes() const { return places_.size() * sizeof(uint32_t); }

 private:
  static constexpr size_t kPlacesMin = 16;

  size_t Next(size_t place) const { return place + 1 == places_.size() ? 0 : place + 1; }
  // Returns the number of steps from one place to another.
  size_t Distance(size_t from, size_t to) const { return to >= from ? to - from : to + places_.size() - from; }
  // Maps hashes evenly to all places, for any table size.
  size_t Home(uint64_t version) const { return (Mix(version) >> 32) * places_.size() >> 32; }
  // Returns the place of the version, or the free place that it would take. At least one place in four is free.
  size_t PlaceOf(uint64_t version) const {
    size_t place = Home(version);
    while (places_[place] != kNone && documents_[places_[place]].version != version) place = Next(place);
    return place;
  }

  const BlockArray<DocumentSlot>& documents_;
  std::vector<uint32_t> places_;
  size_t count_ = 0;
};

}  // namespace quarry
