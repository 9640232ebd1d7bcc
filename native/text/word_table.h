// The short ASCII words of a vocabulary, found by one probe instead of a walk through the trie of pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace quarry::text {

// Up to 16 ASCII characters, the first in the lowest byte of `low`, padded with zeros.
struct ShortWord {
  static constexpr size_t kUnitsMax = 16;

  uint64_t low = 0;
  uint64_t high = 0;

  bool operator==(const ShortWord&) const = default;
};

// Hash table with open addressing. Immutable once built.
class WordTable {
 public:
  // Adds a piece that is a whole word. Pieces that are longer than a short word, or have characters other than
  // a to z and digits, are ignored.
  void Add(std::u32string_view piece, int32_t id);

  // Returns -1 if the word is not a piece.
  int32_t Find(const ShortWord& word) const {
    if (slots_.empty()) return -1;
    for (size_t slot = Hash(word) & mask_;; slot = (slot + 1) & mask_) {
      if (slots_[slot].word == word) return slots_[slot].id;
      if (slots_[slot].word.low == 0) return -1;
    }
  }

 private:
  struct Slot {
    ShortWord word;  // empty: the slot is free
    int32_t id = -1;
  };

  static size_t Hash(const ShortWord& word) {
    const uint64_t mixed = (word.low ^ word.high * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
    return static_cast<size_t>(mixed >> 32);
  }
  void Insert(const Slot& slot);

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t used_ = 0;
};

}  // namespace quarry::text
