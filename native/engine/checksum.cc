#include "engine/checksum.h"

#include "engine/kernels.h"

namespace quarry {

void Crc32c::Add(const void* bytes, size_t length) {
  state_ = ActiveKernels().crc32c(state_, static_cast<const uint8_t*>(bytes), length);
}

}  // namespace quarry
