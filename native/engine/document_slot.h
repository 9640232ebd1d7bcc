// State of one document version in a shard.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace quarry {

inline constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// Visibility of a version. `birth` is the epoch of the commit that made it visible, `death` that of the
// commit that removed it: a search at epoch E sees it if birth <= E < death.
struct Life {
  uint64_t birth;
  uint64_t death;
};

// The life of a version in one word, so that readers never see a partial change. A live version stores its
// birth epoch; a deleted version stores the index of its tombstone, which holds both epochs. Most versions
// need no tombstone.
class LifeWord {
 public:
  // For a version that is staged or visible.
  static constexpr uint64_t Alive(uint64_t birth) { return birth == kNever ? kUnborn : birth; }
  static constexpr uint64_t Dead(uint64_t grave) { return kDead | grave; }
  static constexpr bool IsDead(uint64_t word) { return (word & kDead) != 0; }
  static constexpr uint64_t Birth(uint64_t word) { return word == kUnborn ? kNever : word; }
  static constexpr uint64_t Grave(uint64_t word) { return word & ~kDead; }

 private:
  static constexpr uint64_t kDead = uint64_t{1} << 63;
  static constexpr uint64_t kUnborn = kDead - 1;
};

struct DocumentSlot {
  std::atomic<uint64_t> life;  // a LifeWord
  uint64_t version;
  uint32_t firstRow;  // the rows of a document are consecutive
  uint32_t rowCount;
};

}  // namespace quarry
