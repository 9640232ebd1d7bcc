#include "engine/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

namespace quarry {
namespace {

float Dot(const float* left, const float* right, size_t length) {
  float32x4_t a = vdupq_n_f32(0), b = a, c = a, d = a;
  for (size_t i = 0; i < length; i += kRowAlignment) {
    a = vfmaq_f32(a, vld1q_f32(left + i), vld1q_f32(right + i));
    b = vfmaq_f32(b, vld1q_f32(left + i + 4), vld1q_f32(right + i + 4));
    c = vfmaq_f32(c, vld1q_f32(left + i + 8), vld1q_f32(right + i + 8));
    d = vfmaq_f32(d, vld1q_f32(left + i + 12), vld1q_f32(right + i + 12));
  }
  return vaddvq_f32(vaddq_f32(vaddq_f32(a, b), vaddq_f32(c, d)));
}

}  // namespace

const Kernels* NeonKernels() {
  // The checksum instruction is optional on ARM, so the table version stays.
  static const Kernels neon = {"neon", Dot, ScalarKernels()->crc32c};
  return &neon;
}

}  // namespace quarry

#else

namespace quarry {
const Kernels* NeonKernels() { return nullptr; }
}  // namespace quarry

#endif
