#include "engine/shard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

#include "engine/packed_terms.h"

namespace quarry {
namespace {
constexpr uint32_t kNoRow = 0xffffffff;
constexpr uint32_t kNeverVisible = 0;

// Appends the rows of the set bits of `bits`, whose lowest bit is row `start`, to `list`. Returns the new end of the
// list. In sparse words the number of set bits is unpredictable, so two rows are appended without a branch.
uint32_t* AppendRows(uint64_t bits, uint32_t start, uint32_t* list) {
  const auto take = [&] {
    *list = start + static_cast<uint32_t>(std::countr_zero(bits));
    list += bits == 0 ? 0 : 1;
    bits &= bits - 1;
  };
  take();
  take();
  while (bits != 0) take();
  return list;
}
}  // namespace

Status DocumentInput::Check(uint32_t dimensions) {
  if (const auto* const bytes = reinterpret_cast<const uint8_t*>(terms.data()); HasPackedTerms(bytes, termBytes)) {
    std::vector<uint64_t> unpacked;
    if (Status status = UnpackTerms(bytes, termBytes, &unpacked, &termBytes); !status.ok()) return status;
    terms = std::move(unpacked);
  }
  if (Status status = TermBlock::Parse(reinterpret_cast<const uint8_t*>(terms.data()), termBytes, &block);
      !status.ok()) {
    return status;
  }
  if (vectors.size() != size_t{block.rows()} * dimensions) {
    return {StatusCode::kInvalid, "vectors and term block have different numbers of rows"};
  }
  for (const float value : vectors) {
    if (!std::isfinite(value)) return {StatusCode::kInvalid, "a vector has a value that is not a finite number"};
  }
  return {};
}

Shard::Shard(uint32_t dimensions)
    : dimensions_(dimensions),
      stride_(PaddedDimensions(dimensions)),
      vectors_(stride_),
      codes_(dimensions),
      graph_(codes_) {
  tombstones_.Reserve(1);
  tombstones_[kNeverVisible] = {kNever, 0};
}

uint32_t Shard::AddSlot(uint64_t version, uint32_t rowCount) {
  const uint32_t slot = slots_.load(std::memory_order_relaxed);
  const uint32_t firstRow = rows_.load(std::memory_order_relaxed);
  const uint32_t rows = firstRow + rowCount;
  documents_.Reserve(size_t{slot} + 1);
  tombstones_.Reserve(size_t{slot} + 2);
  vectors_.Reserve(rows);
  codes_.Reserve(rows);
  info_.Reserve(rows);
  live_.Reserve((size_t{rows} + 63) / 64);
  graph_.Reserve(rows);
  DocumentSlot& document = documents_[slot];
  document.lifetime.store(LifetimeWord::Deleted(kNeverVisible), std::memory_order_relaxed);
  document.version = version;
  document.firstRow = firstRow;
  document.rowCount = rowCount;
  for (uint32_t row = firstRow; row < rows; row++) info_[row] = {slot, 0};
  rows_.store(rows, std::memory_order_release);
  slots_.store(slot + 1, std::memory_order_release);
  return slot;
}

size_t Shard::ListVisible(const Bitset* matching, uint64_t epoch, uint32_t* word, uint32_t end, size_t limit,
                          uint32_t* rows) const {
  const uint64_t* const matchingWords = matching == nullptr ? nullptr : matching->words().data();
  const auto last = matching == nullptr ? end : static_cast<uint32_t>(std::min<size_t>(end, matching->words().size()));
  const uint32_t* const full = rows + limit;
  const auto list = [&](uint32_t at, const auto& visible) {
    uint32_t* next = rows;
    while (at < last && next < full) {
      const auto run = static_cast<uint32_t>(std::min<size_t>(last, at + live_.ContiguousFrom(at)));
      const std::atomic<uint64_t>* live = live_.Row(at);
      for (; at < run && next < full; at++, live++) {
        const uint64_t bits = live->load(std::memory_order_acquire);
        next = AppendRows(visible(bits, matchingWords == nullptr ? ~uint64_t{0} : matchingWords[at], at * 64), at * 64,
                          next);
      }
    }
    *word = at < last ? at : end;
    return static_cast<size_t>(next - rows);
  };
  const uint32_t first = *word;
  const size_t count = list(first, [](uint64_t live, uint64_t mask, uint32_t) { return live & mask; });
  // As in IsRowVisible: all of these bits were read before any later epoch was announced.
  if (lastEpoch_.load(std::memory_order_acquire) <= epoch) return count;
  const uint32_t filled = Rows();
  return list(first, [&](uint64_t, uint64_t mask, uint32_t start) {
    uint64_t seen = 0;
    for (uint64_t bits = mask; bits != 0; bits &= bits - 1) {
      const uint32_t row = start + static_cast<uint32_t>(std::countr_zero(bits));
      if (row >= filled) break;
      seen |= (bits & -bits) & -uint64_t{IsSlotVisible(info_[row].slot, epoch)};
    }
    return seen;
  });
}

Status Shard::Append(const DocumentInput& input, StagedPolicy policy, uint32_t* slot) {
  const uint32_t rowCount = input.block.rows();
  if (rows_.load(std::memory_order_relaxed) + uint64_t{rowCount} > kRowsMax) {
    return {StatusCode::kInvalid, "the shard is full"};
  }
  *slot = AddSlot(input.version, rowCount);
  try {
    Fill(input, *slot);
  } catch (const std::bad_alloc&) {
    MarkDeleted(*slot, 0);
    throw;
  }
  const MutexLock lock(versionsMutex_);
  if (policy == StagedPolicy::kReplace) DiscardLocked(input.version);
  documents_[*slot].lifetime.store(LifetimeWord::Live(kNever), std::memory_order_release);
  stagedVersions_.try_emplace(input.version, StagedDocument{*slot, false});
  return {};
}

void Shard::Fill(const DocumentInput& input, uint32_t slot) {
  DocumentSlot& document = documents_[slot];
  const TermEntry* entry = input.block.entries();
  for (uint32_t i = 0; i < document.rowCount; i++) {
    const uint32_t row = document.firstRow + i;
    const float* const vector = &input.vectors[size_t{i} * dimensions_];
    std::copy(vector, vector + dimensions_, vectors_.Row(row));
    codes_.Set(row, vector);
    const TermEntry* const end = entry + input.block.EntriesOf(i);
    uint32_t bodyLength = 0;
    for (const TermEntry* each = entry; each < end; each++) bodyLength += each->body;
    // Before the postings are added: a reader that finds a posting may read the length.
    info_[row].bodyLength = bodyLength;
    postings_.AddRow(row, entry, input.block.EntriesOf(i), bodyLength);
    entry = end;
  }
  attributes_.Add(slot, input.attributes);
  filledSlots_.store(slot + 1, std::memory_order_release);
}

void Shard::MarkReady(uint32_t slot) {
  const MutexLock lock(versionsMutex_);
  const auto found = stagedVersions_.find(documents_[slot].version);
  // A later staging of the same version, or a discard, may have replaced the entry.
  if (found != stagedVersions_.end() && found->second.slot == slot) found->second.ready = true;
}

bool Shard::FindReady(uint64_t version, uint32_t* slot) const {
  const MutexLock lock(versionsMutex_);
  const auto found = stagedVersions_.find(version);
  if (found == stagedVersions_.end() || !found->second.ready) return false;
  *slot = found->second.slot;
  return true;
}

std::vector<uint32_t> Shard::SlotsOf(const std::vector<uint64_t>& versions) const {
  std::vector<uint32_t> slots;
  const MutexLock lock(versionsMutex_);
  for (const uint64_t version : versions) {
    if (const uint32_t live = liveVersions_.Find(version); live != VersionTable::kNone) slots.push_back(live);
    const auto staged = stagedVersions_.find(version);
    if (staged != stagedVersions_.end()) slots.push_back(staged->second.slot);
  }
  return slots;
}

Bitset Shard::Evaluate(const FilterProgram& filter, uint32_t slots, CancellationChecker* checker) const {
  return attributes_.Evaluate(
      filter, slots, [this](const std::vector<uint64_t>& versions) { return SlotsOf(versions); }, checker);
}

void Shard::SetLive(const DocumentSlot& document, bool live) {
  uint64_t row = document.firstRow;
  const uint64_t end = row + document.rowCount;
  while (row < end) {
    const uint64_t offset = row & 63;
    const uint64_t step = std::min<uint64_t>(end - row, 64 - offset);
    const uint64_t mask = step == 64 ? ~uint64_t{0} : ((uint64_t{1} << step) - 1) << offset;
    std::atomic<uint64_t>& word = live_[row >> 6];
    if (live) {
      word.fetch_or(mask, std::memory_order_release);
    } else {
      word.fetch_and(~mask, std::memory_order_release);
    }
    row += step;
  }
}

int64_t Shard::BodyLength(const DocumentSlot& document) const {
  int64_t sum = 0;
  const uint32_t end = document.firstRow + document.rowCount;
  for (uint32_t row = document.firstRow; row < end; row++) sum += info_[row].bodyLength;
  return sum;
}

void Shard::MarkDeleted(uint32_t slot, uint64_t epoch) {
  DocumentSlot& document = documents_[slot];
  uint32_t tombstone = kNeverVisible;
  if (epoch > 0) {
    tombstone = tombstoneCount_.fetch_add(1, std::memory_order_relaxed);
    tombstones_[tombstone] = {LifetimeOf(slot).createdAt, epoch};
  }
  document.lifetime.store(LifetimeWord::Deleted(tombstone), std::memory_order_release);
  deadRows_.fetch_add(document.rowCount, std::memory_order_relaxed);
  deadDocuments_.fetch_add(1, std::memory_order_relaxed);
}

Shard::Change Shard::Commit(uint64_t epoch, const uint64_t* add, const uint64_t* remove) {
  Change change;
  const MutexLock lock(versionsMutex_);
  // Every step that can fail runs before any change.
  if (add != nullptr) liveVersions_.Reserve(liveVersions_.size() + 1);
  lastEpoch_.store(epoch, std::memory_order_release);
  const auto markDeleted = [&](uint64_t version) REQUIRES(versionsMutex_) {
    const uint32_t slot = liveVersions_.Find(version);
    if (slot == VersionTable::kNone) return;
    const DocumentSlot& document = documents_[slot];
    MarkDeleted(slot, epoch);
    SetLive(document, false);
    rowCountCache_.AddChange({epoch, document.firstRow, document.rowCount, false});
    change.rows -= document.rowCount;
    change.changedRows += document.rowCount;
    change.bodyLength -= BodyLength(document);
    change.documents--;
    liveVersions_.Erase(version);
  };
  if (remove != nullptr) markDeleted(*remove);
  if (add == nullptr) return change;
  const auto staged = stagedVersions_.find(*add);
  if (staged == stagedVersions_.end()) return change;
  markDeleted(*add);
  DocumentSlot& document = documents_[staged->second.slot];
  document.lifetime.store(LifetimeWord::Live(epoch), std::memory_order_release);
  SetLive(document, true);
  rowCountCache_.AddChange({epoch, document.firstRow, document.rowCount, true});
  change.rows += document.rowCount;
  change.changedRows += document.rowCount;
  change.bodyLength += BodyLength(document);
  change.documents++;
  liveVersions_.Set(staged->second.slot);
  stagedVersions_.erase(staged);
  return change;
}

void Shard::Discard(uint64_t version) {
  const MutexLock lock(versionsMutex_);
  DiscardLocked(version);
}

void Shard::DiscardLocked(uint64_t version) {
  const auto found = stagedVersions_.find(version);
  if (found == stagedVersions_.end()) return;
  MarkDeleted(found->second.slot, 0);
  stagedVersions_.erase(found);
}

bool Shard::CopyFrom(const Shard& source, uint32_t slots, const std::function<bool()>& stop,
                     std::vector<uint32_t>* origins) {
  std::vector<uint32_t> rowMap(source.Rows(), kNoRow);
  std::vector<uint32_t> slotMap(slots, kNoRow);
  origins->clear();
  for (uint32_t from = 0; from < slots; from++) {
    const DocumentSlot& old = source.documents_[from];
    if (source.LifetimeOf(from).deletedAt != kNever) continue;
    const uint32_t slot = AddSlot(old.version, old.rowCount);
    slotMap[from] = slot;
    origins->push_back(from);
    DocumentSlot& document = documents_[slot];
    for (uint32_t i = 0; i < old.rowCount; i++) {
      const uint32_t row = document.firstRow + i;
      rowMap[old.firstRow + i] = row;
      info_[row].bodyLength = source.info_[old.firstRow + i].bodyLength;
      std::memcpy(vectors_.Row(row), source.vectors_.Row(old.firstRow + i), stride_ * sizeof(float));
      codes_.Copy(row, source.codes_.Row(old.firstRow + i));
    }
    document.lifetime.store(LifetimeWord::Live(kNever), std::memory_order_release);
    const MutexLock lock(versionsMutex_);
    stagedVersions_[old.version] = {slot, true};
  }
  for (const uint64_t hash : source.postings_.Hashes()) {
    if (stop()) return false;
    source.postings_.ForEach(hash, [&](const Posting& posting) {
      if (posting.row >= rowMap.size()) return false;
      const uint32_t row = rowMap[posting.row];
      if (row != kNoRow) postings_.Add(hash, {row, posting.body, posting.prefix}, info_[row].bodyLength);
      return true;
    });
  }
  source.attributes_.ForEach([&](const std::string& name, const std::string& value, const SlotSet& set) {
    set.ForEach([&](uint32_t from) {
      if (from < slots && slotMap[from] != kNoRow) attributes_.AddValue(slotMap[from], name, value);
    });
  });
  filledSlots_.store(Slots(), std::memory_order_release);
  GraphScratch scratch;
  for (uint32_t row = 0, rows = Rows(); row < rows; row++) {
    if (stop()) return false;
    graph_.Insert(row, &scratch);
  }
  return true;
}

void Shard::SyncLifetimes(const Shard& source, const std::vector<uint32_t>& origins) {
  const MutexLock lock(versionsMutex_);
  for (uint32_t slot = 0; slot < origins.size(); slot++) {
    const auto [createdAt, deletedAt] = source.LifetimeOf(origins[slot]);
    const Lifetime known = LifetimeOf(slot);
    if (known.deletedAt != kNever) continue;  // tombstones never change
    if (createdAt == known.createdAt && deletedAt == kNever) continue;
    DocumentSlot& document = documents_[slot];
    document.lifetime.store(LifetimeWord::Live(createdAt), std::memory_order_release);
    if (const auto staged = stagedVersions_.find(document.version);
        staged != stagedVersions_.end() && staged->second.slot == slot) {
      stagedVersions_.erase(staged);
    }
    if (liveVersions_.Find(document.version) == slot) liveVersions_.Erase(document.version);
    if (deletedAt == kNever) {
      liveVersions_.Set(slot);
    } else {
      MarkDeleted(slot, deletedAt);
    }
    SetLive(document, deletedAt == kNever);
  }
  // The map held all documents of the source; release its buckets once it is empty.
  if (stagedVersions_.empty()) stagedVersions_ = {};
  const uint64_t epoch = source.lastEpoch_.load(std::memory_order_acquire);
  lastEpoch_.store(epoch, std::memory_order_release);
  rowCountCache_.Reset(epoch);
}

void Shard::ReserveForRestore(uint32_t slots, uint32_t rows) {
  documents_.ReserveExactly(slots);
  vectors_.ReserveExactly(rows);
  codes_.ReserveExactly(rows);
  info_.ReserveExactly(rows);
  graph_.ReserveExactly(rows);
  const MutexLock lock(versionsMutex_);
  liveVersions_.Reserve(slots);
}

void Shard::RestoreDocument(uint64_t version, bool live, uint32_t rowCount) {
  const uint32_t slot = AddSlot(version, rowCount);
  filledSlots_.store(slot + 1, std::memory_order_release);
  DocumentSlot& document = documents_[slot];
  if (!live) {
    MarkDeleted(slot, 0);
    return;
  }
  document.lifetime.store(LifetimeWord::Live(0), std::memory_order_relaxed);
  SetLive(document, true);
  const MutexLock lock(versionsMutex_);
  liveVersions_.Set(slot);
}

void Shard::RestoreLength(uint32_t row, uint32_t bodyLength) { info_[row].bodyLength = bodyLength; }

Shard::Change Shard::LiveTotals() const {
  Change totals;
  const MutexLock lock(versionsMutex_);
  liveVersions_.ForEach([&](uint32_t slot) {
    totals.documents++;
    totals.rows += documents_[slot].rowCount;
    totals.bodyLength += BodyLength(documents_[slot]);
  });
  return totals;
}

Shard::Memory Shard::MemoryBytes() const {
  const size_t rows = Rows();
  const size_t slots = Slots();
  Memory memory;
  const size_t inFile = std::min(rows, vectors_.RowsInFile());
  memory.vectorsInMemory = vectors_.BytesOf(rows - inFile);
  memory.vectorsInFile = vectors_.BytesOf(inFile);
  memory.codes = codes_.BytesOf(rows);
  memory.links = graph_.Bytes(static_cast<uint32_t>(rows));
  memory.postings = postings_.Bytes();
  memory.attributes = attributes_.Bytes() + filterCache_.Bytes();
  memory.documents = documents_.BytesOf(slots) + tombstones_.BytesOf(tombstoneCount_) + info_.BytesOf(rows) + rows / 8;
  const MutexLock lock(versionsMutex_);
  memory.documents += liveVersions_.Bytes();
  return memory;
}

}  // namespace quarry
