// Little-endian integers and varints, as used in files and messages.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace quarry {

static_assert(std::endian::native == std::endian::little, "the formats are little-endian and read in place");

inline void PutVarint(std::vector<uint8_t>* out, uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<uint8_t>(value));
}

// Reads untrusted bytes. After the first read past the end, every result is zero and ok() is false.
class ByteReader {
 public:
  ByteReader(const uint8_t* bytes, size_t length) : at_(bytes), end_(bytes + length) {}

  bool ok() const { return ok_; }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }

  template <class T>
  T Read() {
    T value{};
    if (const uint8_t* from = ReadBytes(sizeof(T)); from != nullptr) std::memcpy(&value, from, sizeof(T));
    return value;
  }

  uint64_t ReadVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = Read<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }

  // Reads a u32 length followed by that many bytes.
  std::string_view ReadText() {
    const auto length = Read<uint32_t>();
    const uint8_t* from = ReadBytes(length);
    return from == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(from), length);
  }

  // Returns null if fewer than `length` bytes are left.
  const uint8_t* ReadBytes(size_t length) {
    if (!ok_ || remaining() < length) {
      ok_ = false;
      return nullptr;
    }
    const uint8_t* from = at_;
    at_ += length;
    return from;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  bool ok_ = true;
};

}  // namespace quarry
