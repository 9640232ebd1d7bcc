// Layout of the snapshot file of a shard, as specified in native/FORMAT.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace quarry {

inline constexpr uint32_t kSnapshotFormat = 5;
inline constexpr uint64_t kSnapshotMagic = 0x3144524148535951;  // the bytes "QYSHARD1"
// Codec that produced the codes; see Codec. Any change of the codes requires a new number.
inline constexpr uint32_t kRotatedCodes = 1;

enum Section : uint32_t {
  kDocuments,
  kRows,
  kLevels,
  kVectors,
  kCodes,
  kLayer0Links,
  kUpperLinks,
  kAttributes,
  kPostings,
  kSections
};
inline constexpr std::array<const char*, kSections> kSectionNames = {
    "documents", "rows", "levels", "vectors", "codes", "layer 0 links", "upper links", "attributes", "postings"};

struct SectionEntry {
  uint64_t offset;
  uint64_t length;
  uint32_t checksum;
  uint32_t kind;
};
static_assert(sizeof(SectionEntry) == 24);

struct SnapshotHeader {
  uint64_t magic;
  uint32_t format;
  uint32_t dimensions;
  uint32_t shard;
  uint32_t shards;
  int64_t sequence;  // -1: no change yet
  uint32_t rows;
  uint32_t slots;
  uint32_t linksLayer0;
  uint32_t linksUpper;
  uint32_t vectorStride;  // floats per row
  uint32_t codec;
  uint32_t codeStride;  // bytes per row
  uint32_t reserved;    // zero
  SectionEntry sections[kSections];
  uint32_t unused;    // zero
  uint32_t checksum;  // of all header bytes before it
};
static_assert(sizeof(SnapshotHeader) == 64 + kSections * sizeof(SectionEntry) + 8);

struct DocumentRecord {
  uint64_t version;
  uint32_t rowCount;
  uint32_t live;  // 1 or 0
};
static_assert(sizeof(DocumentRecord) == 16);

// Returns the offset of a section of `length` bytes if the previous section ends at byte `end`; the bytes between are
// zeros. Large vector sections are aligned to the largest page size of all systems, so that they can be mapped.
constexpr uint64_t SectionStart(uint32_t kind, uint64_t length, uint64_t end) {
  constexpr uint64_t kInPlaceMin = uint64_t{1} << 20;
  const uint64_t alignment = kind == kVectors && length >= kInPlaceMin ? 65536 : 8;
  return (end + alignment - 1) / alignment * alignment;
}

uint32_t HeaderChecksum(const SnapshotHeader& header);

}  // namespace quarry
