// How postings are packed: 128 to a block, with what a search has to know of a block to leave it packed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace quarry {

// One term in one row. Counts saturate at 65535 where they are made.
struct Posting {
  uint32_t row;
  uint32_t body;    // occurrences in the text
  uint32_t prefix;  // occurrences in the title and heading path
};

// The prefix counts as a field of low weight.
inline constexpr float kPrefixWeight = 0.3F;
inline float FrequencyOf(uint32_t body, uint32_t prefix) {
  return static_cast<float>(body) + kPrefixWeight * static_cast<float>(prefix);
}

inline constexpr uint32_t kBlockPostings = 128;
// What a list's first row counts its distance from: the row before row 0.
inline constexpr uint32_t kBeforeFirst = 0xffffffff;

// Two numbers of some postings that bound the BM25 gain of each of them, whatever the average row length is: the gain
// falls with 1 / frequency and with length / frequency. Both are the upper halves of floats, rounded to the safe side.
struct GainBounds {
  uint16_t mostFrequent = 0;       // no frequency is greater
  uint16_t leastRatio = kNoRatio;  // no row length / frequency is smaller

  static constexpr uint16_t kNoRatio = 0x7f80;  // infinity

  bool operator==(const GainBounds&) const = default;

  void Include(float frequency, uint32_t length) {
    if (!(frequency > 0)) return;
    const auto above = static_cast<uint16_t>((std::bit_cast<uint32_t>(frequency) + 0xffff) >> 16);
    const auto below = static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(length) / frequency) >> 16);
    mostFrequent = std::max(mostFrequent, above);
    leastRatio = std::min(leastRatio, below);
  }
  float MostFrequent() const { return std::bit_cast<float>(uint32_t{mostFrequent} << 16); }
  float LeastRatio() const { return std::bit_cast<float>(uint32_t{leastRatio} << 16); }
};

// Describes a full block. Relocatable: `place` counts words of 8 bytes from where its keeper says.
struct BlockHead {
  uint32_t lastRow;
  uint32_t place;
  GainBounds bounds;
  uint8_t gapBits;     // 0 to 32
  uint8_t bodyBits;    // 0 to 16; with kBodyFromOne the packed number is the body count less one
  uint8_t prefixBits;  // 0 to 16
  uint8_t exceptions;

  static constexpr uint8_t kBodyFromOne = 0x80;
};
static_assert(sizeof(BlockHead) == 16);

// Packed: 128 gaps (the row's distance to the row before, less one), 128 body counts and 128 prefix counts, each
// number in as many bits as the head says, then the exceptions, then zeros up to a word. Number i lies in the lane
// i % 4 of four interleaved streams of 32-bit words, at bit i / 4 * bits of its stream, so that four are unpacked at
// once and one can be read without the others. An exception is 5 bytes: its posting's index and a u32, which is the
// gap, or with kCountsException in the index body + 65536 * prefix; it replaces what the bits say.
inline constexpr uint8_t kCountsException = 0x80;

// Appends 128 postings, ascending after row `before`, to *words; sets all of *head but `place`, which is the caller's
// to know, and `bounds`.
void PackBlock(const Posting* postings, uint32_t before, std::vector<uint64_t>* words, BlockHead* head);
// Words that a block takes.
size_t PackedWords(const BlockHead& head);

// Writes the block's 128 rows.
void UnpackRows(const BlockHead& head, const uint64_t* words, uint32_t before, uint32_t* rows);
// Writes body + 65536 * prefix of the block's 128 postings.
void UnpackCounts(const BlockHead& head, const uint64_t* words, uint32_t* counts);
// The same of one posting.
uint32_t CountsAt(const BlockHead& head, const uint64_t* words, uint32_t i);

inline float FrequencyOfCounts(uint32_t counts) { return FrequencyOf(counts & 0xffff, counts >> 16); }

// Fewer postings than fill a block are a string of bytes: for each varint gap, varint `body * 2 + (prefix > 0)`, and
// varint `prefix` when it is not zero.
inline constexpr size_t kLoosePostingBytesMax = 5 + 3 + 3;
// Answers how many bytes it wrote.
size_t PutLoose(const Posting& posting, uint32_t before, uint8_t* bytes);
// Reads `count` postings after row `before` into rows and counts, and answers how many bytes they took.
size_t TakeLoose(const uint8_t* bytes, uint32_t count, uint32_t before, uint32_t* rows, uint32_t* counts);
// Whether `length` bytes start with `count` loose postings whose rows ascend from `before` and are below `rows`.
bool CheckLoose(const uint8_t* bytes, size_t length, uint32_t count, uint32_t before, uint32_t rows);

}  // namespace quarry
