// Collection: compaction of shards.
#include <algorithm>
#include <new>
#include <utility>

#include "engine/collection.h"
#include "engine/process_memory.h"

namespace quarry {
namespace {

// A shard is compacted when at least a quarter of it, and at least kDeadMin entries, are deleted.
constexpr uint64_t kDeadDivisor = 4;
constexpr uint64_t kDeadMin = 256;

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

void Collection::MaybeCompact(uint32_t shard) {
  Writer& writer = *writers_[shard];
  const std::shared_ptr<Shard> current = CurrentShard(shard);
  if (!current->HasDead(kDeadMin, kDeadDivisor)) return;
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
  GraphScratch scratch;
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
    for (uint32_t i = 0; i < document.rowCount; i++) replacement->Link(document.firstRow + i, &scratch);
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

}  // namespace quarry
