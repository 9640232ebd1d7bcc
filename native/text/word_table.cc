#include "text/word_table.h"

#include <algorithm>

namespace quarry::text {

void WordTable::Add(std::u32string_view piece, int32_t id) {
  const auto isWordPart = [](char32_t c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (piece.empty() || piece.size() > ShortWord::kUnitsMax || !std::all_of(piece.begin(), piece.end(), isWordPart)) {
    return;
  }
  // At most half of the slots are used.
  if (2 * (used_ + 1) > slots_.size()) {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max<size_t>(64, 2 * old.size()), {});
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.word.low != 0) Insert(slot);
    }
  }
  Slot slot{{}, id};
  for (size_t i = 0; i < piece.size(); ++i) {
    uint64_t& half = i < 8 ? slot.word.low : slot.word.high;
    half |= static_cast<uint64_t>(piece[i]) << (8 * (i % 8));
  }
  Insert(slot);
  ++used_;
}

void WordTable::Insert(const Slot& slot) {
  size_t at = Hash(slot.word) & mask_;
  while (slots_[at].word.low != 0) at = (at + 1) & mask_;
  slots_[at] = slot;
}

}  // namespace quarry::text
