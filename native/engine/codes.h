// Rows as 8-bit codes, which searches scan. Exact vectors only rank the best candidates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/kernels.h"

namespace quarry {

// A vector to compare codes with: the signed codes of a row or of a query.
struct CodeView {
  const int8_t* values = nullptr;  // 64-byte aligned, padded with zeros
  int32_t offset = 0;              // contribution of the unsigned codes' midpoint to each dot product
};

// Bytes aligned to a cache line.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t bytes) { Grow(bytes); }
  // Ensures capacity for at least `bytes` bytes.
  void Grow(size_t bytes) {
    if (lines_.size() * sizeof(Line) < bytes) lines_.resize((bytes + sizeof(Line) - 1) / sizeof(Line));
  }
  template <class T>
  T* As() {
    return reinterpret_cast<T*>(lines_.data());
  }
  template <class T>
  const T* As() const {
    return reinterpret_cast<const T*>(lines_.data());
  }

 private:
  struct alignas(64) Line {
    uint8_t bytes[64] = {};
  };
  std::vector<Line> lines_;
};

// The quantized vector of a query.
class EncodedQuery {
 public:
  EncodedQuery() = default;
  EncodedQuery(EncodedQuery&&) = default;
  EncodedQuery& operator=(EncodedQuery&&) = default;

  const CodeView& view() const { return view_; }

 private:
  friend class Codec;
  AlignedBytes values_;
  CodeView view_;
};

// Quantizes unit vectors to unsigned bytes, where 128 represents zero. Integer dot products of codes order
// rows as the cosine does, up to rounding.
//
// Vectors are first rotated by random signs and Walsh-Hadamard transforms (Ailon and Chazelle, "The Fast
// Johnson-Lindenstrauss Transform", 2009). For any model, including those with outlier dimensions, each
// coordinate is then distributed like a normal variable of variance 1 / dimensions, so one fixed scale fits
// every vector. The scale depends on the dimensions alone, so codes of all shards, before and after a
// compaction, on disk and in memory, are comparable.
class Codec {
 public:
  explicit Codec(uint32_t dimensions);

  // Bytes per row.
  size_t stride() const { return stride_; }
  // `vector` holds `dimensions` floats; `codes` has space for stride() bytes.
  void Encode(const float* vector, uint8_t* codes) const;
  EncodedQuery Query(const float* vector) const {
    EncodedQuery query;
    Query(vector, &query);
    return query;
  }
  // As above, reusing the memory of a query that is no longer needed.
  void Query(const float* vector, EncodedQuery* query) const;

  // Converts the codes of a row to a CodeView. `values` has space for stride() bytes.
  CodeView Center(const uint8_t* codes, int8_t* values) const;
  // Returns the exact integer dot product; symmetric in its arguments.
  int32_t Score(const CodeView& query, const uint8_t* codes) const {
    return dotCodes_(codes, query.values, stride_) - query.offset;
  }
  // As Score, for `count` rows, row i at rows[i].
  void Scores(const CodeView& query, const uint8_t* const* rows, size_t count, int32_t* scores) const {
    dotRows_(rows, count, query.values, stride_, scores);
    for (size_t i = 0; i < count; i++) scores[i] -= query.offset;
  }
  // Returns the cosine of two vectors with that score, up to rounding.
  float Similarity(int32_t score) const { return static_cast<float>(score) * step_ * step_; }
  // Bound on the error of Similarity caused by rounding, exceeded once in many millions of cases. Rounding
  // moves each coordinate of two unit vectors by a uniform error of up to half a step, so their product has
  // an error with standard deviation step x sqrt(2 / 12). If coordinates were clipped, the cosine may exceed
  // Similarity by far more.
  float RoundingError() const { return 5.5F * 0.4083F * step_; }
  // Returns the squared length of the vector that the codes represent: 1 up to rounding, less if coordinates
  // were clipped.
  float SquaredNorm(const uint8_t* codes) const;
  float SquaredNorm(const CodeView& view) const;
  // Bound on how much the true cosine of two vectors may exceed Similarity, given the squared lengths of
  // their codes; exceeded as rarely as RoundingError. The bound covers clipping: for unit vectors the cosine
  // follows from the distance, and clipping never increases a distance.
  float ErrorMax(float squaredNorm, float otherSquaredNorm) const {
    return RoundingError() + std::max(0.0F, 1 - (squaredNorm + otherSquaredNorm) / 2);
  }

 private:
  void Rotate(float* vector) const;
  // Returns the rotated vector in thread-local working memory.
  const float* RotatedCopy(const float* vector) const;
  void EncodeRotated(const float* rotated, uint8_t* codes) const;
  // Converts the unsigned codes in `values` to signed codes in place.
  CodeView ToSigned(int8_t* values) const;

  const uint32_t dimensions_;
  const size_t stride_;
  const size_t block_;  // floats per transform: the largest power of two in dimensions_
  const float step_;    // value of one code step
  int32_t (*const dotCodes_)(const uint8_t*, const int8_t*, size_t);
  void (*const dotRows_)(const uint8_t* const*, size_t, const int8_t*, size_t, int32_t*);
  std::vector<float> signs_;  // rounds x block_, each scaled so that a round preserves lengths
  AlignedBytes zeroCodes_;    // codes of the zero vector
};

}  // namespace quarry
