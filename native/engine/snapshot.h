// A shard on disk. The bytes are described in native/FORMAT.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "engine/shard.h"
#include "engine/status.h"

namespace quarry {

// Which part of a shard a snapshot holds: everything appended up to an instant, live as of `epoch`.
struct SnapshotPoint {
  uint64_t epoch;
  int64_t sequence;  // the last change of the collection that is in it; -1: there was none
  uint32_t rows;
  uint32_t slots;
};

// What makes a file the right one.
struct SnapshotIdentity {
  uint32_t dimensions;
  uint32_t shard;
  uint32_t shards;
};

// Whether a file may still be written. An error from `proceed` abandons it. The last question is asked holding
// `renameMutex`, under which the file then gets its name.
struct SnapshotPermit {
  std::function<Status()> proceed;
  std::mutex* renameMutex;
};

// Writes beside readers and writers of the shard; one caller at a time. Afterwards the shard reads the vectors that
// the file holds from there, and their memory is free. Adds the file's length to *bytes.
Status WriteSnapshot(Shard* shard, const SnapshotPoint& point, const SnapshotIdentity& identity,
                     const std::string& path, const SnapshotPermit& permit, uint64_t* bytes);

// The vectors of the shard stay in the file, which may be replaced but not changed. kMissing: no file. kDamaged: its
// bytes are not what was written or cannot be read, or it belongs to another format or collection.
Status ReadSnapshot(const std::string& path, const SnapshotIdentity& identity, std::shared_ptr<Shard>* shard,
                    int64_t* sequence);

}  // namespace quarry
