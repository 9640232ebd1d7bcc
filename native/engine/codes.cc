#include "engine/codes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/splitmix64.h"

namespace quarry {
namespace {

// Coordinates beyond this many standard deviations are clipped. For 8 bits, this bound minimizes the error.
constexpr float kClipDeviations = 4;
// If a block is smaller than the vector, the transform runs at the start, the end and the start again:
// afterwards the shares of any coordinate in all others differ by less than a tenth.
constexpr size_t kRounds = 3;

size_t RoundsFor(size_t dimensions, size_t block) { return block == dimensions ? 1 : kRounds; }

}  // namespace

Codec::Codec(uint32_t dimensions)
    : dimensions_(dimensions),
      stride_((dimensions + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment),
      block_(std::bit_floor(size_t{dimensions})),
      step_(std::min(1.0F, kClipDeviations / std::sqrt(static_cast<float>(dimensions))) / kCodeMax),
      dotCodes_(ActiveKernels().dotCodes),
      dotRows_(ActiveKernels().dotRows),
      zeroCodes_(stride_) {
  std::memset(zeroCodes_.As<uint8_t>(), kCodeZeroPoint, stride_);
  const float scale = 1 / std::sqrt(static_cast<float>(block_));
  for (size_t i = 0; i < RoundsFor(dimensions_, block_) * block_; i++) {
    signs_.push_back((SplitMix64(i) & 1) != 0 ? scale : -scale);
  }
}

void Codec::Rotate(float* vector) const {
  const float* signs = signs_.data();
  for (size_t round = 0; round < RoundsFor(dimensions_, block_); round++, signs += block_) {
    float* const block = round % 2 == 0 ? vector : vector + (dimensions_ - block_);
    ActiveKernels().transform(block, signs, block_);
  }
}

const float* Codec::RotatedCopy(const float* vector) const {
  thread_local std::vector<float> rotated;
  rotated.assign(vector, vector + dimensions_);
  Rotate(rotated.data());
  return rotated.data();
}

void Codec::Encode(const float* vector, uint8_t* codes) const { EncodeRotated(RotatedCopy(vector), codes); }

void Codec::EncodeRotated(const float* rotated, uint8_t* codes) const {
  ActiveKernels().encode(rotated, 1 / step_, dimensions_, codes);
  std::memset(codes + dimensions_, kCodeZeroPoint, stride_ - dimensions_);
}

CodeView Codec::Center(const uint8_t* codes, int8_t* values) const {
  std::memcpy(values, codes, stride_);
  return ToSigned(values);
}

CodeView Codec::ToSigned(int8_t* values) const {
  const size_t stride = stride_;
  for (size_t i = 0; i < stride; i++) values[i] = static_cast<int8_t>(values[i] ^ kCodeZeroPoint);
  return {values, dotCodes_(zeroCodes_.As<uint8_t>(), values, stride)};
}

float Codec::SquaredNorm(const uint8_t* codes) const {
  thread_local AlignedBytes values;
  values.Grow(stride_);
  return Similarity(Score(Center(codes, values.As<int8_t>()), codes));
}

float Codec::SquaredNorm(const CodeView& view) const {
  thread_local AlignedBytes codes;
  codes.Grow(stride_);
  for (size_t i = 0; i < stride_; i++) codes.As<uint8_t>()[i] = static_cast<uint8_t>(view.values[i]) ^ kCodeZeroPoint;
  return Similarity(Score(view, codes.As<uint8_t>()));
}

void Codec::Query(const float* vector, EncodedQuery* query) const {
  query->values_.Grow(stride_);
  EncodeRotated(RotatedCopy(vector), query->values_.As<uint8_t>());
  query->view_ = ToSigned(query->values_.As<int8_t>());
}

}  // namespace quarry
