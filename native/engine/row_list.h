// Numbers of rows that are gathered one by one, in loops where nobody can guess which are wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quarry {

class RowList {
 public:
  void Clear() { size_ = 0; }
  // Room for `count` more: none of the next so many rows may need more.
  void MakeRoom(size_t count) {
    if (rows_.size() < size_ + count) rows_.resize(size_ + count);
  }
  // Adds the row if it is wanted, without a branch: an unwanted one is written too, and the next one over it.
  void AddIf(bool wanted, uint32_t row) {
    rows_[size_] = row;
    size_ += wanted ? 1 : 0;
  }

  size_t size() const { return size_; }
  std::span<const uint32_t> rows() const { return {rows_.data(), size_}; }

 private:
  std::vector<uint32_t> rows_;  // room
  size_t size_ = 0;
};

}  // namespace quarry
