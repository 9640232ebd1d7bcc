// All shards of one collection: staging, atomic commits, consistent reads, compaction and snapshots.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/ef_values.h"
#include "engine/mutex.h"
#include "engine/search.h"
#include "engine/shard.h"
#include "engine/status.h"

namespace quarry {

struct CollectionOptions {
  std::string id;
  uint32_t dimensions = 0;
  uint32_t shards = 0;
  std::string directory;  // owned exclusively by this collection

  bool operator==(const CollectionOptions&) const = default;
};

enum class ShardState { kFresh, kLoaded, kMissing, kDamaged };

// Result of opening one shard.
struct ShardOpenResult {
  uint32_t shard;
  int64_t sequence;  // -1 if no usable file exists
  ShardState state;
  std::string reason;  // empty unless kMissing or kDamaged
};

struct CollectionChange {
  uint64_t sequence = 0;
  uint32_t shard = 0;
  std::optional<uint64_t> add;
  std::optional<uint64_t> remove;
};

struct CollectionStatistics {
  uint64_t rows = 0;      // visible to a search that starts now
  uint64_t deadRows = 0;  // of removed and discarded versions, not yet compacted
  uint64_t documents = 0;
  uint64_t compactions = 0;  // finished since open; their results are on disk after the next snapshot
  Shard::Memory memory;      // includes shards that a compaction is building
};

// Runs a long job on a thread that serves no searches, repeatedly until it returns true. Returns false if the
// job cannot be accepted now.
using BackgroundScheduler = std::function<bool(std::function<bool()>)>;

// Lock order: snapshotMutex_, a writer's mutex, mutex_, then the locks inside a shard. Every function may be
// called from any thread at any time; none waits for a search.
class Collection : public std::enable_shared_from_this<Collection> {
 public:
  // Loads the collection from its directory. Damaged and missing shards start empty and are reported in openResults().
  static Status Open(const CollectionOptions& options, BackgroundScheduler background,
                     std::shared_ptr<Collection>* collection);
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  const CollectionOptions& options() const { return options_; }
  const std::vector<ShardOpenResult>& openResults() const { return openResults_; }

  // The steps of staging one document. Call Step until it returns true, then read status().
  class Staging {
   public:
    Staging(std::shared_ptr<Collection> collection, uint32_t shard, std::shared_ptr<DocumentInput> input);
    bool Step();
    const Status& status() const { return status_; }

   private:
    friend class Collection;
    const std::shared_ptr<Collection> collection_;
    const uint32_t number_;
    const std::shared_ptr<DocumentInput> input_;
    std::shared_ptr<Shard> shard_;  // shard that received the document; null before the first step
    uint32_t slot_ = 0;
    std::shared_ptr<Shard> replacement_;  // compacted shard about to replace shard_ and staged into as well, or null
    uint32_t replacementSlot_ = 0;
    uint32_t linked_ = 0;
    Status status_;
  };

  Status Discard(uint32_t shard, uint64_t version);
  // Atomic: a search sees the whole change or none of it. Returns kUnstaged if `add` is not staged, kSequence
  // if the sequence is below the shard's; then nothing changes.
  Status Commit(const CollectionChange& change);

  // Returns the read snapshot of a search that starts now.
  ReadSnapshot GetReadSnapshot() const;

  struct Snapshot {
    int64_t sequence = -1;  // every change up to it is on disk; -1 if there was none
    uint64_t bytes = 0;     // written by this call
  };
  // The state of all shards at one instant: the content of a snapshot to be written.
  struct PendingSnapshot {
    std::shared_ptr<const std::vector<std::shared_ptr<Shard>>> shards;
    uint64_t epoch = 0;
    int64_t sequence = -1;
    std::vector<uint64_t> changes;  // epoch of the last change of each shard
  };
  // Fixes the content of a snapshot. Call it only when every change so far is durable elsewhere; later
  // changes may not be.
  PendingSnapshot BeginSnapshot() const;
  // Writes the shards that changed between the state on disk and `pending`, as they were at `pending`.
  Status WriteSnapshots(const PendingSnapshot& pending, Snapshot* snapshot);
  // Writes the current state.
  Status WriteSnapshots(Snapshot* snapshot) { return WriteSnapshots(BeginSnapshot(), snapshot); }

  // Returns true if the ef values need to be measured (again) and no measurement is running. The caller then
  // owns the measurement until it calls EndCalibration.
  bool BeginCalibration();
  // Sets measured ef values. `changes` is the change counter at the start of the measurement; once too many
  // changes follow, searches use the conservative defaults again.
  void SetEfValues(const EfValues& efValues, uint64_t changes);
  void EndCalibration() { calibrating_ = false; }

  CollectionStatistics Statistics() const;

  // Ends background work soon. No file is written after the call returns; running searches may finish.
  void Close();
  // Closes the collection and removes its files.
  Status Drop();
  bool closed() const { return closed_.load(std::memory_order_relaxed); }

 private:
  // A document staged while its shard was being copied.
  struct PendingDocument {
    std::shared_ptr<DocumentInput> input;
    uint32_t slot;  // in the shard being copied
  };
  // Write state of one shard. A compaction has three states: while `copying`, documents are added to the old
  // shard and recorded in `pendingDocuments`; once `replacement` is set, documents are added to both shards and the
  // pending ones to the replacement; finally the replacement takes the place of the old shard.
  struct Writer {
    Mutex mutex;
    bool copying GUARDED_BY(mutex) = false;
    std::vector<PendingDocument> pendingDocuments GUARDED_BY(mutex);
    size_t pendingBytes GUARDED_BY(mutex) = 0;
    std::shared_ptr<Shard> replacement GUARDED_BY(mutex);
    std::vector<uint32_t> origins GUARDED_BY(mutex);  // old slot of each slot of the replacement
    std::atomic<bool> compacting{false};
    std::atomic<bool> deferred{false};  // the compaction waits for memory
    // Guarded by Collection::mutex_, which an annotation cannot name here.
    std::weak_ptr<Shard> latestReplacement;  // latest compacted shard, possibly incomplete
    int64_t sequence = -1;
    uint64_t epoch = 0;  // epoch of the last change
    // Guarded by Collection::snapshotMutex_: the shard that the file holds, and the epoch of its last change. Null:
    // there is no valid file.
    std::weak_ptr<Shard> written;
    uint64_t writtenEpoch = 0;
  };

  Collection(const CollectionOptions& options, BackgroundScheduler background);
  Status Load();
  // Fills openResults_[shard], and *loaded if a valid file exists.
  Status LoadShard(uint32_t shard, std::shared_ptr<Shard>* loaded);
  std::string SnapshotPath(uint32_t shard) const;
  std::shared_ptr<Shard> CurrentShard(uint32_t shard) const;
  Status CheckOpen(uint32_t shard) const;
  // Returns kBusy if a compaction must finish first.
  Status AppendDocument(Staging* staging);
  // Also adds the staging's document to the replacement.
  static void AppendToReplacement(Writer* writer, Staging* staging) REQUIRES(writer->mutex);
  void MaybeCompact(uint32_t shard);
  // Returns false if there is not enough memory yet.
  bool Compact(uint32_t shard);
  void CompactNow(uint32_t shard);
  // The three steps of CompactNow. Each returns false if the collection is closed or the replacement was abandoned.
  bool CopyToReplacement(Writer* writer, const std::shared_ptr<Shard>& old, uint32_t slots);
  bool AddPending(Writer* writer, const Shard& old);
  bool PromoteReplacement(uint32_t shard, const Shard& old);
  // Whether the ef values were measured on approximately the current rows.
  bool IsCalibrated() const REQUIRES(mutex_) {
    return efValues_.calibrated && !IsCalibrationStale(changes_ - calibratedChanges_, rows_);
  }
  Status WriteShard(uint32_t shard, const PendingSnapshot& pending, uint64_t* bytes) REQUIRES(snapshotMutex_);

  const CollectionOptions options_;
  const BackgroundScheduler schedule_;
  std::vector<ShardOpenResult> openResults_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::atomic<bool> closed_{false};
  std::atomic<bool> calibrating_{false};

  Mutex snapshotMutex_;
  Mutex fileMutex_;  // innermost; held from the last check of closed_ to the rename of a file

  mutable Mutex mutex_;
  std::shared_ptr<const std::vector<std::shared_ptr<Shard>>> shards_ GUARDED_BY(mutex_);  // replaced, never modified
  uint64_t epoch_ GUARDED_BY(mutex_) = 0;                                                 // counts commits
  int64_t sequence_ GUARDED_BY(mutex_) = -1;                                              // highest committed
  uint64_t rows_ GUARDED_BY(mutex_) = 0;                                                  // visible at epoch_
  uint64_t bodyLength_ GUARDED_BY(mutex_) = 0;
  uint64_t documents_ GUARDED_BY(mutex_) = 0;
  uint64_t compactions_ GUARDED_BY(mutex_) = 0;
  uint64_t changes_ GUARDED_BY(mutex_) = 0;            // rows added, removed, or moved to a new graph
  EfValues efValues_ GUARDED_BY(mutex_);               // last measured values
  uint64_t calibratedChanges_ GUARDED_BY(mutex_) = 0;  // changes_ at the start of that measurement
};

}  // namespace quarry
