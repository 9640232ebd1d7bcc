#include "engine/collection.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "engine/file.h"
#include "engine/parallel.h"
#include "engine/snapshot.h"

namespace quarry {
namespace {

// With fewer rows, every search is cheap.
constexpr uint64_t kCalibratedMin = 4096;

void Add(const Shard::Memory& more, Shard::Memory* sum) {
  sum->vectorsInMemory += more.vectorsInMemory;
  sum->vectorsInFile += more.vectorsInFile;
  sum->codes += more.codes;
  sum->links += more.links;
  sum->postings += more.postings;
  sum->attributes += more.attributes;
  sum->documents += more.documents;
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
