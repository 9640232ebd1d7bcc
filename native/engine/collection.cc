#include "engine/collection.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <thread>
#include <utility>

#include "engine/file.h"
#include "engine/parallel.h"
#include "engine/process_memory.h"
#include "engine/snapshot.h"

namespace quarry {
namespace {

// Rows linked per step of a staging. Each takes a few tenths of a millisecond; afterwards, waiting searches
// run first.
constexpr uint32_t kLinksPerStep = 2;
// A shard is compacted when at least a quarter of it, and at least kDeadMin entries, are deleted.
constexpr uint64_t kDeadDivisor = 4;
constexpr uint64_t kDeadMin = 256;
// If at least half of a shard, and at least kMostlyDeadMin entries, are deleted, stagings wait for the
// compaction.
constexpr uint64_t kMostlyDeadDivisor = 2;
constexpr uint64_t kMostlyDeadMin = 4096;
// With fewer rows, every search is cheap.
constexpr uint64_t kCalibratedMin = 4096;
// Maximum bytes staged in a shard while it is being copied. Beyond it, a staging fails with kBusy and must be
// retried.
constexpr size_t kPendingBytesMax = size_t{256} << 20;

GraphScratch& ThreadGraphScratch() {
  thread_local GraphScratch scratch;
  return scratch;
}

// Whether at least `min` of a shard's rows or of its documents are deleted, and at least one in `divisor`.
bool HasDead(const Shard& shard, uint64_t min, uint64_t divisor) {
  const auto enough = [=](uint64_t dead, uint64_t all) { return dead >= min && dead * divisor >= all; };
  return enough(shard.DeadRows(), shard.Rows()) || enough(shard.DeadDocuments(), shard.Slots());
}

void Add(const Shard::Memory& more, Shard::Memory* sum) {
  sum->vectorsInMemory += more.vectorsInMemory;
  sum->vectorsInFile += more.vectorsInFile;
  sum->codes += more.codes;
  sum->links += more.links;
  sum->postings += more.postings;
  sum->attributes += more.attributes;
  sum->documents += more.documents;
}

// Estimates the memory of a copy without deleted rows. The vectors of the copy are not in a file yet.
uint64_t CopyBytes(const Shard& shard) {
  const Shard::Memory memory = shard.MemoryBytes();
  const size_t all = memory.vectorsInMemory + memory.vectorsInFile + memory.codes + memory.links + memory.postings +
                     memory.attributes + memory.documents;
  const auto liveFraction = [](uint64_t dead, uint64_t of) {
    return of == 0 ? 0 : 1 - static_cast<double>(std::min(dead, of)) / static_cast<double>(of);
  };
  const double share =
      std::max(liveFraction(shard.DeadRows(), shard.Rows()), liveFraction(shard.DeadDocuments(), shard.Slots()));
  return static_cast<uint64_t>(static_cast<double>(all) * share);
}

}  // namespace

Collection::Collection(const CollectionOptions& options, BackgroundScheduler background)
    : options_(options), schedule_(std::move(background)), efValues_(DefaultEfValues(options.shards)) {
  for (uint32_t i = 0; i < options_.shards; i++) writers_.push_back(std::make_unique<Writer>());
}

Status Collection::Open(const CollectionOptions& options, BackgroundScheduler background,
                        std::shared_ptr<Collection>* collection) {
  // The constructor is private, so make_shared cannot be used.
  const std::shared_ptr<Collection> opened(new Collection(options, std::move(background)));
  if (Status status = opened->Load(); !status.ok()) return status;
  *collection = opened;
  // A snapshot taken before a compaction ended still contains everything that the compaction would have
  // dropped.
  for (uint32_t shard = 0; shard < options.shards; shard++) opened->MaybeCompact(shard);
  return {};
}

std::string Collection::SnapshotPath(uint32_t shard) const {
  char name[32];
  std::snprintf(name, sizeof name, "/shard-%02u.quarry", shard);
  return options_.directory + name;
}

Status Collection::Load() {
  bool fresh = false;
  if (Status status = CreateFolder(options_.directory, &fresh); !status.ok()) return status;
  // Removes temporary files left by an interrupted snapshot.
  if (Status status = RemoveFiles(options_.directory, "shard-", ".tmp"); !status.ok()) return status;
  auto shards = std::make_shared<std::vector<std::shared_ptr<Shard>>>(options_.shards);
  openResults_.resize(options_.shards);
  const Status status = RunParallel(options_.shards, std::thread::hardware_concurrency(), [&](size_t i) {
    const auto shard = static_cast<uint32_t>(i);
    if (!fresh) return LoadShard(shard, &(*shards)[i]);
    openResults_[i] = {shard, -1, ShardState::kFresh, ""};
    return Status();
  });
  if (!status.ok()) return status;
  const MutexLock lock(mutex_);
  for (uint32_t i = 0; i < options_.shards; i++) {
    std::shared_ptr<Shard>& shard = (*shards)[i];
    if (openResults_[i].state != ShardState::kLoaded) {
      shard = std::make_shared<Shard>(options_.dimensions);
      continue;
    }
    const Shard::Change totals = shard->LiveTotals();
    rows_ += static_cast<uint64_t>(totals.rows);
    bodyLength_ += static_cast<uint64_t>(totals.bodyLength);
    documents_ += static_cast<uint64_t>(totals.documents);
    writers_[i]->sequence = openResults_[i].sequence;
    writers_[i]->written = shard;
    sequence_ = std::max(sequence_, openResults_[i].sequence);
  }
  shards_ = std::move(shards);
  return {};
}

Status Collection::LoadShard(uint32_t shard, std::shared_ptr<Shard>* loaded) {
  ShardOpenResult& opening = openResults_[shard];
  opening = {shard, -1, ShardState::kLoaded, ""};
  const SnapshotIdentity identity{options_.dimensions, shard, options_.shards};
  Status status = ReadShardSnapshot(SnapshotPath(shard), identity, loaded, &opening.sequence);
  if (status.ok()) return status;
  opening.reason = status.message();
  if (status.code() == StatusCode::kMissing) {
    opening.state = ShardState::kMissing;
  } else if (status.code() == StatusCode::kDamaged) {
    opening.state = ShardState::kDamaged;
  } else {
    return status;
  }
  return {};
}

std::shared_ptr<Shard> Collection::CurrentShard(uint32_t shard) const {
  const MutexLock lock(mutex_);
  return (*shards_)[shard];
}

Status Collection::CheckOpen(uint32_t shard) const {
  if (closed()) return {StatusCode::kClosed, "the collection is closed"};
  if (shard >= options_.shards) return {StatusCode::kInvalid, "the shard number is out of range"};
  return {};
}

Collection::Staging::Staging(std::shared_ptr<Collection> collection, uint32_t shard,
                             std::shared_ptr<DocumentInput> input)
    : collection_(std::move(collection)), number_(shard), input_(std::move(input)) {}

bool Collection::Staging::Step() {
  try {
    if (shard_ == nullptr) {
      status_ = collection_->CheckOpen(number_);
      if (status_.ok()) status_ = input_->Check(collection_->options_.dimensions);
      if (status_.ok()) status_ = collection_->AppendDocument(this);
      if (!status_.ok()) return true;
    }
    if (collection_->closed()) {
      status_ = {StatusCode::kClosed, "the collection is closed"};
      return true;
    }
    const uint32_t rows = input_->block.rows();
    const uint32_t end = std::min(rows, linked_ + kLinksPerStep);
    for (; linked_ < end; linked_++) {
      shard_->Link(shard_->Document(slot_).firstRow + linked_, &ThreadGraphScratch());
      if (replacement_ == nullptr) continue;
      replacement_->Link(replacement_->Document(replacementSlot_).firstRow + linked_, &ThreadGraphScratch());
    }
    if (linked_ < rows) return false;
    // Mark the new shard first: every document ready in the old shard must be ready after the switch too.
    if (replacement_ != nullptr) replacement_->MarkReady(replacementSlot_);
    shard_->MarkReady(slot_);
  } catch (const std::bad_alloc&) {
    status_ = {StatusCode::kMemory, "out of memory while staging a document"};
  }
  return true;
}

Status Collection::AppendDocument(Staging* staging) {
  Writer& writer = *writers_[staging->number_];
  const size_t bytes = staging->input_->vectors.size() * sizeof(float) + staging->input_->termBytes;
  const MutexLock lock(writer.mutex);
  if (writer.copying && writer.pendingBytes + bytes > kPendingBytesMax) {
    return {StatusCode::kBusy, "too many documents were staged while the shard is being compacted; retry later"};
  }
  // The current shard changes only under the writer's lock.
  const std::shared_ptr<Shard> current = CurrentShard(staging->number_);
  // Not while the compaction is deferred, possibly for long: then memory alone bounds the number of deleted
  // rows.
  if (writer.compacting && !writer.deferred && HasDead(*current, kMostlyDeadMin, kMostlyDeadDivisor)) {
    return {StatusCode::kBusy, "at least half of the shard is deleted; retry after its compaction"};
  }
  if (Status status = current->Append(*staging->input_, Shard::StagedPolicy::kReplace, &staging->slot_); !status.ok()) {
    return status;
  }
  staging->shard_ = current;
  if (writer.copying) {
    writer.pendingDocuments.push_back({staging->input_, staging->slot_});
    writer.pendingBytes += bytes;
  } else if (writer.replacement != nullptr) {
    AppendToReplacement(&writer, staging);
  }
  return {};
}

void Collection::AppendToReplacement(Writer* writer, Staging* staging) {
  try {
    writer->origins.reserve(writer->origins.size() + 1);
    const Status status =
        writer->replacement->Append(*staging->input_, Shard::StagedPolicy::kReplace, &staging->replacementSlot_);
    if (status.ok()) {
      writer->origins.push_back(staging->slot_);
      staging->replacement_ = writer->replacement;
      return;
    }
  } catch (const std::bad_alloc&) {
    // As below: the document is safe in the old shard.
  }
  // A replacement that lacks a document must not be published. The compaction finds it missing and ends.
  writer->replacement = nullptr;
}

Status Collection::Discard(uint32_t shard, uint64_t version) {
  if (Status status = CheckOpen(shard); !status.ok()) return status;
  {
    const MutexLock lock(mutex_);
    (*shards_)[shard]->Discard(version);
  }
  MaybeCompact(shard);
  return {};
}

Status Collection::Commit(const CollectionChange& change) {
  if (Status status = CheckOpen(change.shard); !status.ok()) return status;
  {
    const MutexLock lock(mutex_);
    Writer& writer = *writers_[change.shard];
    const auto sequence = static_cast<int64_t>(change.sequence);
    if (sequence < writer.sequence) {
      return {StatusCode::kSequence, "sequence " + std::to_string(sequence) + " is below sequence " +
                                         std::to_string(writer.sequence) + " of shard " + std::to_string(change.shard)};
    }
    Shard& shard = *(*shards_)[change.shard];
    uint32_t slot = 0;
    if (change.add.has_value() && !shard.FindReady(*change.add, &slot)) {
      return {StatusCode::kUnstaged, "version " + std::to_string(*change.add) + " is not staged"};
    }
    epoch_++;
    const Shard::Change totals = shard.Commit(epoch_, change.add.has_value() ? &*change.add : nullptr,
                                              change.remove.has_value() ? &*change.remove : nullptr);
    rows_ += static_cast<uint64_t>(totals.rows);
    changes_ += totals.changedRows;
    bodyLength_ += static_cast<uint64_t>(totals.bodyLength);
    documents_ += static_cast<uint64_t>(totals.documents);
    writer.sequence = sequence;
    writer.epoch = epoch_;
    sequence_ = std::max(sequence_, sequence);
  }
  MaybeCompact(change.shard);
  return {};
}

ReadSnapshot Collection::GetReadSnapshot() const {
  const MutexLock lock(mutex_);
  const EfValues efValues = IsCalibrated() ? efValues_ : MaxEfValues(efValues_, DefaultEfValues(options_.shards));
  return {shards_, epoch_, rows_, bodyLength_, efValues, changes_};
}

bool Collection::BeginCalibration() {
  {
    const MutexLock lock(mutex_);
    if (rows_ < kCalibratedMin || IsCalibrated()) return false;
  }
  return !closed() && !calibrating_.exchange(true);
}

void Collection::SetEfValues(const EfValues& efValues, uint64_t changes) {
  const MutexLock lock(mutex_);
  efValues_ = efValues;
  calibratedChanges_ = changes;
}

void Collection::MaybeCompact(uint32_t shard) {
  Writer& writer = *writers_[shard];
  const std::shared_ptr<Shard> current = CurrentShard(shard);
  if (!HasDead(*current, kDeadMin, kDeadDivisor)) return;
  if (writer.compacting.exchange(true)) return;
  // If the background queue is full, a later change tries again.
  if (!schedule_([self = shared_from_this(), shard] { return self->Compact(shard); })) writer.compacting = false;
}

bool Collection::Compact(uint32_t shard) {
  Writer& writer = *writers_[shard];
  if (closed()) return true;
  writer.deferred = !HasMemoryFor(CopyBytes(*CurrentShard(shard)));
  if (writer.deferred) return false;
  CompactNow(shard);
  return true;
}

void Collection::CompactNow(uint32_t shard) {
  Writer& writer = *writers_[shard];
  std::shared_ptr<Shard> old;
  uint32_t slots = 0;
  {
    const MutexLock lock(writer.mutex);
    old = CurrentShard(shard);
    slots = old->Slots();
    writer.copying = true;
  }
  bool replaced = false;
  try {
    replaced = CopyToReplacement(&writer, old, slots) && AddPending(&writer, *old) && PromoteReplacement(shard, *old);
  } catch (const std::bad_alloc&) {
    // The old shard stays in use, and the next change tries again.
  }
  {
    const MutexLock lock(writer.mutex);
    writer.copying = false;
    writer.pendingDocuments = {};
    writer.pendingBytes = 0;
    writer.replacement = nullptr;
    writer.origins = {};
  }
  writer.compacting = false;
  // Rows deleted in the meantime may justify another compaction, and no later change may trigger it.
  if (replaced) MaybeCompact(shard);
}

bool Collection::CopyToReplacement(Writer* writer, const std::shared_ptr<Shard>& old, uint32_t slots) {
  const auto replacement = std::make_shared<Shard>(options_.dimensions);
  {
    const MutexLock lock(mutex_);
    writer->latestReplacement = replacement;
  }
  std::vector<uint32_t> origins;
  if (!replacement->CopyFrom(
          *old, slots, [this] { return closed(); }, &origins))
    return false;
  if (old->HasVectorReadFailed()) return false;
  replacement->SyncLifetimes(*old, origins);
  const MutexLock lock(writer->mutex);
  // Again, under the lock, so that a pending document does not replace the same version committed in the meantime.
  replacement->SyncLifetimes(*old, origins);
  writer->origins = std::move(origins);
  writer->replacement = replacement;
  writer->copying = false;
  return true;
}

bool Collection::AddPending(Writer* writer, const Shard& old) {
  std::vector<PendingDocument> pendingDocuments;
  {
    const MutexLock lock(writer->mutex);
    pendingDocuments = std::exchange(writer->pendingDocuments, {});
    writer->pendingBytes = 0;
  }
  for (const PendingDocument& pending : pendingDocuments) {
    std::shared_ptr<Shard> replacement;
    uint32_t slot = 0;
    {
      const MutexLock lock(writer->mutex);
      if (writer->replacement == nullptr || closed()) return false;
      // Already discarded, replaced or removed.
      if (old.LifetimeOf(pending.slot).deletedAt != kNever) continue;
      replacement = writer->replacement;
      writer->origins.reserve(writer->origins.size() + 1);
      if (!replacement->Append(*pending.input, Shard::StagedPolicy::kKeep, &slot).ok()) return false;
      writer->origins.push_back(pending.slot);
    }
    const DocumentSlot& document = replacement->Document(slot);
    for (uint32_t i = 0; i < document.rowCount; i++) replacement->Link(document.firstRow + i, &ThreadGraphScratch());
    replacement->MarkReady(slot);
  }
  return true;
}

bool Collection::PromoteReplacement(uint32_t shard, const Shard& old) {
  Writer& writer = *writers_[shard];
  const MutexLock writerLock(writer.mutex);
  if (writer.replacement == nullptr || closed()) return false;
  // Does most of the work before commits have to wait for mutex_.
  writer.replacement->SyncLifetimes(old, writer.origins);
  const MutexLock lock(mutex_);
  writer.replacement->SyncLifetimes(old, writer.origins);
  auto shards = std::make_shared<std::vector<std::shared_ptr<Shard>>>(*shards_);
  (*shards)[shard] = writer.replacement;
  changes_ += writer.replacement->Rows();
  shards_ = std::move(shards);
  compactions_++;
  return true;
}

Collection::PendingSnapshot Collection::BeginSnapshot() const {
  const MutexLock lock(mutex_);
  PendingSnapshot pending{shards_, epoch_, sequence_, {}};
  pending.changes.reserve(writers_.size());
  for (const auto& writer : writers_) pending.changes.push_back(writer->epoch);
  return pending;
}

Status Collection::WriteShard(uint32_t shard, const PendingSnapshot& pending, uint64_t* bytes) {
  Writer& writer = *writers_[shard];
  // A shard compacted since then still has the rows visible at `pending`; its replacement does not.
  const std::shared_ptr<Shard>& written = (*pending.shards)[shard];
  // The file on disk may be newer if two snapshots were begun and the second was written first.
  const uint64_t changed = pending.changes[shard];
  if (changed < writer.writtenEpoch) return {};
  // A compacted shard is written even without changes: it is smaller, and reads its vectors from its own
  // file.
  if (changed == writer.writtenEpoch && writer.written.lock() == written) return {};
  SnapshotPoint point{};
  {
    // Under the writer's lock, no document is partially appended. Rows added later are not visible at
    // `pending`.
    const MutexLock lock(writer.mutex);
    point = {pending.epoch, pending.sequence, written->Rows(), written->Slots()};
  }
  const SnapshotPermit permit{
      [this] { return closed() ? Status(StatusCode::kClosed, "the collection is closed") : Status(); }, &fileMutex_};
  const Status status = WriteShardSnapshot(written.get(), point, {options_.dimensions, shard, options_.shards},
                                           SnapshotPath(shard), permit, bytes);
  if (!status.ok()) return status;
  writer.writtenEpoch = changed;
  writer.written = written;
  return {};
}

Status Collection::WriteSnapshots(const PendingSnapshot& pending, Snapshot* snapshot) {
  const MutexLock snapshotLock(snapshotMutex_);
  snapshot->sequence = pending.sequence;
  for (uint32_t shard = 0; shard < options_.shards; shard++) {
    if (Status status = WriteShard(shard, pending, &snapshot->bytes); !status.ok()) return status;
  }
  return {};
}

CollectionStatistics Collection::Statistics() const {
  CollectionStatistics statistics;
  std::shared_ptr<const std::vector<std::shared_ptr<Shard>>> shards;
  std::vector<std::shared_ptr<Shard>> replacements;
  {
    const MutexLock lock(mutex_);
    shards = shards_;
    statistics.rows = rows_;
    statistics.documents = documents_;
    statistics.compactions = compactions_;
    for (uint32_t shard = 0; shard < options_.shards; shard++) {
      std::shared_ptr<Shard> replacement = writers_[shard]->latestReplacement.lock();
      if (replacement != nullptr && replacement != (*shards)[shard]) replacements.push_back(std::move(replacement));
    }
  }
  for (const auto& shard : *shards) {
    statistics.deadRows += shard->DeadRows();
    Add(shard->MemoryBytes(), &statistics.memory);
  }
  for (const auto& shard : replacements) Add(shard->MemoryBytes(), &statistics.memory);
  return statistics;
}

void Collection::Close() {
  // While this lock is held no rename is in progress, and none starts afterwards.
  const MutexLock lock(fileMutex_);
  closed_.store(true, std::memory_order_relaxed);
}

Status Collection::Drop() {
  Close();
  const MutexLock lock(snapshotMutex_);
  if (Status status = RemoveFiles(options_.directory, "shard-", ""); !status.ok()) return status;
  return RemoveFolder(options_.directory);
}

}  // namespace quarry
