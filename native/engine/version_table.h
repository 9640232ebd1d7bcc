// Hash table from version to slot: four bytes per bucket, without allocations per entry.
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
    const size_t capacity = std::max(kBucketsMin, count + count / 3 + 1);
    if (capacity <= buckets_.size()) return;
    std::vector<uint32_t> previous(std::max(capacity, buckets_.size() + buckets_.size() / 2), kNone);
    previous.swap(buckets_);
    for (const uint32_t slot : previous) {
      if (slot != kNone) buckets_[BucketOf(documents_[slot].version)] = slot;
    }
  }

  // Returns kNone if the version is not in the table.
  uint32_t Find(uint64_t version) const { return buckets_.empty() ? kNone : buckets_[BucketOf(version)]; }

  // Adds the slot and replaces an entry of the same version. Throws std::bad_alloc as Reserve does.
  void Set(uint32_t slot) {
    Reserve(count_ + 1);
    uint32_t& bucket = buckets_[BucketOf(documents_[slot].version)];
    count_ += bucket == kNone ? 1 : 0;
    bucket = slot;
  }

  // Removes the version; an unknown version is ignored.
  void Erase(uint64_t version) {
    if (Find(version) == kNone) return;
    size_t hole = BucketOf(version);
    for (size_t at = Next(hole); buckets_[at] != kNone; at = Next(at)) {
      // Move later entries into the gap, unless that would put them before their home bucket.
      if (Distance(HomeBucket(documents_[buckets_[at]].version), at) < Distance(hole, at)) continue;
      buckets_[hole] = buckets_[at];
      hole = at;
    }
    buckets_[hole] = kNone;
    count_--;
  }

  // Calls visit(slot) for all entries, in unspecified order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const uint32_t slot : buckets_) {
      if (slot != kNone) visit(slot);
    }
  }

  size_t size() const { return count_; }
  size_t Bytes() const { return buckets_.size() * sizeof(uint32_t); }

 private:
  static constexpr size_t kBucketsMin = 16;

  size_t Next(size_t bucket) const { return bucket + 1 == buckets_.size() ? 0 : bucket + 1; }
  // Returns the number of steps from one bucket to another.
  size_t Distance(size_t from, size_t to) const { return to >= from ? to - from : to + buckets_.size() - from; }
  // Maps hashes evenly to all buckets, for any table size.
  size_t HomeBucket(uint64_t version) const { return (SplitMix64(version) >> 32) * buckets_.size() >> 32; }
  // Returns the bucket of the version, or the free bucket where it would be inserted. At least one bucket in four is free.
  size_t BucketOf(uint64_t version) const {
    size_t bucket = HomeBucket(version);
    while (buckets_[bucket] != kNone && documents_[buckets_[bucket]].version != version) bucket = Next(bucket);
    return bucket;
  }

  const BlockArray<DocumentSlot>& documents_;
  std::vector<uint32_t> buckets_;
  size_t count_ = 0;
};

}  // namespace quarry
