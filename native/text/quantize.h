// Quantizes vectors to 8-bit codes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry::text {

// Size of a vector's record: its step as a little-endian f32, then one signed byte per component.
constexpr size_t RecordBytes(size_t dimensions) { return sizeof(float) + dimensions; }

// Writes the record of a vector, byte-identical to `quantize` in src/models/quantization.ts, which documents
// the format.
void Quantize(const float* vector, size_t dimensions, uint8_t* record);

}  // namespace quarry::text
