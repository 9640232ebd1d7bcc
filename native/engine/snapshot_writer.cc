#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/bytes.h"
#include "engine/checksum.h"
#include "engine/file.h"
#include "engine/packed_postings.h"
#include "engine/snapshot.h"
#include "engine/snapshot_layout.h"

namespace quarry {
namespace {

// Bytes written between two calls of `proceed`.
constexpr size_t kPieceBytes = size_t{16} << 20;

// Tracks the length and checksum of one section while it is written.
class SectionWriter {
 public:
  // `length` matters only for sections whose alignment depends on it.
  SectionWriter(AtomicFile* file, Section kind, uint64_t length) : file_(file), kind_(kind) {
    const uint64_t start = SectionStart(kind, length, file->written());
    const std::vector<uint8_t> zeros(start - file->written());
    file->Write(zeros.data(), zeros.size());
    start_ = start;
  }
  void Add(const void* bytes, size_t length) {
    checksum_.Add(bytes, length);
    file_->Write(bytes, length);
  }
  template <class T>
  void AddValue(const T& value) {
    Add(&value, sizeof value);
  }
  void AddText(std::string_view text) {
    AddValue(static_cast<uint32_t>(text.size()));
    Add(text.data(), text.size());
  }
  SectionEntry Entry() const { return {start_, file_->written() - start_, checksum_.Value(), kind_}; }

 private:
  AtomicFile* const file_;
  const Section kind_;
  uint64_t start_;
  Crc32c checksum_;
};

class SnapshotWriter {
 public:
  SnapshotWriter(Shard* shard, const SnapshotPoint& point, const SnapshotIdentity& identity, const std::string& path,
                 const SnapshotPermit& permit)
      : target_(shard), shard_(*shard), point_(point), permit_(permit), file_(path) {
    header_.magic = kSnapshotMagic;
    header_.format = kSnapshotFormat;
    header_.dimensions = identity.dimensions;
    header_.shard = identity.shard;
    header_.shards = identity.shards;
    header_.sequence = point.sequence;
    header_.rows = point.rows;
    header_.slots = point.slots;
    header_.linksLayer0 = Graph::kLinksLayer0;
    header_.linksUpper = Graph::kLinksUpper;
    header_.vectorStride = static_cast<uint32_t>(shard_.stride());
    header_.codec = kRotatedCodes;
    header_.codeStride = static_cast<uint32_t>(shard_.codes().codec().stride());
    // Read the levels once: rows may be linked while the file is written. A row that is not linked yet is
    // written with level 0; it is not committed, so no search needs it.
    const Graph& graph = shard_.graph();
    levels_.reserve(point.rows);
    for (uint32_t row = 0; row < point.rows; row++) {
      levels_.push_back(graph.IsInserted(row) ? static_cast<uint8_t>(graph.LevelOf(row)) : uint8_t{0});
    }
  }

  Status Write(uint64_t* bytes) {
    file_.Write(&header_, sizeof header_);
    using Step = Status (SnapshotWriter::*)(SectionWriter*) const;
    constexpr std::array<Step, kSections> steps = {
        &SnapshotWriter::WriteDocuments,  &SnapshotWriter::WriteRows,       &SnapshotWriter::WriteLevels,
        &SnapshotWriter::WriteVectors,    &SnapshotWriter::WriteCodes,      &SnapshotWriter::WriteLayer0Links,
        &SnapshotWriter::WriteUpperLinks, &SnapshotWriter::WriteAttributes, &SnapshotWriter::WritePostings};
    for (uint32_t kind = 0; kind < kSections; kind++) {
      if (Status status = permit_.proceed(); !status.ok()) return status;
      SectionWriter section(&file_, static_cast<Section>(kind), shard_.VectorBytes(point_.rows));
      if (Status status = (this->*steps[kind])(&section); !status.ok()) return status;
      header_.sections[kind] = section.Entry();
    }
    if (shard_.HasVectorReadFailed())
      return {StatusCode::kDamaged, "the vectors of the shard cannot be read from their file"};
    header_.checksum = HeaderChecksum(header_);
    file_.WriteAt(0, &header_, sizeof header_);
    if (Status status = file_.Commit(permit_.renameMutex, permit_.proceed); !status.ok()) return status;
    target_->MoveVectorsToFile(file_.descriptor(), header_.sections[kVectors].offset, point_.rows);
    *bytes += file_.written();
    return {};
  }

 private:
  bool IsLive(uint32_t slot) const { return shard_.IsSlotVisible(slot, point_.epoch); }

  Status WriteDocuments(SectionWriter* out) const {
    for (uint32_t slot = 0; slot < point_.slots; slot++) {
      const DocumentSlot& document = shard_.Document(slot);
      out->AddValue(DocumentRecord{document.version, document.rowCount, IsLive(slot) ? 1U : 0U});
    }
    return {};
  }
  Status WriteRows(SectionWriter* out) const {
    for (uint32_t row = 0; row < point_.rows; row++) out->AddValue(shard_.Info(row).bodyLength);
    return {};
  }
  Status WriteLevels(SectionWriter* out) const {
    out->Add(levels_.data(), levels_.size());
    return {};
  }
  // Adds rows of `width` bytes in their memory layout. `rowAt(row)` returns the address of a row.
  template <class RowAt>
  Status Copy(SectionWriter* out, size_t width, const RowAt& rowAt) const {
    const auto piece = static_cast<uint32_t>(kPieceBytes / width);
    for (uint32_t row = 0; row < point_.rows; row++) {
      if (row % piece == 0) {
        if (Status status = permit_.proceed(); !status.ok()) return status;
      }
      out->Add(rowAt(row), width);
    }
    return {};
  }
  Status WriteVectors(SectionWriter* out) const {
    return Copy(out, shard_.stride() * sizeof(float), [this](uint32_t row) { return shard_.Vector(row); });
  }
  Status WriteCodes(SectionWriter* out) const {
    return Copy(out, shard_.codes().codec().stride(), [this](uint32_t row) { return shard_.codes().Row(row); });
  }
  // Copies the links of a row, except those that the file cannot represent.
  uint32_t CopyLinks(uint32_t row, uint32_t level, uint32_t* links) const {
    const uint32_t count = shard_.graph().CopyLinks(row, level, point_.rows, links);
    const auto below = [&](uint32_t link) { return levels_[link] < level; };
    return static_cast<uint32_t>(std::remove_if(links, links + count, below) - links);
  }
  Status WriteLayer0Links(SectionWriter* out) const {
    uint32_t links[Graph::kLinksLayer0];
    return Copy(out, sizeof links, [&](uint32_t row) {
      uint32_t count = CopyLinks(row, 0, links);
      for (uint32_t i = 0; i < count; i++) links[i]++;
      std::fill(links + count, links + Graph::kLinksLayer0, 0);
      return links;
    });
  }
  Status WriteUpperLinks(SectionWriter* out) const {
    for (uint32_t level = 1; level <= Graph::kLevelMax; level++) {
      for (uint32_t row = 0; row < point_.rows; row++) {
        if (levels_[row] < level) continue;
        uint32_t links[Graph::kLinksLayer0];
        const uint32_t count = CopyLinks(row, level, links);
        out->AddValue(row);
        out->AddValue(static_cast<uint8_t>(count));
        out->Add(links, count * sizeof(uint32_t));
      }
    }
    return {};
  }
  Status WriteAttributes(SectionWriter* out) const {
    shard_.attributes().ForEach([&](const std::string& name, const std::string& value, const SlotSet& set) {
      std::vector<uint8_t> slots;
      uint32_t count = 0;
      uint32_t before = 0;
      set.ForEach([&](uint32_t slot) {
        if (slot >= point_.slots || !IsLive(slot)) return;
        PutVarint(&slots, slot - before);
        before = slot;
        count++;
      });
      if (count == 0) return;
      out->AddText(name);
      out->AddText(value);
      out->AddValue(count);
      out->Add(slots.data(), slots.size());
    });
    return {};
  }
  Status WritePostings(SectionWriter* out) const {
    PackedPostingsWriter packed([out](const void* bytes, size_t length) { out->Add(bytes, length); });
    for (const uint64_t hash : shard_.postings().Hashes()) {
      packed.Begin(hash);
      shard_.postings().ForEach(hash, [&](const Posting& posting) {
        if (posting.row >= point_.rows) return false;
        const RowInfo& info = shard_.Info(posting.row);
        if (IsLive(info.slot)) packed.Add(posting, info.bodyLength);
        return true;
      });
      packed.End();
    }
    packed.Finish();
    return {};
  }

  Shard* const target_;  // modified only at the end
  const Shard& shard_;
  const SnapshotPoint point_;
  const SnapshotPermit& permit_;
  AtomicFile file_;
  SnapshotHeader header_{};
  std::vector<uint8_t> levels_;
};

}  // namespace

Status WriteShardSnapshot(Shard* shard, const SnapshotPoint& point, const SnapshotIdentity& identity,
                          const std::string& path, const SnapshotPermit& permit, uint64_t* bytes) {
  return SnapshotWriter(shard, point, identity, path, permit).Write(bytes);
}

}  // namespace quarry
