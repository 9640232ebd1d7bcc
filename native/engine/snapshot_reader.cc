#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "engine/bytes.h"
#include "engine/checksum.h"
#include "engine/file.h"
#include "engine/packed_postings.h"
#include "engine/parallel.h"
#include "engine/snapshot.h"
#include "engine/snapshot_layout.h"

namespace quarry {
namespace {

// Bytes read and checked at a time, so that checksums are computed while the data is in the CPU cache.
constexpr size_t kPieceBytes = size_t{256} << 10;
// Up to this many bytes of vectors, a separate thread does not pay.
constexpr uint64_t kSingleThreadBytesMax = uint64_t{1} << 20;

// `problem` follows the path of the file, such as "is truncated".
Status Damaged(const ReadableFile& file, const std::string& problem) {
  return {StatusCode::kDamaged, file.path() + " " + problem};
}
Status InvalidSection(const ReadableFile& file, uint32_t kind) {
  return Damaged(file, std::string("has an invalid section \"") + kSectionNames[kind] + "\"");
}

// Reads the bytes of one section sequentially and computes their checksum.
class SectionStream {
 public:
  SectionStream(const ReadableFile& file, const SectionEntry& entry) : file_(file), entry_(entry) {}

  // `length` must not exceed the remaining bytes of the section.
  Status Read(void* bytes, size_t length) {
    auto* to = static_cast<uint8_t*>(bytes);
    while (length > 0) {
      const size_t piece = std::min(length, kPieceBytes);
      if (Status status = file_.ReadAt(entry_.offset + done_, to, piece); !status.ok()) return status;
      checksum_.Add(to, piece);
      to += piece;
      done_ += piece;
      length -= piece;
    }
    return {};
  }
  // Reads the remaining bytes only to verify the checksum.
  Status VerifyRest() {
    const std::unique_ptr<uint8_t[]> piece(new uint8_t[kPieceBytes]);
    while (done_ < entry_.length) {
      if (Status status = Read(piece.get(), std::min<uint64_t>(kPieceBytes, entry_.length - done_)); !status.ok()) {
        return status;
      }
    }
    return Check();
  }
  // Verifies the checksum. Call it after the last byte was read.
  Status Check() const {
    if (checksum_.Value() == entry_.checksum) return {};
    return Damaged(file_, std::string("has a checksum mismatch in the section \"") + kSectionNames[entry_.kind] + "\"");
  }

 private:
  const ReadableFile& file_;
  const SectionEntry& entry_;
  uint64_t done_ = 0;
  Crc32c checksum_;
};

// Allocates `length` bytes that are returned to the system as soon as they are released: an allocator may
// cache megabytes of freed memory per thread.
std::shared_ptr<uint64_t[]> MapWords(size_t length) {
  const size_t mapped = std::max<size_t>(length, 1);
  void* const start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<uint64_t*>(start), [mapped](uint64_t* words) { munmap(words, mapped); }};
}

class SnapshotReader {
 public:
  explicit SnapshotReader(const SnapshotIdentity& identity) : identity_(identity) {}

  Status Read(const std::string& path, std::shared_ptr<Shard>* shard, int64_t* sequence) {
    if (Status status = file_.Open(path); !status.ok()) return status;
    if (Status status = CheckHeader(); !status.ok()) return status;
    if (Status status = CheckSections(); !status.ok()) return status;
    shard_ = std::make_shared<Shard>(identity_.dimensions);
    // The vectors are most of the bytes and are only checked, not copied, so a second thread does it.
    const size_t threads = header_.sections[kVectors].length > kSingleThreadBytesMax ? 2 : 1;
    const Status status = RunParallel(2, threads, [this](size_t job) {
      return job == 0 ? SectionStream(file_, header_.sections[kVectors]).VerifyRest() : ReadSections();
    });
    if (!status.ok()) return status;
    if (Status kept = MapVectors(); !kept.ok()) return kept;
    *shard = std::move(shard_);
    *sequence = header_.sequence;
    return {};
  }

 private:
  // Bytes aligned for any number type.
  struct Bytes {
    std::shared_ptr<uint64_t[]> words;
    size_t length = 0;
    ByteReader Reader() const { return {reinterpret_cast<const uint8_t*>(words.get()), length}; }
  };

  Status CheckHeader() {
    if (file_.length() < sizeof header_) return Damaged(file_, "is shorter than its header");
    if (Status status = file_.ReadAt(0, &header_, sizeof header_); !status.ok()) return status;
    if (header_.magic != kSnapshotMagic) return Damaged(file_, "is not a shard snapshot");
    if (header_.format != kSnapshotFormat) {
      return Damaged(file_, "has the unsupported format " + std::to_string(header_.format) +
                                "; this version of Quarry reads format " + std::to_string(kSnapshotFormat));
    }
    if (header_.checksum != HeaderChecksum(header_)) return Damaged(file_, "has a checksum mismatch in the header");
    if (header_.dimensions != identity_.dimensions) {
      return Damaged(file_, "has " + std::to_string(header_.dimensions) + " dimensions, the collection " +
                                std::to_string(identity_.dimensions));
    }
    if (header_.shard != identity_.shard || header_.shards != identity_.shards) {
      return Damaged(file_, "is shard " + std::to_string(header_.shard) + " of " + std::to_string(header_.shards) +
                                ", expected " + std::to_string(identity_.shard) + " of " +
                                std::to_string(identity_.shards));
    }
    if (header_.linksLayer0 != Graph::kLinksLayer0 || header_.linksUpper != Graph::kLinksUpper) {
      return Damaged(file_, "has a graph with different link counts");
    }
    if (header_.vectorStride != PaddedDimensions(identity_.dimensions) || header_.codec != kRotatedCodes ||
        header_.codeStride != Codec(identity_.dimensions).stride()) {
      return Damaged(file_, "has a different codec or row length");
    }
    return {};
  }

  // Verifies that the sections are contiguous and end at the end of the file.
  Status CheckSections() const {
    uint64_t end = sizeof header_;
    for (uint32_t kind = 0; kind < kSections; kind++) {
      const SectionEntry& entry = header_.sections[kind];
      if (entry.kind != kind || entry.offset != SectionStart(kind, entry.length, end))
        return InvalidSection(file_, kind);
      if (entry.offset > file_.length() || entry.length > file_.length() - entry.offset) {
        return Damaged(file_, "is truncated");
      }
      std::vector<uint8_t> padding(entry.offset - end);
      if (Status status = file_.ReadAt(end, padding.data(), padding.size()); !status.ok()) return status;
      if (std::any_of(padding.begin(), padding.end(), [](uint8_t byte) { return byte != 0; }))
        return InvalidSection(file_, kind);
      end = entry.offset + entry.length;
    }
    if (end != file_.length()) return Damaged(file_, "has trailing data");
    const uint64_t rows = header_.rows;
    const std::pair<Section, uint64_t> lengths[] = {{kDocuments, header_.slots * sizeof(DocumentRecord)},
                                                    {kRows, rows * sizeof(uint32_t)},
                                                    {kLevels, rows},
                                                    {kVectors, rows * header_.vectorStride * sizeof(float)},
                                                    {kCodes, rows * header_.codeStride},
                                                    {kLayer0Links, rows * Graph::kLinksLayer0 * sizeof(uint32_t)}};
    for (const auto& [kind, length] : lengths) {
      if (header_.sections[kind].length != length) return InvalidSection(file_, kind);
    }
    return {};
  }

  // Reads everything except the vectors.
  Status ReadSections() {
    using Step = bool (SnapshotReader::*)(ByteReader*);
    const std::pair<Section, Step> small[] = {{kDocuments, &SnapshotReader::ReadDocuments},
                                              {kRows, &SnapshotReader::ReadRows},
                                              {kLevels, &SnapshotReader::ReadLevels},
                                              {kUpperLinks, &SnapshotReader::ReadUpperLinks},
                                              {kAttributes, &SnapshotReader::ReadAttributes}};
    for (const auto& [kind, step] : small) {
      Bytes bytes;
      if (Status status = Load(kind, &bytes); !status.ok()) return status;
      ByteReader reader = bytes.Reader();
      if (!(this->*step)(&reader) || !reader.ok() || reader.remaining() != 0) return InvalidSection(file_, kind);
    }
    if (Status status = ReadCodes(); !status.ok()) return status;
    if (Status status = ReadLayer0Links(); !status.ok()) return status;
    return ReadPostings();
  }
  Status Load(Section kind, Bytes* bytes) {
    const SectionEntry& entry = header_.sections[kind];
    bytes->length = entry.length;
    bytes->words = MapWords(entry.length);
    SectionStream stream(file_, entry);
    if (Status status = stream.Read(bytes->words.get(), entry.length); !status.ok()) return status;
    return stream.Check();
  }

  bool ReadDocuments(ByteReader* in) {
    shard_->ReserveForRestore(header_.slots, header_.rows);
    uint64_t rows = 0;
    for (uint32_t slot = 0; slot < header_.slots; slot++) {
      const auto record = in->Read<DocumentRecord>();
      rows += record.rowCount;
      if (rows > header_.rows) return false;
      shard_->RestoreDocument(record.version, record.live == 1, record.rowCount);
    }
    return rows == header_.rows;
  }
  bool ReadRows(ByteReader* in) {
    for (uint32_t row = 0; row < header_.rows; row++) shard_->RestoreLength(row, in->Read<uint32_t>());
    return true;
  }
  bool ReadLevels(ByteReader* in) {
    const uint8_t* const levels = in->ReadBytes(header_.rows);
    levels_.assign(levels, levels + header_.rows);
    for (uint32_t row = 0; row < header_.rows; row++) {
      if (levels_[row] > Graph::kLevelMax) return false;
      shard_->graphForRestore().RestoreRow(row, levels_[row]);
    }
    return true;
  }
  bool ReadUpperLinks(ByteReader* in) {
    for (uint32_t level = 1; level <= Graph::kLevelMax; level++) {
      for (uint32_t row = 0; row < header_.rows; row++) {
        if (levels_[row] < level) continue;
        if (in->Read<uint32_t>() != row || !ReadLinks(in, row, level)) return false;
      }
    }
    return true;
  }
  bool ReadLinks(ByteReader* in, uint32_t row, uint32_t level) {
    const auto count = in->Read<uint8_t>();
    if (count > Graph::kLinksUpper) return false;
    uint32_t links[Graph::kLinksUpper];
    for (uint32_t i = 0; i < count; i++) {
      links[i] = in->Read<uint32_t>();
      if (links[i] >= header_.rows || levels_[links[i]] < level) return false;
    }
    if (in->ok()) shard_->graphForRestore().RestoreLinks(row, level, links, count);
    return in->ok();
  }
  bool ReadAttributes(ByteReader* in) {
    std::vector<uint32_t> slots;
    while (in->remaining() > 0) {
      const std::string_view name = in->ReadText();
      const std::string_view value = in->ReadText();
      const auto count = in->Read<uint32_t>();
      if (!in->ok() || count > in->remaining()) return false;
      slots.clear();
      uint64_t slot = 0;
      for (uint32_t i = 0; i < count; i++) {
        slot += in->ReadVarint();
        if (!in->ok() || slot >= header_.slots) return false;
        slots.push_back(static_cast<uint32_t>(slot));
      }
      shard_->attributesForRestore().AddValue(slots, name, value);
    }
    return true;
  }

  Status ReadCodes() {
    SectionStream stream(file_, header_.sections[kCodes]);
    Status status;
    shard_->codesForRestore().ForRuns(header_.rows, [&](uint8_t* codes, size_t length) {
      status = stream.Read(codes, length);
      return status.ok();
    });
    return status.ok() ? stream.Check() : status;
  }
  Status ReadLayer0Links() {
    SectionStream stream(file_, header_.sections[kLayer0Links]);
    Graph& graph = shard_->graphForRestore();
    Status status;
    graph.ForLayer0Runs(header_.rows, [&](void* links, size_t length) {
      status = stream.Read(links, length);
      return status.ok();
    });
    if (status.ok()) status = stream.Check();
    if (!status.ok()) return status;
    return graph.CheckLayer0(header_.rows) ? Status() : InvalidSection(file_, kLayer0Links);
  }
  Status ReadPostings() {
    Bytes bytes;
    if (Status status = Load(kPostings, &bytes); !status.ok()) return status;
    PackedPostings packed;
    if (!PackedPostings::Parse(bytes.words.get(), bytes.length, header_.rows, &packed))
      return InvalidSection(file_, kPostings);
    shard_->postingsForRestore().Adopt(packed, bytes.length, bytes.words);
    return {};
  }

  // Call after the vectors were checked. Vectors that cannot be mapped are copied.
  Status MapVectors() {
    const uint64_t offset = header_.sections[kVectors].offset;
    const uint32_t kept = shard_->MoveVectorsToFile(file_.descriptor(), offset, header_.rows);
    const size_t rowBytes = header_.vectorStride * sizeof(float);
    for (uint32_t row = kept; row < header_.rows; row++) {
      if (Status status = file_.ReadAt(offset + row * rowBytes, shard_->vectorForRestore(row), rowBytes);
          !status.ok()) {
        return status;
      }
    }
    return {};
  }

  const SnapshotIdentity identity_;
  ReadableFile file_;
  SnapshotHeader header_{};
  std::shared_ptr<Shard> shard_;
  std::vector<uint8_t> levels_;
};

}  // namespace

Status ReadShardSnapshot(const std::string& path, const SnapshotIdentity& identity, std::shared_ptr<Shard>* shard,
                         int64_t* sequence) {
  return SnapshotReader(identity).Read(path, shard, sequence);
}

}  // namespace quarry
