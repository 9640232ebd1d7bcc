#include "engine/term_hash.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace quarry {
namespace {

// The ASCII text "Quarry term hash", little-endian. Part of the file format.
constexpr uint64_t kKey0 = 0x7420797272617551;
constexpr uint64_t kKey1 = 0x68736168206d7265;

// Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
struct SipState {
  uint64_t v0 = kKey0 ^ 0x736f6d6570736575;
  uint64_t v1 = kKey1 ^ 0x646f72616e646f6d;
  uint64_t v2 = kKey0 ^ 0x6c7967656e657261;
  uint64_t v3 = kKey1 ^ 0x7465646279746573;

  void Round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Absorb(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

// Reads eight bytes, little-endian.
uint64_t FullWordAt(std::string_view bytes, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

// Reads the last bytes, fewer than eight.
uint64_t LastWordAt(std::string_view bytes, size_t at) {
  uint64_t word = 0;
  for (size_t i = 0; at + i < bytes.size(); i++) {
    word |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  }
  return word;
}

}  // namespace

uint64_t TermHash(std::string_view term) {
  SipState state;
  size_t at = 0;
  for (; at + 8 <= term.size(); at += 8) state.Absorb(FullWordAt(term, at));
  state.Absorb(LastWordAt(term, at) | uint64_t{term.size() & 0xff} << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; i++) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace quarry
