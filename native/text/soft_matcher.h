// Compares the terms of a query with the tokens of documents by their directions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "text/rerank_features.h"

namespace quarry::text {

// The token vectors of a static embedding, as directions. Immutable and thread-safe.
class TokenDirections {
 public:
  // Components compared: half of a vector is almost as accurate at half of the time.
  static constexpr size_t kComponentsMax = 160;

  // `codes` has one row of `dimensions` codes per token and must outlive this object.
  TokenDirections(std::span<const int8_t> codes, size_t dimensions);

  size_t tokens() const { return inverseLengths_.size(); }
  size_t components() const { return components_; }
  const int8_t* CodesOf(int32_t token) const { return &codes_[static_cast<size_t>(token) * dimensions_]; }
  float InverseLengthOf(int32_t token) const { return inverseLengths_[static_cast<size_t>(token)]; }

 private:
  std::span<const int8_t> codes_;
  size_t dimensions_ = 0;
  size_t components_ = 0;
  std::vector<float> inverseLengths_;  // 1 for a row of zeros
};

// The directions of the terms of one query, and their cosines with all tokens met so far. The direction of a word
// is the sum of its tokens' directions, so a cosine needs only exact dot products of codes. Not thread-safe.
class SoftMatcher {
 public:
  // `terms` has the tokens of each term. `directions` must outlive this object.
  SoftMatcher(const TokenDirections& directions, std::span<const std::vector<int32_t>> terms);

  // Returns the cosine of each term with the direction of a token. Valid until the next call.
  std::span<const float> CosinesWith(int32_t token) {
    const uint32_t row = rows_[static_cast<size_t>(token)];
    return row == 0 ? AddRow(token) : std::span<const float>(cosines_.data() + (row - 1) * terms_, terms_);
  }

 private:
  struct TermToken {
    size_t term = 0;
    float scale = 0;
  };

  std::span<const float> AddRow(int32_t token);

  const TokenDirections& directions_;
  const size_t terms_;
  std::vector<TermToken> termTokens_;
  std::vector<int16_t> codes_;  // one row per element of termTokens_
  std::vector<int32_t> products_;
  std::vector<uint32_t> rows_;  // by token: its row of `cosines_` + 1, or 0
  std::vector<float> cosines_;  // rows of terms_
};

}  // namespace quarry::text
