// The inner loops, one set per instruction set, chosen once at run time. Each has a scalar twin it is tested against.
//
// The files of the sets are compiled beyond the base architecture. Whatever inline code they include may end up in the
// whole program, so this header includes no other of ours and nothing of the standard library that has any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry {

// The zero of the codes and the largest distance from it. The code 0 is not used, so that the sign of a code can change.
inline constexpr uint8_t kCodeMiddle = 128;
inline constexpr float kCodeMax = 127;

struct Kernels {
  const char* name;
  // Dot product of two rows of floats; `length` is a multiple of kRowAlignment, both are 64-byte aligned.
  float (*dot)(const float* left, const float* right, size_t length);
  // Exact dot product of unsigned and signed bytes; `length` is a multiple of kCodeAlignment and below 2^16, the rows
  // are 64-byte aligned.
  int32_t (*dotCodes)(const uint8_t* codes, const int8_t* query, size_t length);
  // The same for `count` rows, each where rows[i] says: products[i] becomes what dotCodes answers for it.
  void (*dotRows)(const uint8_t* const* rows, size_t count, const int8_t* query, size_t length, int32_t* products);
  // Multiplies `count` floats, a power of two, by those at `signs` and takes the Walsh-Hadamard transform, without its
  // scale. All sets add the same numbers in the same order: codes do not depend on the processor.
  void (*transform)(float* values, const float* signs, size_t count);
  // The codes of `count` floats: the nearest to value * perStep, from -kCodeMax to kCodeMax, above kCodeMiddle.
  void (*encode)(const float* values, float perStep, size_t count, uint8_t* codes);
  // Bits that are set in both of two rows of `words` words.
  uint64_t (*countCommon)(const uint64_t* left, const uint64_t* right, size_t words);
  // Continues a CRC32C (Castagnoli, reflected, without the final inversion) over `length` bytes.
  uint32_t (*crc32c)(uint32_t state, const uint8_t* bytes, size_t length);
};

// Rows are padded with zeros to this many floats: one cache line.
inline constexpr size_t kRowAlignment = 16;
// Rows of codes are padded to this many bytes, for the same reason.
inline constexpr size_t kCodeAlignment = 64;

inline constexpr size_t PaddedDimensions(size_t dimensions) {
  return (dimensions + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

// The set in use: the best this processor can run, unless UseKernels chose another.
const Kernels& ActiveKernels();

// Chooses the set by its name, or the best one by "auto". Counts only before the first use of ActiveKernels. False, and
// nothing is chosen, when there is no such set or this processor cannot run it.
bool UseKernels(const char* name);

// Every set this processor can run, the scalar one first, the best one last; ends at the first null.
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
