#include "text/soft_matcher.h"

#include <algorithm>
#include <cmath>

#include "text/dot_rows.h"

namespace quarry::text {

TokenDirections::TokenDirections(std::span<const int8_t> codes, size_t dimensions)
    : codes_(codes), dimensions_(dimensions), components_(std::min(dimensions, kComponentsMax)) {
  inverseLengths_.resize(codes.size() / dimensions);
  for (size_t token = 0; token < inverseLengths_.size(); ++token) {
    int32_t squares = 0;
    for (size_t i = 0; i < components_; ++i) {
      const int32_t code = codes[token * dimensions + i];
      squares += code * code;
    }
    inverseLengths_[token] = squares == 0 ? 1 : static_cast<float>(1 / std::sqrt(static_cast<double>(squares)));
  }
}

SoftMatcher::SoftMatcher(const TokenDirections& directions, std::span<const std::vector<int32_t>> terms)
    : directions_(directions), terms_(terms.size()), rows_(directions.tokens()) {
  const size_t components = directions.components();
  std::vector<float> sum(components);
  for (size_t term = 0; term < terms.size(); ++term) {
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (const int32_t token : terms[term]) {
      const int8_t* const codes = directions.CodesOf(token);
      const float inverse = directions.InverseLengthOf(token);
      for (size_t i = 0; i < components; ++i) sum[i] += inverse * static_cast<float>(codes[i]);
      codes_.insert(codes_.end(), codes, codes + components);
    }
    double squares = 0;
    for (const float component : sum) squares += static_cast<double>(component) * component;
    const double scale = squares == 0 ? 0 : 1 / std::sqrt(squares);
    for (const int32_t token : terms[term]) {
      termTokens_.push_back({term, static_cast<float>(directions.InverseLengthOf(token) * scale)});
    }
  }
  products_.resize(termTokens_.size());
}

std::span<const float> SoftMatcher::AddRow(int32_t token) {
  static const DotRows dotRows = FastestDotRows();
  const size_t start = cosines_.size();
  cosines_.resize(start + terms_);
  rows_[static_cast<size_t>(token)] = static_cast<uint32_t>(start / std::max<size_t>(1, terms_)) + 1;
  dotRows(directions_.CodesOf(token), codes_.data(), termTokens_.size(), directions_.components(), products_.data());
  const float inverse = directions_.InverseLengthOf(token);
  for (size_t i = 0; i < termTokens_.size(); ++i) {
    const auto [term, scale] = termTokens_[i];
    cosines_[start + term] += static_cast<float>(products_[i]) * scale * inverse;
  }
  return {cosines_.data() + start, terms_};
}

}  // namespace quarry::text
