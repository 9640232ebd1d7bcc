// State of one document version in a shard.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace quarry {

inline constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// Visibility of a version. `createdAt` is the epoch of the commit that made it visible, `deletedAt` that of the
// commit that removed it: a search at epoch E sees it if createdAt <= E < deletedAt.
struct Lifetime {
  uint64_t createdAt;
  uint64_t deletedAt;
};

// The lifetime of a version in one word, so that readers never see a partial change. A live version stores its
// createdAt epoch; a deleted version stores the index of its tombstone, which holds both epochs. Most versions
// need no tombstone.
class LifetimeWord {
 public:
  // For a version that is staged or visible.
  static constexpr uint64_t Live(uint64_t createdAt) { return createdAt == kNever ? kStaged : createdAt; }
  static constexpr uint64_t Deleted(uint64_t tombstone) { return kDeletedBit | tombstone; }
  static constexpr bool IsDeleted(uint64_t word) { return (word & kDeletedBit) != 0; }
  static constexpr uint64_t CreatedAt(uint64_t word) { return word == kStaged ? kNever : word; }
  static constexpr uint64_t Tombstone(uint64_t word) { return word & ~kDeletedBit; }

 private:
  static constexpr uint64_t kDeletedBit = uint64_t{1} << 63;
  static constexpr uint64_t kStaged = kDeletedBit - 1;
};

struct DocumentSlot {
  std::atomic<uint64_t> lifetime;  // a LifetimeWord
  uint64_t version;
  uint32_t firstRow;  // the rows of a document are consecutive
  uint32_t rowCount;
};

}  // namespace quarry
