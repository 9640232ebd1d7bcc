// Set of small numbers, one bit each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry {

class Bitset {
 public:
  Bitset() = default;
  explicit Bitset(size_t size) : size_(size), words_((size + 63) / 64) {}

  size_t size() const { return size_; }

  bool Has(size_t i) const { return i < size_ && (words_[i >> 6] >> (i & 63) & 1) != 0; }
  // Returns members [64 * w, 64 * w + 64), the lowest in the lowest bit.
  uint64_t Word(size_t w) const { return w < words_.size() ? words_[w] : 0; }
  void Add(size_t i) { words_[i >> 6] |= uint64_t{1} << (i & 63); }
  // Adds `i`. Returns whether it was already a member.
  bool TestAndAdd(size_t i) {
    uint64_t& word = words_[i >> 6];
    const uint64_t mask = uint64_t{1} << (i & 63);
    const bool before = (word & mask) != 0;
    word |= mask;
    return before;
  }

  // As TestAndAdd if `add` is true; otherwise changes nothing. Returns whether `i` was a member. Branch-free.
  bool TestAndAddIf(bool add, size_t i) {
    uint64_t& word = words_[i >> 6];
    const bool before = (word >> (i & 63) & 1) != 0;
    word |= uint64_t{add} << (i & 63);
    return before;
  }

  void AddRange(size_t start, size_t count) {
    while (count > 0) {
      const size_t offset = start & 63;
      const size_t step = count < 64 - offset ? count : 64 - offset;
      const uint64_t mask = step == 64 ? ~uint64_t{0} : ((uint64_t{1} << step) - 1) << offset;
      words_[start >> 6] |= mask;
      start += step;
      count -= step;
    }
  }

  // Empties the set and resizes it. Keeps its memory.
  void Reset(size_t size) {
    size_ = size;
    words_.assign((size + 63) / 64, 0);
  }

  // Grows the set to at least `size`. Keeps its members.
  void Grow(size_t size) {
    if (size <= size_) return;
    size_ = size;
    words_.resize((size + 63) / 64);
  }
  const std::vector<uint64_t>& words() const { return words_; }

  // Only members of the other set below size() count.
  void And(const Bitset& other) {
    for (size_t i = 0; i < words_.size(); i++) words_[i] &= other.Word(i);
  }
  void Or(const Bitset& other) { OrWords(other.words_); }
  void Invert() {
    for (uint64_t& word : words_) word = ~word;
    CutTail();
  }
  // Adds the members of another set, of any size, that lie in [64 * from, 64 * from + size()), shifted down by
  // 64 * from.
  void OrWords(const std::vector<uint64_t>& words, size_t from = 0) {
    const size_t left = words.size() < from ? 0 : words.size() - from;
    const size_t common = left < words_.size() ? left : words_.size();
    for (size_t i = 0; i < common; i++) words_[i] |= words[from + i];
    CutTail();
  }

  // Returns the smallest member >= `from`, or a value >= size() if there is none.
  size_t Next(size_t from) const {
    for (size_t w = from >> 6; w < words_.size(); w++) {
      const uint64_t word = words_[w] & (w == from >> 6 ? ~uint64_t{0} << (from & 63) : ~uint64_t{0});
      if (word != 0) return w * 64 + static_cast<size_t>(std::countr_zero(word));
    }
    return size_;
  }

  // Calls visit(i) for every member, ascending, until it returns false.
  template <class Visit>
  void ForEach(Visit visit) const {
    for (size_t w = 0; w < words_.size(); w++) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1) {
        if (!visit(w * 64 + static_cast<size_t>(std::countr_zero(word)))) return;
      }
    }
  }

 private:
  void CutTail() {
    if ((size_ & 63) != 0) words_.back() &= (uint64_t{1} << (size_ & 63)) - 1;
  }

  size_t size_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace quarry
