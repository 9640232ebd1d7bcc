// Quantized codes of the rows of a shard, and comparison of many of them with one vector.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/block_array.h"
#include "engine/codes.h"

namespace quarry {

// A row and its score against the query. Larger scores are nearer.
struct Neighbor {
  int32_t score;
  uint32_t row;
};

// One thread at a time may reserve; different rows may be written concurrently. Readers may use any row that
// was written before its number was published to them.
class CodeArray {
 public:
  explicit CodeArray(uint32_t dimensions) : codec_(dimensions), rows_(codec_.stride()) {}

  const Codec& codec() const { return codec_; }
  void Reserve(size_t rows) { rows_.Reserve(rows); }
  void ReserveExactly(size_t rows) { rows_.ReserveExactly(rows); }
  uint8_t* Row(uint32_t row) const { return rows_.Row(row); }
  void Set(uint32_t row, const float* vector) {
    codec_.Encode(vector, rows_.Row(row));
    UpdateSquaredNormMin(row);
  }
  // As Set, with codes produced by this codec.
  void Copy(uint32_t row, const uint8_t* codes) {
    std::memcpy(rows_.Row(row), codes, codec_.stride());
    UpdateSquaredNormMin(row);
  }
  // Lower bound on the squared length of the codes of all rows; see Codec::SquaredNorm. For readers to which rows
  // have been published.
  float SquaredNormMin() const { return squaredNormMin_.load(std::memory_order_relaxed); }
  size_t BytesOf(size_t rows) const { return rows_.BytesOf(rows); }
  // For loading: calls fill(codes, bytes) for the codes of rows [0, rows), run by run, until it returns
  // false.
  template <class Fill>
  void ForRuns(size_t rows, const Fill& fill) {
    rows_.ForRuns(rows, [&](size_t first, uint8_t* codes, size_t count) {
      if (!fill(codes, rows_.BytesOf(count))) return false;
      for (size_t row = first; row < first + count; row++) UpdateSquaredNormMin(static_cast<uint32_t>(row));
      return true;
    });
  }

  int32_t Score(const CodeView& query, uint32_t row) const { return codec_.Score(query, rows_.Row(row)); }
  // Prefetches the row's codes and returns their address.
  const uint8_t* Prefetch(uint32_t row) const {
    const uint8_t* const codes = rows_.Row(row);
    for (size_t i = 0; i < codec_.stride(); i += 64) __builtin_prefetch(codes + i);
    return codes;
  }
  // Calls visit(neighbor) for each of `rows`, in any memory order: codes are prefetched ahead.
  template <class Visit>
  void Compare(const CodeView& query, std::span<const uint32_t> rows, const Visit& visit) const {
    constexpr size_t kBatchRows = 16;
    const uint8_t* codes[2][kBatchRows];
    int32_t scores[kBatchRows];
    const auto fetch = [&](size_t start, const uint8_t** at) {
      for (size_t i = start; i < std::min(start + kBatchRows, rows.size()); i++) *at++ = Prefetch(rows[i]);
    };
    fetch(0, codes[0]);
    for (size_t start = 0, buffer = 0; start < rows.size(); start += kBatchRows, buffer ^= 1) {
      fetch(start + kBatchRows, codes[buffer ^ 1]);
      const size_t count = std::min(kBatchRows, rows.size() - start);
      codec_.Scores(query, codes[buffer], count, scores);
      for (size_t i = 0; i < count; i++) visit(Neighbor{scores[i], rows[start + i]});
    }
  }

 private:
  // Must run before the row's number is published, so that readers of the row also see the updated minimum.
  void UpdateSquaredNormMin(uint32_t row) {
    const float squaredNorm = codec_.SquaredNorm(rows_.Row(row));
    float min = squaredNormMin_.load(std::memory_order_relaxed);
    while (squaredNorm < min && !squaredNormMin_.compare_exchange_weak(min, squaredNorm, std::memory_order_relaxed)) {
    }
  }

  const Codec codec_;
  BlockArray<uint8_t> rows_;
  std::atomic<float> squaredNormMin_{1};
};

}  // namespace quarry
