// Packed blocks of 128 postings, with the bounds that let a search skip a block without unpacking it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace quarry {

// One term in one row. Counts saturate at 65535 when they are computed.
struct Posting {
  uint32_t row;
  uint32_t body;    // occurrences in the text
  uint32_t prefix;  // occurrences in the title and heading path
};

// Weight of an occurrence in the prefix, relative to one in the text.
inline constexpr float kPrefixWeight = 0.3F;
inline float FrequencyOf(uint32_t body, uint32_t prefix) {
  return static_cast<float>(body) + kPrefixWeight * static_cast<float>(prefix);
}

inline constexpr uint32_t kBlockPostings = 128;
// Predecessor of a list's first row: the row before row 0.
inline constexpr uint32_t kBeforeFirst = 0xffffffff;

// Bounds of a group of postings that bound the BM25 gain of each, for any average row length: the gain decreases with
// 1 / frequency and with length / frequency. Both are the upper halves of floats, rounded toward a higher gain.
struct GainBounds {
  uint16_t frequencyMax = 0;           // upper bound on the frequency
  uint16_t lengthRatioMin = kNoRatio;  // lower bound on row length / frequency

  static constexpr uint16_t kNoRatio = 0x7f80;  // infinity

  bool operator==(const GainBounds&) const = default;

  void Include(float frequency, uint32_t length) {
    if (!(frequency > 0)) return;
    const auto above = static_cast<uint16_t>((std::bit_cast<uint32_t>(frequency) + 0xffff) >> 16);
    const auto below = static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(length) / frequency) >> 16);
    frequencyMax = std::max(frequencyMax, above);
    lengthRatioMin = std::min(lengthRatioMin, below);
  }
  float FrequencyMax() const { return std::bit_cast<float>(uint32_t{frequencyMax} << 16); }
  float LengthRatioMin() const { return std::bit_cast<float>(uint32_t{lengthRatioMin} << 16); }
};

// Describes a full block. Relocatable: `offset` counts words of 8 bytes from a base that the owner defines.
struct BlockHeader {
  uint32_t lastRow;
  uint32_t offset;
  GainBounds bounds;
  uint8_t gapBits;     // 0 to 32
  uint8_t bodyBits;    // 0 to 16; with kBodyFromOne the packed number is the body count minus one
  uint8_t prefixBits;  // 0 to 16
  uint8_t exceptions;

  static constexpr uint8_t kBodyFromOne = 0x80;
};
static_assert(sizeof(BlockHeader) == 16);

// Block format: 128 gaps (distance to the previous row, minus one), 128 body counts and 128 prefix counts,
// with the bit widths in the header, then the exceptions, then zeros up to a word. Number i lies in lane i % 4
// of four interleaved streams of 32-bit words, at bit i / 4 * bits of its stream, so that four are unpacked
// at once and single numbers can be read. An exception is 5 bytes: the index of its posting and a u32, which
// is the gap, or with kCountsException in the index body + 65536 * prefix. It replaces the packed value.
inline constexpr uint8_t kCountsException = 0x80;

// Appends 128 postings, ascending after row `before`, to *words. Sets all of *header except `offset` and
// `bounds`, which the caller sets.
void PackBlock(const Posting* postings, uint32_t before, std::vector<uint64_t>* words, BlockHeader* header);
// Returns the size of a block in words.
size_t PackedWords(const BlockHeader& header);

// Writes the 128 rows of the block to `rows`.
void UnpackRows(const BlockHeader& header, const uint64_t* words, uint32_t before, uint32_t* rows);
// Writes body + 65536 * prefix of the 128 postings of the block to `counts`.
void UnpackCounts(const BlockHeader& header, const uint64_t* words, uint32_t* counts);
// Returns body + 65536 * prefix of posting `i`.
uint32_t CountsAt(const BlockHeader& header, const uint64_t* words, uint32_t i);

inline float FrequencyOfCounts(uint32_t counts) { return FrequencyOf(counts & 0xffff, counts >> 16); }

// Tail: the postings that do not fill a block, as a byte string: for each, varint gap, varint `body * 2 +
// (prefix > 0)`, and varint `prefix` if it is not zero.
inline constexpr size_t kTailPostingBytesMax = 5 + 3 + 3;
// Returns the number of bytes written.
size_t EncodeTailPosting(const Posting& posting, uint32_t before, uint8_t* bytes);
// Reads `count` postings after row `before` into rows and counts. Returns the number of bytes read.
size_t DecodeTail(const uint8_t* bytes, uint32_t count, uint32_t before, uint32_t* rows, uint32_t* counts);
// Whether `length` bytes start with a tail of `count` postings whose rows ascend after `before` and are below `rows`.
bool CheckTail(const uint8_t* bytes, size_t length, uint32_t count, uint32_t before, uint32_t rows);

}  // namespace quarry
