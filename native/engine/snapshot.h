// Reads and writes the snapshot file of a shard. native/FORMAT.md specifies the format.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/mutex.h"
#include "engine/shard.h"
#include "engine/status.h"

namespace quarry {

// The state of a shard that a snapshot holds: everything appended up to an instant, live as of `epoch`.
struct SnapshotPoint {
  uint64_t epoch;
  int64_t sequence;  // last change of the collection that the snapshot contains; -1: none
  uint32_t rows;
  uint32_t slots;
};

// Values that a file must match.
struct SnapshotIdentity {
  uint32_t dimensions;
  uint32_t shard;
  uint32_t shards;
};

// Permission to write a file. An error from `proceed` abandons the file. The last call of `proceed` is made
// while `renameMutex` is held, under which the file is then renamed.
struct SnapshotPermit {
  std::function<Status()> proceed;
  Mutex* renameMutex;
};

// Writes the snapshot while readers and writers use the shard; one caller at a time. Afterwards the shard
// reads the vectors from the file, and their memory is freed. Adds the file's length to *bytes.
Status WriteShardSnapshot(Shard* shard, const SnapshotPoint& point, const SnapshotIdentity& identity,
                          const std::string& path, const SnapshotPermit& permit, uint64_t* bytes);

// Reads a snapshot. The vectors of the shard stay in the file, which may be replaced but not modified.
// Returns kMissing if there is no file, kDamaged if its bytes were altered or cannot be read, or if it
// belongs to another format or collection.
Status ReadShardSnapshot(const std::string& path, const SnapshotIdentity& identity, std::shared_ptr<Shard>* shard,
                         int64_t* sequence);

}  // namespace quarry
