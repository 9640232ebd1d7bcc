// The inner loops, one set per instruction set, chosen once at run time. Each has a scalar twin it is tested against.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry {

struct Kernels {
  const char* name;
  // Dot product of two float rows; `length` is a multiple of kRowAlignment floats, the rows are 64-byte aligned.
  float (*dot)(const float* left, const float* right, size_t length);
  // Continues a CRC32C (Castagnoli, reflected, without the final inversion) over `length` bytes.
  uint32_t (*crc32c)(uint32_t state, const uint8_t* bytes, size_t length);
};

// Rows are padded with zeros to this many floats: one AVX-512 register, one cache line.
inline constexpr size_t kRowAlignment = 16;

inline constexpr size_t PaddedDimensions(size_t dimensions) {
  return (dimensions + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

// The best set this processor can run.
const Kernels& BestKernels();

// Every set this processor can run, the scalar one first; ends at the first null. For tests.
struct KernelList {
  const Kernels* sets[5];
};
KernelList RunnableKernels();

// Defined in the file of each instruction set; null where the compiler does not target that architecture.
const Kernels* ScalarKernels();
const Kernels* Avx2Kernels();
const Kernels* Avx512Kernels();
const Kernels* NeonKernels();

}  // namespace quarry
