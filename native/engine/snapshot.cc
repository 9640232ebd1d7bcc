#include "engine/snapshot.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/bytes.h"
#include "engine/checksum.h"
#include "engine/file.h"
#include "engine/packed_postings.h"

namespace quarry {
namespace {

constexpr uint64_t kMagic = 0x3144524148535951;  // the bytes "QYSHARD1"

enum Section : uint32_t { kDocuments, kRows, kVectors, kGround, kUpper, kAttributes, kPostings, kSections };
constexpr std::array<const char*, kSections> kSectionNames = {"documents",   "rows",       "vectors", "ground links",
                                                              "upper links", "attributes", "postings"};

struct SectionEntry {
  uint64_t length;
  uint32_t checksum;
  uint32_t kind;
};

struct Header {
  uint64_t magic;
  uint32_t format;
  uint32_t dimensions;
  uint32_t shard;
  uint32_t shards;
  int64_t sequence;  // -1: no change yet
  uint32_t rows;
  uint32_t slots;
  uint32_t linksGround;
  uint32_t linksUpper;
  SectionEntry sections[kSections];  // in the order of the file, without gaps, from the end of the header
  uint32_t reserved;                 // zero
  uint32_t checksum;                 // of all header bytes before it
};
static_assert(sizeof(Header) == 48 + kSections * 16 + 8);

struct DocumentRecord {
  uint64_t version;
  uint32_t rowCount;
  uint32_t live;  // 1 or 0
};
static_assert(sizeof(DocumentRecord) == 16);

// Collects the length and checksum of one section while it is written.
class SectionWriter {
 public:
  SectionWriter(AtomicFile* file, Section kind) : file_(file), start_(file->written()), kind_(kind) {}
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
  SectionEntry Entry() const { return {file_->written() - start_, checksum_.Value(), kind_}; }

 private:
  AtomicFile* const file_;
  const uint64_t start_;
  const Section kind_;
  Crc32c checksum_;
};

class SnapshotWriter {
 public:
  SnapshotWriter(const Shard& shard, const SnapshotPoint& point, const SnapshotIdentity& identity,
                 const std::string& path, const SnapshotPermit& permit)
      : shard_(shard), point_(point), permit_(permit), file_(path) {
    header_.magic = kMagic;
    header_.format = kSnapshotFormat;
    header_.dimensions = identity.dimensions;
    header_.shard = identity.shard;
    header_.shards = identity.shards;
    header_.sequence = point.sequence;
    header_.rows = point.rows;
    header_.slots = point.slots;
    header_.linksGround = Graph::kLinksGround;
    header_.linksUpper = Graph::kLinksUpper;
    // Read once: rows may be linked while the file is written. A row that is not linked yet is written without a
    // level; it was not committed, so nobody misses it.
    const Graph& graph = shard.graph();
    levels_.reserve(point.rows);
    for (uint32_t row = 0; row < point.rows; row++) {
      levels_.push_back(graph.Inserted(row) ? static_cast<uint8_t>(graph.LevelOf(row)) : uint8_t{0});
    }
  }

  Status Write(uint64_t* bytes) {
    file_.Write(&header_, sizeof header_);
    using Step = void (SnapshotWriter::*)(SectionWriter*) const;
    constexpr std::array<Step, kSections> steps = {
        &SnapshotWriter::Documents, &SnapshotWriter::Rows,       &SnapshotWriter::Vectors, &SnapshotWriter::Ground,
        &SnapshotWriter::Upper,     &SnapshotWriter::Attributes, &SnapshotWriter::Postings};
    for (uint32_t kind = 0; kind < kSections; kind++) {
      if (Status status = permit_.proceed(); !status.ok()) return status;
      SectionWriter section(&file_, static_cast<Section>(kind));
      (this->*steps[kind])(&section);
      header_.sections[kind] = section.Entry();
    }
    Crc32c checksum;
    checksum.Add(&header_, offsetof(Header, checksum));
    header_.checksum = checksum.Value();
    file_.WriteAt(0, &header_, sizeof header_);
    *bytes += file_.written();
    return file_.Commit(permit_.renameMutex, permit_.proceed);
  }

 private:
  bool Live(uint32_t slot) const { return shard_.SlotVisible(slot, point_.epoch); }

  void Documents(SectionWriter* out) const {
    for (uint32_t slot = 0; slot < point_.slots; slot++) {
      const DocumentSlot& document = shard_.Document(slot);
      out->AddValue(DocumentRecord{document.version, document.rowCount, Live(slot) ? 1U : 0U});
    }
  }
  void Rows(SectionWriter* out) const {
    for (uint32_t row = 0; row < point_.rows; row++) out->AddValue(shard_.Facts(row).bodyLength);
  }
  void Vectors(SectionWriter* out) const {
    for (uint32_t row = 0; row < point_.rows; row++) {
      out->Add(shard_.Vector(row), shard_.dimensions() * sizeof(float));
    }
  }
  void Ground(SectionWriter* out) const { Links(out, 0); }
  void Upper(SectionWriter* out) const {
    for (uint32_t level = 1; level <= Graph::kLevelMax; level++) Links(out, level);
  }
  void Links(SectionWriter* out, uint32_t level) const {
    for (uint32_t row = 0; row < point_.rows; row++) {
      if (levels_[row] < level) continue;
      uint32_t links[Graph::kLinksGround];
      uint32_t count = shard_.graph().CopyLinks(row, level, point_.rows, links);
      count = static_cast<uint32_t>(
          std::remove_if(links, links + count, [&](uint32_t link) { return levels_[link] < level; }) - links);
      if (level == 0) {
        out->AddValue(levels_[row]);
      } else {
        out->AddValue(row);
      }
      out->AddValue(static_cast<uint8_t>(count));
      out->Add(links, count * sizeof(uint32_t));
    }
  }
  void Attributes(SectionWriter* out) const {
    shard_.attributes().ForEach([&](const std::string& name, const std::string& value, const SlotSet& set) {
      std::vector<uint8_t> slots;
      uint32_t count = 0;
      uint32_t before = 0;
      set.ForEach([&](uint32_t slot) {
        if (slot >= point_.slots || !Live(slot)) return;
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
  }
  void Postings(SectionWriter* out) const {
    PackedPostingsWriter packed([out](const void* bytes, size_t length) { out->Add(bytes, length); });
    for (const uint64_t hash : shard_.postings().Hashes()) {
      packed.Begin(hash);
      shard_.postings().ForEach(hash, [&](const Posting& posting) {
        if (posting.row >= point_.rows) return false;
        const RowFacts& facts = shard_.Facts(posting.row);
        if (Live(facts.slot)) packed.Add(posting, facts.bodyLength);
        return true;
      });
      packed.End();
    }
    packed.Finish();
  }

  const Shard& shard_;
  const SnapshotPoint point_;
  const SnapshotPermit& permit_;
  AtomicFile file_;
  Header header_{};
  std::vector<uint8_t> levels_;
};

Status Damaged(std::string reason) { return {Code::kDamaged, std::move(reason)}; }

class SnapshotReader {
 public:
  explicit SnapshotReader(const SnapshotIdentity& identity) : identity_(identity) {}

  Status Read(const std::string& path, std::shared_ptr<Shard>* shard, int64_t* sequence) {
    if (Status status = file_.Open(path); !status.ok()) return status;
    if (Status status = CheckHeader(); !status.ok()) return status;
    if (Status status = CheckSections(); !status.ok()) return status;
    shard_ = std::make_shared<Shard>(identity_.dimensions);
    using Step = bool (SnapshotReader::*)(ByteReader*);
    constexpr std::array<Step, kSections> steps = {
        &SnapshotReader::Documents, &SnapshotReader::Rows,       &SnapshotReader::Vectors, &SnapshotReader::Ground,
        &SnapshotReader::Upper,     &SnapshotReader::Attributes, &SnapshotReader::Postings};
    const uint8_t* at = file_.bytes() + sizeof(Header);
    for (uint32_t kind = 0; kind < kSections; kind++) {
      ByteReader section(at, header_.sections[kind].length);
      if (!(this->*steps[kind])(&section) || !section.ok() || section.left() != 0) {
        return Damaged(std::string("the section of ") + kSectionNames[kind] + " does not make sense");
      }
      at += header_.sections[kind].length;
    }
    *shard = std::move(shard_);
    *sequence = header_.sequence;
    return {};
  }

 private:
  Status CheckHeader() {
    if (file_.length() < sizeof header_) return Damaged("the file is shorter than its header");
    std::memcpy(&header_, file_.bytes(), sizeof header_);
    if (header_.magic != kMagic) return Damaged("the file is not a shard snapshot");
    if (header_.format != kSnapshotFormat) {
      return Damaged("the file has format " + std::to_string(header_.format) + ", this program reads format " +
                     std::to_string(kSnapshotFormat));
    }
    Crc32c checksum;
    checksum.Add(&header_, offsetof(Header, checksum));
    if (header_.checksum != checksum.Value()) return Damaged("the checksum of the header is wrong");
    if (header_.dimensions != identity_.dimensions) {
      return Damaged("the file has " + std::to_string(header_.dimensions) + " dimensions, the collection " +
                     std::to_string(identity_.dimensions));
    }
    if (header_.shard != identity_.shard || header_.shards != identity_.shards) {
      return Damaged("the file is shard " + std::to_string(header_.shard) + " of " + std::to_string(header_.shards) +
                     ", wanted is " + std::to_string(identity_.shard) + " of " + std::to_string(identity_.shards));
    }
    if (header_.linksGround != Graph::kLinksGround || header_.linksUpper != Graph::kLinksUpper) {
      return Damaged("the graph of the file has other numbers of links");
    }
    return {};
  }

  Status CheckSections() const {
    uint64_t left = file_.length() - sizeof header_;
    const uint8_t* at = file_.bytes() + sizeof header_;
    for (uint32_t kind = 0; kind < kSections; kind++) {
      const SectionEntry& entry = header_.sections[kind];
      if (entry.kind != kind || entry.length > left) return Damaged("the file is cut off");
      Crc32c checksum;
      checksum.Add(at, entry.length);
      if (checksum.Value() != entry.checksum) {
        return Damaged(std::string("the checksum of the section of ") + kSectionNames[kind] + " is wrong");
      }
      at += entry.length;
      left -= entry.length;
    }
    return left == 0 ? Status() : Damaged("the file goes on after its end");
  }

  bool Documents(ByteReader* in) {
    uint64_t rows = 0;
    for (uint32_t slot = 0; slot < header_.slots; slot++) {
      const auto record = in->Take<DocumentRecord>();
      rows += record.rowCount;
      if (!in->ok() || rows > header_.rows) return false;
      shard_->RestoreDocument(record.version, record.live == 1, record.rowCount);
    }
    return rows == header_.rows;
  }
  bool Rows(ByteReader* in) {
    if (in->left() != size_t{header_.rows} * sizeof(uint32_t)) return false;
    for (uint32_t row = 0; row < header_.rows; row++) lengths_.push_back(in->Take<uint32_t>());
    return true;
  }
  bool Vectors(ByteReader* in) {
    const size_t rowBytes = size_t{header_.dimensions} * sizeof(float);
    if (in->left() != header_.rows * rowBytes) return false;
    for (uint32_t row = 0; row < header_.rows; row++) {
      shard_->RestoreRow(row, lengths_[row], in->TakeBytes(rowBytes));
    }
    return true;
  }
  bool TakeLinks(ByteReader* in, uint32_t row, uint32_t level, uint32_t max) {
    const auto count = in->Take<uint8_t>();
    if (count > max) return false;
    uint32_t links[Graph::kLinksGround];
    for (uint32_t i = 0; i < count; i++) {
      links[i] = in->Take<uint32_t>();
      if (links[i] >= header_.rows || (level > 0 && levels_[links[i]] < level)) return false;
    }
    if (in->ok()) shard_->graphForRestore().RestoreLinks(row, level, links, count);
    return in->ok();
  }
  bool Ground(ByteReader* in) {
    Graph& graph = shard_->graphForRestore();
    for (uint32_t row = 0; row < header_.rows; row++) {
      const auto level = in->Take<uint8_t>();
      if (!in->ok() || level > Graph::kLevelMax) return false;
      graph.RestoreRow(row, level);
      levels_.push_back(level);
      if (!TakeLinks(in, row, 0, Graph::kLinksGround)) return false;
    }
    return true;
  }
  bool Upper(ByteReader* in) {
    for (uint32_t level = 1; level <= Graph::kLevelMax; level++) {
      for (uint32_t row = 0; row < header_.rows; row++) {
        if (levels_[row] < level) continue;
        if (in->Take<uint32_t>() != row || !TakeLinks(in, row, level, Graph::kLinksUpper)) return false;
      }
    }
    return true;
  }
  bool Attributes(ByteReader* in) {
    while (in->left() > 0) {
      const std::string_view name = in->Text();
      const std::string_view value = in->Text();
      const auto count = in->Take<uint32_t>();
      if (!in->ok() || count > in->left()) return false;
      uint64_t slot = 0;
      for (uint32_t i = 0; i < count; i++) {
        slot += in->Varint();
        if (!in->ok() || slot >= header_.slots) return false;
        shard_->attributesForRestore().AddValue(static_cast<uint32_t>(slot), name, value);
      }
    }
    return true;
  }
  bool Postings(ByteReader* in) {
    const size_t length = in->left();
    const uint8_t* bytes = in->TakeBytes(length);
    // Copied to where it is aligned and outlives the file.
    const auto words = std::make_shared<std::vector<uint64_t>>((length + 7) / 8);
    std::memcpy(words->data(), bytes, length);
    PackedPostings packed;
    if (!PackedPostings::Parse(words->data(), length, header_.rows, &packed)) return false;
    shard_->postingsForRestore().Adopt(packed, length, words);
    return true;
  }

  const SnapshotIdentity identity_;
  MappedFile file_;
  Header header_{};
  std::shared_ptr<Shard> shard_;
  std::vector<uint32_t> lengths_;
  std::vector<uint8_t> levels_;
};

}  // namespace

Status WriteSnapshot(const Shard& shard, const SnapshotPoint& point, const SnapshotIdentity& identity,
                     const std::string& path, const SnapshotPermit& permit, uint64_t* bytes) {
  return SnapshotWriter(shard, point, identity, path, permit).Write(bytes);
}

Status ReadSnapshot(const std::string& path, const SnapshotIdentity& identity, std::shared_ptr<Shard>* shard,
                    int64_t* sequence) {
  return SnapshotReader(identity).Read(path, shard, sequence);
}

}  // namespace quarry
