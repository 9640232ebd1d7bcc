// All shards of one collection: staging, atomic commits, searches of one moment, compaction and snapshots.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/ef_values.h"
#include "engine/search.h"
#include "engine/shard.h"
#include "engine/status.h"

namespace quarry {

struct CollectionOptions {
  std::string id;
  uint32_t dimensions = 0;
  uint32_t shards = 0;
  std::string directory;  // belongs to this collection alone

  bool operator==(const CollectionOptions&) const = default;
};

enum class ShardState { kFresh, kLoaded, kMissing, kDamaged };

// What opening found of a shard.
struct ShardOpening {
  uint32_t shard;
  int64_t sequence;  // -1 when nothing is usable
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
  uint64_t deadRows = 0;  // of removed and discarded versions, not yet compacted away
  uint64_t documents = 0;
  uint64_t compactions = 0;  // finished since it was opened: what they made is not on disk before the next snapshot
  Shard::Memory memory;      // also of shards that a compaction is making
};

// Runs a long job away from the threads that search, again and again until it answers true. False when it cannot be
// accepted now.
using Background = std::function<bool(std::function<bool()>)>;

// Locks, in the order in which they are taken: snapshotMutex_, a writer's mutex, mutex_, then those inside a shard.
// Every function may be called from any thread at any time; none waits for a search.
class Collection : public std::enable_shared_from_this<Collection> {
 public:
  // Loads what the directory holds. Damaged and missing shards start empty and are reported, not refused.
  static Status Open(const CollectionOptions& options, Background background, std::shared_ptr<Collection>* collection);
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  const CollectionOptions& options() const { return options_; }
  const std::vector<ShardOpening>& opened() const { return opened_; }

  // The steps of staging one document. Run Step until it answers true, then read status().
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
    std::shared_ptr<Shard> shard_;  // the shard it went into; null before the first step
    uint32_t slot_ = 0;
    std::shared_ptr<Shard> successor_;  // a compacted shard about to replace shard_, or null; it went into both
    uint32_t successorSlot_ = 0;
    uint32_t linked_ = 0;
    Status status_;
  };

  Status Discard(uint32_t shard, uint64_t version);
  // Atomic: a search sees all of it or nothing. kUnstaged when `add` is not staged, kSequence when the sequence is
  // below the shard's; nothing changes then.
  Status Commit(const CollectionChange& change);

  // What a search that starts now sees.
  Moment Now() const;

  struct Snapshot {
    int64_t sequence = -1;  // every change up to it is on disk; -1: there was none
    uint64_t bytes = 0;     // written by this call
  };
  // The state of one instant in all shards: what a snapshot will hold.
  struct SnapshotMoment {
    std::shared_ptr<const std::vector<std::shared_ptr<Shard>>> shards;
    uint64_t epoch = 0;
    int64_t sequence = -1;
    std::vector<uint64_t> changes;  // epoch of each shard's last change
  };
  // Fixes what a snapshot holds: the caller knows that all of it is durable elsewhere, and of later changes it does
  // not know that.
  SnapshotMoment BeginSnapshot() const;
  // Writes the shards that changed between what is on disk and `moment`, as they were at that moment.
  Status WriteSnapshots(const SnapshotMoment& moment, Snapshot* snapshot);
  // The state of now.
  Status WriteSnapshots(Snapshot* snapshot) { return WriteSnapshots(BeginSnapshot(), snapshot); }

  // True when the efforts of searches should be measured (anew) and nobody does that: then it is the caller's task,
  // until EndCalibration.
  bool BeginCalibration();
  // Measured since the moment that had so many changes. Once too much has changed, searches are careful again.
  void UseEfforts(const Efforts& efforts, uint64_t changes);
  void EndCalibration() { calibrating_ = false; }

  CollectionStatistics Statistics() const;

  // Ends background work soon; no file is written any more. Running searches may finish.
  void Close();
  // Close, and remove the files.
  Status Drop();
  bool closed() const { return closed_.load(std::memory_order_relaxed); }

 private:
  // A document that arrived while its shard was being copied.
  struct Arrival {
    std::shared_ptr<DocumentInput> input;
    uint32_t slot;  // in the shard that is being copied
  };
  // The writing side of one shard. A compaction goes through three states: while `copying`, documents go into the
  // old shard and are remembered as arrivals; then there is a `successor`, documents go into both, and the arrivals
  // are added to it; in the end it takes the place of the old shard.
  struct Writer {
    std::mutex mutex;
    bool copying = false;              // guarded by mutex
    std::vector<Arrival> arrivals;     // guarded by mutex
    size_t arrivalBytes = 0;           // guarded by mutex
    std::shared_ptr<Shard> successor;  // guarded by mutex
    std::vector<uint32_t> origins;     // guarded by mutex; of the successor's slots
    std::atomic<bool> compacting{false};
    std::atomic<bool> putOff{false};  // the compaction waits for memory
    std::weak_ptr<Shard> made;        // guarded by Collection::mutex_; by the latest compaction, perhaps not whole yet
    int64_t sequence = -1;            // guarded by Collection::mutex_
    uint64_t epoch = 0;               // of the last change; guarded by Collection::mutex_
    // What the file of the shard holds, and as of which change; null: there is no good one.
    std::weak_ptr<Shard> written;  // guarded by snapshotMutex_
    uint64_t writtenEpoch = 0;     // guarded by snapshotMutex_
  };

  Collection(const CollectionOptions& options, Background background);
  Status Load();
  // Fills opened_[shard], and *loaded when there is a good file.
  Status LoadShard(uint32_t shard, std::shared_ptr<Shard>* loaded);
  std::string SnapshotPath(uint32_t shard) const;
  std::shared_ptr<Shard> CurrentShard(uint32_t shard) const;
  Status CheckOpen(uint32_t shard) const;
  // kBusy while a compaction has to come first.
  Status AppendDocument(Staging* staging);
  // Adds the staging's document to the successor too. Holds the writer's lock.
  static void AppendToSuccessor(Writer* writer, Staging* staging);
  void CompactIfWorthwhile(uint32_t shard);
  // False when there is no memory for it yet.
  bool Compact(uint32_t shard);
  void CompactNow(uint32_t shard);
  // The three steps of CompactNow; false when the collection is closed or the successor was given up.
  bool CopyToSuccessor(Writer* writer, const std::shared_ptr<Shard>& old, uint32_t slots);
  bool AddArrivals(Writer* writer, const Shard& old);
  bool ReplaceBySuccessor(uint32_t shard, const Shard& old);
  // Whether the efforts are measured on what is there now. Holds mutex_.
  bool Calibrated() const { return efforts_.calibrated && !OutOfDate(changes_ - calibratedChanges_, rows_); }
  Status WriteShard(uint32_t shard, const SnapshotMoment& moment, uint64_t* bytes);  // holds snapshotMutex_

  const CollectionOptions options_;
  const Background background_;
  std::vector<ShardOpening> opened_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::atomic<bool> closed_{false};
  std::atomic<bool> calibrating_{false};

  std::mutex snapshotMutex_;
  std::mutex fileMutex_;  // innermost; held from the last look at closed_ to the rename of a file

  mutable std::mutex mutex_;
  std::shared_ptr<const std::vector<std::shared_ptr<Shard>>> shards_;  // guarded by mutex_; replaced, never changed
  uint64_t epoch_ = 0;                                                 // guarded by mutex_; counts commits
  int64_t sequence_ = -1;                                              // guarded by mutex_; the highest committed
  uint64_t rows_ = 0;                                                  // guarded by mutex_; visible at epoch_
  uint64_t bodyLength_ = 0;                                            // guarded by mutex_
  uint64_t documents_ = 0;                                             // guarded by mutex_
  uint64_t compactions_ = 0;                                           // guarded by mutex_
  uint64_t changes_ = 0;            // guarded by mutex_; rows that came or went, or lie in a new graph
  Efforts efforts_;                 // guarded by mutex_; as they were measured
  uint64_t calibratedChanges_ = 0;  // guarded by mutex_; changes_ when that began
};

}  // namespace quarry
