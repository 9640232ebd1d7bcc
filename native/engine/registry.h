// Process-wide registry of open collections and owner of the engine's threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine/collection.h"
#include "engine/mutex.h"
#include "engine/search.h"
#include "engine/status.h"
#include "engine/thread_pool.h"

namespace quarry {

class Registry;

// One user's reference to an open collection. The collection closes when its last handle is destroyed.
class CollectionHandle {
 public:
  CollectionHandle(Registry* registry, std::shared_ptr<Collection> collection);
  ~CollectionHandle();
  CollectionHandle(const CollectionHandle&) = delete;
  CollectionHandle& operator=(const CollectionHandle&) = delete;

  const std::shared_ptr<Collection>& collection() const { return collection_; }

 private:
  Registry* const registry_;
  const std::shared_ptr<Collection> collection_;
};

// Shared by all JavaScript threads of the process. Created at first use and never destroyed, because its
// threads run until the process ends.
//
// The asynchronous functions return kBusy at once if their queue is full; otherwise they call `done` exactly
// once, from a thread of the engine.
class Registry {
 public:
  static Registry& Instance();
  // Sets the target recall of vector searches, from 0 to 1; default .99. Applies to ef values measured from now on.
  static void UseSearchRecall(double recall);
  // Sets the number of search threads; 0, the default, means one per core. Effective only before the first
  // use of the registry.
  static void UseSearchThreads(size_t threads);

  using OpenCallback = std::function<void(Status, std::unique_ptr<CollectionHandle>)>;
  // Opens the collection, or shares it if it is open with the same options; otherwise returns kConflict.
  Status Open(const CollectionOptions& options, OpenCallback done);

  using DoneCallback = std::function<void(Status)>;
  Status Stage(std::shared_ptr<Collection> collection, uint32_t shard, std::shared_ptr<DocumentInput> input,
               DoneCallback done);
  // Commits, and schedules a measurement of the ef values if enough of the collection has changed. It runs
  // once the engine is idle: no search, no staging, no compaction.
  Status Commit(const std::shared_ptr<Collection>& collection, const CollectionChange& change);

  // Runs a search that has begun on the calling thread and returns true, if that costs less than handing it
  // over. Either the search is trivial and the caller has not used up its time for such searches in this
  // `loopIteration` of its event loop (a number that changes with every iteration); or it is cheap, no idle thread could
  // start it while other searches run, and the caller has not spent much of its recent time on searches.
  bool TrySearchInline(CollectionSearch* search, uint64_t loopIteration);
  // Runs a search that has begun, on as many idle threads as are worth waking.
  Status Search(std::shared_ptr<CollectionSearch> search, DoneCallback done);
  // Runs `work` on the search threads.
  Status RunQuery(std::function<Status()> work, DoneCallback done);
  // Runs `work` that waits for disks, on the file threads.
  Status RunFileJob(std::function<Status()> work, DoneCallback done);

  // Number of compactions deferred until there is memory for them.
  size_t DeferredCompactions() const { return deferredCompactions_.load(std::memory_order_relaxed); }
  // Number of searches, listings and stagings that wait for a thread now.
  size_t QueuedCalls() { return searching_.QueuedJobs() + staging_.QueuedJobs(); }

 private:
  friend class CollectionHandle;
  struct Entry {
    Mutex mutex;
    std::shared_ptr<Collection> collection GUARDED_BY(mutex);  // null until loaded
    size_t handles GUARDED_BY(mutex) = 0;                      // number of handles to `collection`
  };

  Registry();
  Status OpenNow(const CollectionOptions& options, std::unique_ptr<CollectionHandle>* handle);
  void Release(const std::shared_ptr<Collection>& collection);
  // Returns the entry of the id and creates it if missing.
  std::shared_ptr<Entry> Find(const std::string& id);
  void RemoveIfUnused(const std::string& id);

  struct RunningSearch {
    std::shared_ptr<CollectionSearch> search;
    DoneCallback done;
  };
  bool Compact(std::function<bool()> compaction);
  // Whether searches are running and a thread is idle.
  bool HasOtherSearches() const;
  void RunPhases(const std::shared_ptr<RunningSearch>& running, CollectionSearch::Progress progress);
  void MaybeCalibrate(const std::shared_ptr<Collection>& collection);

  ThreadPool searching_;
  ThreadPool staging_;
  ThreadPool files_;
  ThreadPool compacting_;
  ThreadPool calibrating_;
  std::atomic<size_t> searches_{0};  // waiting or running on the threads of the pool
  std::atomic<size_t> deferredCompactions_{0};
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_ GUARDED_BY(mutex_);  // by collection id
};

}  // namespace quarry
