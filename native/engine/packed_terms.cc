#include "engine/packed_terms.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/bytes.h"

namespace quarry {
namespace {

constexpr uint32_t kPackedTermsMagic = 0x32425451;  // "QTB2"
constexpr size_t kPackedHeaderBytes = 4 * sizeof(uint32_t);
// The lowest bits of an entry: 0 to 2 are a body count of 1 to 3 without prefix, 3 is followed by both counts.
constexpr uint32_t kCodeBits = 2;
constexpr uint64_t kOtherCounts = 3;
constexpr uint64_t kCountsMax = 0xffff;

Status MalformedPacked(const char* what) {
  return {StatusCode::kInvalid, std::string("malformed packed terms: ") + what};
}

std::vector<uint64_t> ListHashes(const TermBlock& block) {
  std::vector<uint64_t> hashes;
  const TermEntry* entry = block.entries();
  for (uint32_t row = 0; row < block.rows(); ++row) {
    for (const TermEntry* const end = entry + block.EntriesOf(row); entry != end; ++entry) {
      hashes.push_back(entry->hash);
    }
  }
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

// Reads the entries of one row.
Status ReadRow(ByteReader* reader, uint64_t count, const std::vector<uint64_t>& hashes,
               std::vector<TermEntry>* entries) {
  uint64_t next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t value = reader->ReadVarint();
    const uint64_t gap = value >> kCodeBits;
    const uint64_t code = value & kOtherCounts;
    const uint64_t body = code == kOtherCounts ? reader->ReadVarint() : code + 1;
    const uint64_t prefix = code == kOtherCounts ? reader->ReadVarint() : 0;
    if (!reader->ok() || next >= hashes.size() || gap >= hashes.size() - next) {
      return MalformedPacked("a term is missing");
    }
    if (body > kCountsMax || prefix > kCountsMax) return MalformedPacked("a count is too large");
    next += gap;
    entries->push_back({hashes[next], static_cast<uint16_t>(body), static_cast<uint16_t>(prefix), 0});
    ++next;
  }
  return {};
}

}  // namespace

void PackTerms(const TermBlock& block, std::vector<uint8_t>* bytes) {
  const std::vector<uint64_t> hashes = ListHashes(block);
  const uint32_t header[] = {kPackedTermsMagic, block.rows(), static_cast<uint32_t>(hashes.size()), 0};
  const auto append = [&](const void* from, size_t length) {
    const auto* const start = static_cast<const uint8_t*>(from);
    bytes->insert(bytes->end(), start, start + length);
  };
  append(header, sizeof header);
  append(hashes.data(), hashes.size() * sizeof(uint64_t));
  const TermEntry* entry = block.entries();
  for (uint32_t row = 0; row < block.rows(); ++row) {
    PutVarint(bytes, block.EntriesOf(row));
    auto next = hashes.begin();
    for (const TermEntry* const end = entry + block.EntriesOf(row); entry != end; ++entry) {
      const auto found = std::lower_bound(next, hashes.end(), entry->hash);
      const auto gap = static_cast<uint64_t>(found - next);
      const bool isUsual = entry->prefix == 0 && entry->body >= 1 && entry->body <= kOtherCounts;
      PutVarint(bytes, gap << kCodeBits | (isUsual ? entry->body - 1U : kOtherCounts));
      if (!isUsual) {
        PutVarint(bytes, entry->body);
        PutVarint(bytes, entry->prefix);
      }
      next = found + 1;
    }
  }
}

bool HasPackedTerms(const uint8_t* bytes, size_t length) {
  uint32_t magic = 0;
  if (length < sizeof magic) return false;
  std::memcpy(&magic, bytes, sizeof magic);
  return magic == kPackedTermsMagic;
}

Status UnpackTerms(const uint8_t* bytes, size_t length, std::vector<uint64_t>* block, size_t* blockLength) {
  ByteReader reader(bytes, length);
  const uint8_t* const start = reader.ReadBytes(kPackedHeaderBytes);
  if (start == nullptr || !HasPackedTerms(bytes, length)) return MalformedPacked("no header");
  uint32_t header[4];
  std::memcpy(header, start, sizeof header);
  const uint32_t rows = header[1];
  std::vector<uint64_t> hashes;
  // Every row and every hash takes at least one byte, which bounds the memory by the length.
  if (rows > reader.remaining() || header[2] > reader.remaining() / sizeof(uint64_t)) {
    return MalformedPacked("too short");
  }
  hashes.resize(header[2]);
  if (const size_t hashBytes = hashes.size() * sizeof(uint64_t); hashBytes > 0) {
    std::memcpy(hashes.data(), reader.ReadBytes(hashBytes), hashBytes);
  }
  std::vector<uint32_t> counts;
  std::vector<TermEntry> entries;
  for (uint32_t row = 0; row < rows; ++row) {
    const uint64_t count = reader.ReadVarint();
    if (!reader.ok() || count > reader.remaining()) return MalformedPacked("fewer entries than counted");
    counts.push_back(static_cast<uint32_t>(count));
    if (Status status = ReadRow(&reader, count, hashes, &entries); !status.ok()) return status;
  }
  if (reader.remaining() > 0) return MalformedPacked("bytes after the last row");
  const size_t countWords = (counts.size() + 1) / 2;
  block->assign(1 + countWords + 2 * entries.size(), 0);
  *blockLength = block->size() * sizeof(uint64_t);
  const uint32_t blockHeader[] = {kTermBlockMagic, rows};
  std::memcpy(block->data(), blockHeader, sizeof blockHeader);
  if (!counts.empty()) std::memcpy(block->data() + 1, counts.data(), counts.size() * sizeof(uint32_t));
  if (!entries.empty()) {
    std::memcpy(block->data() + 1 + countWords, entries.data(), entries.size() * sizeof(TermEntry));
  }
  return {};
}

}  // namespace quarry
