// Rows as 8-bit codes: what a search reads. The exact rows only decide among the best that it finds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/kernels.h"

namespace quarry {

// A vector that rows of codes are compared with: the signed codes of a row or of a query.
struct CodeView {
  const int8_t* values = nullptr;  // 64-byte aligned, padded with zeros
  int32_t offset = 0;              // what the middle of the unsigned codes adds to each dot product
};

// Bytes at the start of a cache line.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t bytes) { Grow(bytes); }
  // Makes room for at least so many bytes.
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

// A query's vector as codes.
class CodedQuery {
 public:
  CodedQuery() = default;
  CodedQuery(CodedQuery&&) = default;
  CodedQuery& operator=(CodedQuery&&) = default;

  const CodeView& view() const { return view_; }

 private:
  friend class Codec;
  AlignedBytes values_;
  CodeView view_;
};

// Turns unit vectors into unsigned bytes, 128 standing for zero, whose dot products are integers that order rows as
// the cosine does, up to rounding.
//
// A vector is rotated first, by random signs and Walsh-Hadamard transforms (Ailon and Chazelle, "The Fast
// Johnson-Lindenstrauss Transform", 2009). Whatever the model, dimensions that stick out included, each coordinate then
// lies like a normal number of variance 1 / dimensions, so one scale, known beforehand, fits every vector: it follows
// from the dimensions alone, and codes of all shards, before and after a compaction, on disk and in memory, compare.
class Codec {
 public:
  explicit Codec(uint32_t dimensions);

  // Bytes of a row.
  size_t stride() const { return stride_; }
  // `vector` holds `dimensions` floats; `codes` has room for a row.
  void Encode(const float* vector, uint8_t* codes) const;
  CodedQuery Query(const float* vector) const {
    CodedQuery query;
    Query(vector, &query);
    return query;
  }
  // The same, in the memory of a query that is no longer needed.
  void Query(const float* vector, CodedQuery* query) const;

  // The codes of a row as something to compare with; `values` has room for a row.
  CodeView Centre(const uint8_t* codes, int8_t* values) const;
  // Exact in integers, and the same from either side.
  int32_t Score(const CodeView& query, const uint8_t* codes) const {
    return dotCodes_(codes, query.values, stride_) - query.offset;
  }
  // The same for `count` rows, each where rows[i] says.
  void Scores(const CodeView& query, const uint8_t* const* rows, size_t count, int32_t* scores) const {
    dotRows_(rows, count, query.values, stride_, scores);
    for (size_t i = 0; i < count; i++) scores[i] -= query.offset;
  }
  // The cosine of two vectors of that score, up to rounding.
  float Similarity(int32_t score) const { return static_cast<float>(score) * step_ * step_; }
  // By how much rounding makes that differ, at most, but for one time in many millions. It moves each coordinate of two
  // vectors of length 1 evenly by up to half a step: their product errs with a deviation of step x sqrt(2 / 12). Where
  // coordinates are cut off, the cosine may be larger by far more.
  float RoundingError() const { return 5.5F * 0.4083F * step_; }
  // The squared length of the vector that codes stand for: up to rounding 1, less where coordinates were cut off.
  float Squares(const uint8_t* codes) const;
  float Squares(const CodeView& view) const;
  // By how much the cosine of two vectors may exceed what codes of such squared lengths say, but for that one time,
  // whatever was cut off: of vectors of length 1 it follows from their distance, and cutting off brings no two farther
  // apart.
  float ErrorMax(float squares, float otherSquares) const {
    return RoundingError() + std::max(0.0F, 1 - (squares + otherSquares) / 2);
  }

 private:
  void Rotate(float* vector) const;
  // The rotated vector, in working memory of the thread.
  const float* Rotated(const float* vector) const;
  void EncodeRotated(const float* rotated, uint8_t* codes) const;
  // Turns the codes that lie there into signed ones.
  CodeView Signed(int8_t* values) const;

  const uint32_t dimensions_;
  const size_t stride_;
  const size_t block_;  // floats transformed at a time: the largest power of two in dimensions_
  const float step_;    // what one code stands for
  int32_t (*const dotCodes_)(const uint8_t*, const int8_t*, size_t);
  void (*const dotRows_)(const uint8_t* const*, size_t, const int8_t*, size_t, int32_t*);
  std::vector<float> signs_;  // rounds x block_, each scaled so that a round keeps lengths
  AlignedBytes middle_;       // the codes of the zero vector
};

}  // namespace quarry
