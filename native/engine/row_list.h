// List of row numbers, filled in loops with unpredictable conditions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quarry {

class RowList {
 public:
  void Clear() { size_ = 0; }
  // Ensures capacity for `count` more rows; the next `count` calls of AddIf need no more.
  void ReserveMore(size_t count) {
    if (rows_.size() < size_ + count) rows_.resize(size_ + count);
  }
  // Adds the row if `condition`. Branch-free: an unwanted row is written too, and overwritten by the next.
  void AddIf(bool condition, uint32_t row) {
    rows_[size_] = row;
    size_ += condition ? 1 : 0;
  }

  size_t size() const { return size_; }
  std::span<const uint32_t> rows() const { return {rows_.data(), size_}; }

 private:
  std::vector<uint32_t> rows_;  // size() is the capacity
  size_t size_ = 0;
};

}  // namespace quarry
