#include "engine/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

namespace quarry {
namespace {

// Adds 16 products to the 16 sums.
void AddProducts(float32x4_t* sums, const float* left, const float* right) {
  for (size_t k = 0; k < 4; k++) {
    sums[k] = vaddq_f32(sums[k], vmulq_f32(vld1q_f32(left + 4 * k), vld1q_f32(right + 4 * k)));
  }
}

float Dot(const float* left, const float* right, size_t length) {
  const float32x4_t zero = vdupq_n_f32(0);
  float32x4_t even[4] = {zero, zero, zero, zero};
  float32x4_t odd[4] = {zero, zero, zero, zero};
  size_t i = 0;
  for (; i + 2 * kRowAlignment <= length; i += 2 * kRowAlignment) {
    AddProducts(even, left + i, right + i);
    AddProducts(odd, left + i + kRowAlignment, right + i + kRowAlignment);
  }
  if (i < length) AddProducts(even, left + i, right + i);
  for (size_t k = 0; k < 4; k++) even[k] = vaddq_f32(even[k], odd[k]);
  const float32x4_t four = vaddq_f32(vaddq_f32(even[0], even[2]), vaddq_f32(even[1], even[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

int32_t DotCodes(const uint8_t* codes, const int8_t* query, size_t length) {
  int32x4_t a = vdupq_n_s32(0), b = a, c = a, d = a;
  for (size_t i = 0; i < length; i += 16) {
    const uint8x16_t left = vld1q_u8(codes + i);
    const int8x16_t right = vld1q_s8(query + i);
    const int16x8_t leftLow = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(left)));
    const int16x8_t leftHigh = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(left)));
    const int16x8_t rightLow = vmovl_s8(vget_low_s8(right));
    const int16x8_t rightHigh = vmovl_s8(vget_high_s8(right));
    a = vmlal_s16(a, vget_low_s16(leftLow), vget_low_s16(rightLow));
    b = vmlal_s16(b, vget_high_s16(leftLow), vget_high_s16(rightLow));
    c = vmlal_s16(c, vget_low_s16(leftHigh), vget_low_s16(rightHigh));
    d = vmlal_s16(d, vget_high_s16(leftHigh), vget_high_s16(rightHigh));
  }
  return vaddvq_s32(vaddq_s32(vaddq_s32(a, b), vaddq_s32(c, d)));
}

void DotRows(const uint8_t* const* rows, size_t count, const int8_t* query, size_t length, int32_t* products) {
  for (size_t row = 0; row < count; row++) products[row] = DotCodes(rows[row], query, length);
}

uint64_t CountCommon(const uint64_t* left, const uint64_t* right, size_t words) {
  uint64_t count = 0;
  for (size_t i = 0; i < words; i++) count += vaddv_u8(vcnt_u8(vcreate_u8(left[i] & right[i])));
  return count;
}

}  // namespace

const Kernels* NeonKernels() {
  // The checksum instruction is optional on ARM, so the table version is used. The compiler vectorizes the
  // other loops for every processor of this architecture.
  static const Kernels neon = {"neon",
                               Dot,
                               DotCodes,
                               DotRows,
                               ScalarKernels()->transform,
                               ScalarKernels()->encode,
                               CountCommon,
                               ScalarKernels()->crc32c};
  return &neon;
}

}  // namespace quarry

#else

namespace quarry {
const Kernels* NeonKernels() { return nullptr; }
}  // namespace quarry

#endif
