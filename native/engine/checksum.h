// CRC32C as defined in RFC 3720: Crc32c("123456789") is 0xe3069283.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry {

class Crc32c {
 public:
  void Add(const void* bytes, size_t length);
  uint32_t Value() const { return ~state_; }

 private:
  uint32_t state_ = 0xffffffff;
};

}  // namespace quarry
