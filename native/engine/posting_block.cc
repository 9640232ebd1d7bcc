#include "engine/posting_block.h"

#include <array>
#include <cstring>
#include <utility>

#include "engine/bytes.h"

namespace quarry {
namespace {

constexpr uint32_t kLanes = 4;
constexpr uint32_t kSteps = kBlockPostings / kLanes;
constexpr size_t kExceptionBytes = 5;
// More exceptions would not pay. The counts of both kinds together fit into a byte.
constexpr uint32_t kExceptionsMax = 120;

struct Exception {
  uint8_t index;
  uint32_t value;
};

// 128 numbers of `bits` bits take bits * 16 bytes.
constexpr size_t StreamWords(uint32_t bits) { return size_t{bits} * 2; }

uint32_t MaskOf(uint32_t bits) { return bits == 32 ? ~uint32_t{0} : (uint32_t{1} << bits) - 1; }

// The compiler emits SSE2 or NEON, which are part of the base architectures.
using Lanes = uint32_t __attribute__((vector_size(16)));

// Loads four consecutive 32-bit words of the stream.
Lanes LoadLanes(const uint64_t* words, uint32_t step) {
  Lanes lanes;
  std::memcpy(&lanes, words + size_t{step} * 2, sizeof lanes);
  return lanes;
}

template <uint32_t kBits>
void UnpackStream(const uint64_t* words, uint32_t* numbers) {
  if constexpr (kBits == 0) {
    std::fill(numbers, numbers + kBlockPostings, 0U);
  } else {
    const uint32_t mask = kBits == 32 ? ~uint32_t{0} : (uint32_t{1} << (kBits % 32)) - 1;
#pragma GCC unroll 32
    for (uint32_t step = 0; step < kSteps; step++) {
      const uint32_t word = step * kBits / 32;
      const uint32_t shift = step * kBits % 32;
      Lanes lanes = LoadLanes(words, word) >> shift;
      if (shift + kBits > 32) lanes |= LoadLanes(words, word + 1) << (32 - shift);
      lanes &= mask;
      std::memcpy(numbers + step * kLanes, &lanes, sizeof lanes);
    }
  }
}

using Unpacker = void (*)(const uint64_t*, uint32_t*);
template <size_t... kBits>
constexpr std::array<Unpacker, sizeof...(kBits)> MakeUnpackers(std::index_sequence<kBits...>) {
  return {UnpackStream<kBits>...};
}
constexpr auto kUnpackers = MakeUnpackers(std::make_index_sequence<33>());

void PackStream(const uint32_t* numbers, uint32_t bits, std::vector<uint64_t>* words) {
  uint32_t stream[kSteps * kLanes] = {};
  const uint32_t mask = MaskOf(bits);
  for (uint32_t i = 0; i < kBlockPostings && bits > 0; i++) {
    const uint32_t bit = i / kLanes * bits;
    const uint32_t at = bit / 32 * kLanes + i % kLanes;
    const uint32_t number = numbers[i] & mask;
    stream[at] |= number << bit % 32;
    if (bit % 32 + bits > 32) stream[at + kLanes] |= number >> (32 - bit % 32);
  }
  const size_t start = words->size();
  words->resize(start + StreamWords(bits));
  if (bits > 0) std::memcpy(words->data() + start, stream, StreamWords(bits) * sizeof(uint64_t));
}

uint32_t HalfOf(const uint64_t* words, uint32_t i) { return static_cast<uint32_t>(words[i / 2] >> (i % 2 * 32)); }

uint32_t NumberAt(const uint64_t* words, uint32_t bits, uint32_t i) {
  if (bits == 0) return 0;
  const uint32_t bit = i / kLanes * bits;
  const uint32_t at = bit / 32 * kLanes + i % kLanes;
  uint32_t number = HalfOf(words, at) >> bit % 32;
  if (bit % 32 + bits > 32) number |= HalfOf(words, at + kLanes) << (32 - bit % 32);
  return number & MaskOf(bits);
}

// Returns the bit width that minimizes the size of a stream with its exceptions.
uint32_t BestGapBits(const uint32_t* gaps) {
  uint32_t wider[34] = {};  // number of values with at least this many bits
  for (uint32_t i = 0; i < kBlockPostings; i++) wider[std::bit_width(gaps[i])]++;
  for (uint32_t bits = 32; bits > 0; bits--) wider[bits] += wider[bits + 1];
  uint32_t best = 32;
  size_t bytesMin = std::numeric_limits<size_t>::max();
  for (uint32_t bits = 0; bits <= 32; bits++) {
    const size_t bytes = size_t{bits} * 16 + wider[bits + 1] * kExceptionBytes;
    if (wider[bits + 1] > kExceptionsMax || bytes >= bytesMin) continue;
    best = bits;
    bytesMin = bytes;
  }
  return best;
}

// As BestGapBits, for both counts together, which share their exceptions.
std::pair<uint32_t, uint32_t> BestCountBits(const uint32_t* bodies, const uint32_t* prefixes) {
  constexpr uint32_t kWidths = 17;
  uint32_t wide[kWidths][kWidths] = {};  // postings by the widths of both; then cumulative in both directions
  for (uint32_t i = 0; i < kBlockPostings; i++) wide[std::bit_width(bodies[i])][std::bit_width(prefixes[i])]++;
  std::pair<uint32_t, uint32_t> best{16, 16};
  size_t bytesMin = std::numeric_limits<size_t>::max();
  for (uint32_t body = 0; body < kWidths; body++) {
    for (uint32_t prefix = 0; prefix < kWidths; prefix++) {
      if (body > 0) wide[body][prefix] += wide[body - 1][prefix];
      if (prefix > 0) wide[body][prefix] += wide[body][prefix - 1];
      if (body > 0 && prefix > 0) wide[body][prefix] -= wide[body - 1][prefix - 1];
      const uint32_t exceptions = kBlockPostings - wide[body][prefix];
      const size_t bytes = size_t{body + prefix} * 16 + exceptions * kExceptionBytes;
      if (exceptions > kExceptionsMax || bytes >= bytesMin) continue;
      best = {body, prefix};
      bytesMin = bytes;
    }
  }
  return best;
}

struct Layout {
  uint32_t bodyBits;
  const uint64_t* bodies;
  const uint64_t* prefixes;
  const uint8_t* exceptions;
  uint32_t one;  // added to each packed body count
};
Layout LayoutOf(const BlockHeader& header, const uint64_t* words) {
  const uint32_t bodyBits = header.bodyBits & ~BlockHeader::kBodyFromOne;
  const uint64_t* bodies = words + StreamWords(header.gapBits);
  const uint64_t* prefixes = bodies + StreamWords(bodyBits);
  const auto* exceptions = reinterpret_cast<const uint8_t*>(prefixes + StreamWords(header.prefixBits));
  return {bodyBits, bodies, prefixes, exceptions, (header.bodyBits & BlockHeader::kBodyFromOne) != 0 ? 1U : 0U};
}

Exception ExceptionAt(const uint8_t* bytes, uint32_t i) {
  Exception exception{};
  exception.index = bytes[i * kExceptionBytes];
  std::memcpy(&exception.value, bytes + i * kExceptionBytes + 1, sizeof exception.value);
  return exception;
}

size_t EncodeVarint(uint8_t* at, uint32_t value) {
  size_t length = 0;
  while (value >= 0x80) {
    at[length++] = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  at[length++] = static_cast<uint8_t>(value);
  return length;
}

uint32_t DecodeVarint(const uint8_t** at) {
  uint32_t value = *(*at)++;
  if (value < 0x80) return value;
  value &= 0x7f;
  for (int shift = 7;; shift += 7) {
    const uint8_t byte = *(*at)++;
    value |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

}  // namespace

void PackBlock(const Posting* postings, uint32_t before, std::vector<uint64_t>* words, BlockHeader* header) {
  uint32_t gaps[kBlockPostings];
  uint32_t bodies[kBlockPostings];
  uint32_t prefixes[kBlockPostings];
  bool fromOne = true;
  for (uint32_t i = 0; i < kBlockPostings; i++) fromOne = fromOne && postings[i].body > 0;
  for (uint32_t i = 0; i < kBlockPostings; before = postings[i].row, i++) {
    gaps[i] = postings[i].row - before - 1;
    bodies[i] = postings[i].body - (fromOne ? 1 : 0);
    prefixes[i] = postings[i].prefix;
  }
  const uint32_t gapBits = BestGapBits(gaps);
  const auto [bodyBits, prefixBits] = BestCountBits(bodies, prefixes);
  PackStream(gaps, gapBits, words);
  PackStream(bodies, bodyBits, words);
  PackStream(prefixes, prefixBits, words);
  std::vector<uint8_t> exceptions;
  const auto except = [&](uint32_t index, uint32_t value) {
    exceptions.push_back(static_cast<uint8_t>(index));
    for (int shift = 0; shift < 32; shift += 8) exceptions.push_back(static_cast<uint8_t>(value >> shift));
  };
  for (uint32_t i = 0; i < kBlockPostings; i++) {
    if (gaps[i] > MaskOf(gapBits)) except(i, gaps[i]);
    if (bodies[i] <= MaskOf(bodyBits) && prefixes[i] <= MaskOf(prefixBits)) continue;
    except(i | kCountsException, postings[i].body | postings[i].prefix << 16);
  }
  header->lastRow = before;
  header->gapBits = static_cast<uint8_t>(gapBits);
  header->bodyBits = static_cast<uint8_t>(bodyBits | (fromOne ? BlockHeader::kBodyFromOne : 0));
  header->prefixBits = static_cast<uint8_t>(prefixBits);
  header->exceptions = static_cast<uint8_t>(exceptions.size() / kExceptionBytes);
  const size_t start = words->size();
  words->resize(start + (exceptions.size() + 7) / 8);
  if (!exceptions.empty()) std::memcpy(words->data() + start, exceptions.data(), exceptions.size());
}

size_t PackedWords(const BlockHeader& header) {
  const uint32_t bodyBits = header.bodyBits & ~BlockHeader::kBodyFromOne;
  return StreamWords(uint32_t{header.gapBits} + bodyBits + header.prefixBits) +
         (size_t{header.exceptions} * kExceptionBytes + 7) / 8;
}

void UnpackRows(const BlockHeader& header, const uint64_t* words, uint32_t before, uint32_t* rows) {
  kUnpackers[header.gapBits](words, rows);
  if (header.exceptions > 0) {
    const uint8_t* exceptions = LayoutOf(header, words).exceptions;
    for (uint32_t i = 0; i < header.exceptions; i++) {
      const Exception exception = ExceptionAt(exceptions, i);
      if ((exception.index & kCountsException) == 0) rows[exception.index] = exception.value;
    }
  }
  uint32_t row = before;
  for (uint32_t i = 0; i < kBlockPostings; i++) rows[i] = row += rows[i] + 1;
}

void UnpackCounts(const BlockHeader& header, const uint64_t* words, uint32_t* counts) {
  const Layout layout = LayoutOf(header, words);
  kUnpackers[layout.bodyBits](layout.bodies, counts);
  for (uint32_t i = 0; i < kBlockPostings; i++) counts[i] += layout.one;
  if (header.prefixBits > 0) {
    uint32_t prefixes[kBlockPostings];
    kUnpackers[header.prefixBits](layout.prefixes, prefixes);
    for (uint32_t i = 0; i < kBlockPostings; i++) counts[i] |= prefixes[i] << 16;
  }
  for (uint32_t i = 0; i < header.exceptions; i++) {
    const Exception exception = ExceptionAt(layout.exceptions, i);
    if ((exception.index & kCountsException) != 0) counts[exception.index & ~kCountsException] = exception.value;
  }
}

uint32_t CountsAt(const BlockHeader& header, const uint64_t* words, uint32_t i) {
  const Layout layout = LayoutOf(header, words);
  for (uint32_t e = 0; e < header.exceptions; e++) {
    const Exception exception = ExceptionAt(layout.exceptions, e);
    if (exception.index == (i | kCountsException)) return exception.value;
  }
  return (NumberAt(layout.bodies, layout.bodyBits, i) + layout.one) | NumberAt(layout.prefixes, header.prefixBits, i)
                                                                          << 16;
}

size_t EncodeTailPosting(const Posting& posting, uint32_t before, uint8_t* bytes) {
  size_t length = EncodeVarint(bytes, posting.row - before - 1);
  length += EncodeVarint(bytes + length, posting.body << 1 | (posting.prefix > 0 ? 1 : 0));
  if (posting.prefix > 0) length += EncodeVarint(bytes + length, posting.prefix);
  return length;
}

size_t DecodeTail(const uint8_t* bytes, uint32_t count, uint32_t before, uint32_t* rows, uint32_t* counts) {
  const uint8_t* at = bytes;
  uint32_t row = before;
  for (uint32_t i = 0; i < count; i++) {
    rows[i] = row += DecodeVarint(&at) + 1;
    counts[i] = DecodeVarint(&at);
    counts[i] = (counts[i] & 1) == 0 ? counts[i] >> 1 : counts[i] >> 1 | DecodeVarint(&at) << 16;
  }
  return static_cast<size_t>(at - bytes);
}

bool CheckTail(const uint8_t* bytes, size_t length, uint32_t count, uint32_t before, uint32_t rows) {
  ByteReader in(bytes, length);
  uint64_t next = before == kBeforeFirst ? 0 : uint64_t{before} + 1;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t gap = in.ReadVarint();
    const uint64_t counts = in.ReadVarint();
    const uint64_t prefix = (counts & 1) != 0 ? in.ReadVarint() : 0;
    if (!in.ok() || gap >= rows || next + gap >= rows || counts >> 1 > 0xffff || prefix > 0xffff) return false;
    next += gap + 1;
  }
  return true;
}

}  // namespace quarry
