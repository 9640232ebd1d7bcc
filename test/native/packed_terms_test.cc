#include "engine/packed_terms.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "check.h"
#include "samples.h"

namespace quarry {
namespace {

using test::Random;
using test::RandomBelow;

// Bytes of a term block in words, with rows that share some of their terms.
std::vector<uint64_t> RandomTerms(Random* random, uint32_t rows, size_t* length) {
  constexpr uint32_t kCounts[] = {0, 1, 2, 3, 4, 300, 65535};
  std::vector<uint32_t> counts;
  std::vector<TermEntry> entries;
  for (uint32_t row = 0; row < rows; ++row) {
    std::set<uint64_t> hashes;
    const uint32_t terms = RandomBelow(random, 60);
    for (uint32_t i = 0; i < terms; ++i) hashes.insert(RandomBelow(random, 100) * 0x9e3779b97f4a7c15);
    for (const uint64_t hash : hashes) {
      entries.push_back({hash, static_cast<uint16_t>(kCounts[RandomBelow(random, 7)]),
                         static_cast<uint16_t>(kCounts[RandomBelow(random, 3) == 0 ? RandomBelow(random, 7) : 0]), 0});
    }
    counts.push_back(static_cast<uint32_t>(hashes.size()));
  }
  const size_t countWords = (counts.size() + 1) / 2;
  std::vector<uint64_t> block(1 + countWords + 2 * entries.size());
  const uint32_t header[] = {kTermBlockMagic, rows};
  std::memcpy(block.data(), header, sizeof header);
  if (!counts.empty()) std::memcpy(block.data() + 1, counts.data(), counts.size() * sizeof(uint32_t));
  if (!entries.empty()) {
    std::memcpy(block.data() + 1 + countWords, entries.data(), entries.size() * sizeof(TermEntry));
  }
  *length = block.size() * sizeof(uint64_t);
  return block;
}

std::vector<uint8_t> Packed(const std::vector<uint64_t>& words, size_t length) {
  TermBlock block;
  CHECK(TermBlock::Parse(reinterpret_cast<const uint8_t*>(words.data()), length, &block).ok());
  std::vector<uint8_t> packed;
  PackTerms(block, &packed);
  return packed;
}

TEST("packed terms unpack to the same block") {
  Random random(31);
  for (uint32_t rows = 0; rows < 40; ++rows) {
    size_t length = 0;
    const std::vector<uint64_t> words = RandomTerms(&random, rows, &length);
    CHECK(!HasPackedTerms(reinterpret_cast<const uint8_t*>(words.data()), length));
    const std::vector<uint8_t> packed = Packed(words, length);
    CHECK(HasPackedTerms(packed.data(), packed.size()));
    std::vector<uint64_t> unpacked;
    size_t unpackedLength = 0;
    CHECK(UnpackTerms(packed.data(), packed.size(), &unpacked, &unpackedLength).ok());
    CHECK(unpackedLength == length);
    CHECK(unpacked == words);
    if (rows > 8) CHECK(packed.size() < length / 2);
  }
}

TEST("malformed packed terms are rejected, and no change of a byte is fatal") {
  Random random(32);
  size_t length = 0;
  const std::vector<uint64_t> words = RandomTerms(&random, 7, &length);
  const std::vector<uint8_t> packed = Packed(words, length);
  std::vector<uint64_t> unpacked;
  size_t unpackedLength = 0;
  for (size_t end = 0; end < packed.size(); ++end) {
    const std::vector<uint8_t> start(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(end));
    CHECK(UnpackTerms(start.data(), start.size(), &unpacked, &unpackedLength).code() == StatusCode::kInvalid);
  }
  std::vector<uint8_t> longer = packed;
  longer.push_back(0);
  CHECK(UnpackTerms(longer.data(), longer.size(), &unpacked, &unpackedLength).code() == StatusCode::kInvalid);
  for (size_t i = 0; i < packed.size(); ++i) {
    std::vector<uint8_t> changed = packed;
    changed[i] = static_cast<uint8_t>(RandomBelow(&random, 256));
    if (!UnpackTerms(changed.data(), changed.size(), &unpacked, &unpackedLength).ok()) continue;
    TermBlock block;
    // The result is a term block or is rejected, whatever the changed byte meant.
    const Status status = TermBlock::Parse(reinterpret_cast<const uint8_t*>(unpacked.data()), unpackedLength, &block);
    CHECK(status.ok() || status.code() == StatusCode::kInvalid);
  }
}

}  // namespace
}  // namespace quarry
