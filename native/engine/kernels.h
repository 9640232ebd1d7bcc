// The inner loops, one set per instruction set, chosen once at run time. Each kernel is tested against its
// scalar version.
//
// The files of the sets are compiled for more than the base architecture. Inline code that they include may be linked
// into the whole program, so this header includes no other project header and no standard header with inline code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry {

// Zero point of the codes and the largest distance from it. Code 0 is unused, so every signed code can be negated.
inline constexpr uint8_t kCodeZeroPoint = 128;
inline constexpr float kCodeMax = 127;

struct Kernels {
  const char* name;
  // Dot product of two rows of floats; `length` is a multiple of kRowAlignment, both are 64-byte aligned. Product i is
  // added to partial sum i % 32 without fusing the two operations; then the second half of the sums is added to the
  // first until one is left. All sets do so, so scores do not depend on the processor. A fused operation would not be
  // faster: an addition waits for the previous one.
  float (*dot)(const float* left, const float* right, size_t length);
  // Exact dot product of unsigned and signed bytes. `length` is a multiple of kCodeAlignment and below 2^16;
  // the rows are 64-byte aligned.
  int32_t (*dotCodes)(const uint8_t* codes, const int8_t* query, size_t length);
  // As dotCodes for `count` rows, row i at rows[i], with the result in products[i].
  void (*dotRows)(const uint8_t* const* rows, size_t count, const int8_t* query, size_t length, int32_t* products);
  // Multiplies `count` floats (a power of two) by those at `signs` and applies the unscaled Walsh-Hadamard
  // transform. All sets add the same numbers in the same order, so codes do not depend on the processor.
  void (*transform)(float* values, const float* signs, size_t count);
  // Encodes `count` floats: value * perStep rounded to nearest, clamped to [-kCodeMax, kCodeMax], plus kCodeZeroPoint.
  void (*encode)(const float* values, float perStep, size_t count, uint8_t* codes);
  // Number of bits set in both of two rows of `words` words.
  uint64_t (*countCommon)(const uint64_t* left, const uint64_t* right, size_t words);
  // Continues a CRC32C (Castagnoli, reflected, without the final inversion) over `length` bytes.
  uint32_t (*crc32c)(uint32_t state, const uint8_t* bytes, size_t length);
};

// Rows are padded with zeros to a multiple of this many floats: one cache line.
inline constexpr size_t kRowAlignment = 16;
// Rows of codes are padded to a multiple of this many bytes: one cache line.
inline constexpr size_t kCodeAlignment = 64;

inline constexpr size_t PaddedDimensions(size_t dimensions) {
  return (dimensions + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

// Returns the active set: the best this processor can run, unless SelectKernels chose another.
const Kernels& ActiveKernels();

// Chooses the set named `name`, or the best one for "auto". Effective only before the first use of
// ActiveKernels. Returns false and chooses nothing if the set does not exist or this processor cannot run it.
bool SelectKernels(const char* name);

// Every set this processor can run, the scalar one first, the best one last. Ends at the first null.
struct KernelList {
  const Kernels* sets[5];
};
KernelList SupportedKernels();

// Defined in the file of each instruction set. Returns null if the compiler does not target that architecture.
const Kernels* ScalarKernels();
const Kernels* Avx2Kernels();
const Kernels* Avx512Kernels();
const Kernels* NeonKernels();

}  // namespace quarry
