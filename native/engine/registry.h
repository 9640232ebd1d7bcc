// The one place of the process that knows every open collection and owns the threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/collection.h"
#include "engine/search.h"
#include "engine/status.h"
#include "engine/thread_pool.h"

namespace quarry {

class Registry;

// One user's hold on an open collection. When the last of them goes, the collection closes.
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

// Every JavaScript thread of the process uses the same collections through it. It is made at first use and never
// destroyed, because its threads run until the process ends.
//
// The asynchronous functions answer kBusy at once when too much is waiting; otherwise they call `done` exactly once,
// from a thread of the engine.
class Registry {
 public:
  static Registry& Instance();
  // The share of the nearest rows that searches should find, from 0 to 1; default .99. Counts for efforts that are
  // measured from now on.
  static void UseSearchRecall(double recall);
  // Threads that search; 0, the default, means one per core. Counts only before the first use of the registry.
  static void UseSearchThreads(size_t threads);

  using Opened = std::function<void(Status, std::unique_ptr<CollectionHandle>)>;
  // Opens the collection, or joins those who have it open with the same options.
  Status Open(const CollectionOptions& options, Opened done);

  using Done = std::function<void(Status)>;
  Status Stage(std::shared_ptr<Collection> collection, uint32_t shard, std::shared_ptr<DocumentInput> input, Done done);
  // Commits, and has the efforts of searches measured when enough of the collection has changed, as soon as nobody
  // searches or stages for a while and nothing is compacted.
  Status Commit(const std::shared_ptr<Collection>& collection, const CollectionChange& change);

  // Runs a search that has begun on the calling thread and answers true, when that costs less than handing it over: it
  // is a trifle, and the caller has not spent much time on such in this `turn` of its event loop, a number that changes
  // with them; or it is cheap, no thread would begin with it at once while others are under way, and the caller has not
  // spent much of its time on searches of late.
  bool SearchHere(CollectionSearch* search, uint64_t turn);
  // Runs a search that has begun, on as many threads as are free and worth waking up for it.
  Status Search(std::shared_ptr<CollectionSearch> search, Done done);
  // Runs `work` among the searches.
  Status Query(std::function<Status()> work, Done done);
  // Runs `work`, which waits for disks, beside them.
  Status Files(std::function<Status()> work, Done done);

  // Compactions that are put off until there is memory for them.
  size_t PutOff() const { return putOff_.load(std::memory_order_relaxed); }
  // Searches, listings and stagings that wait for a thread now.
  size_t Waiting() { return searching_.Waiting() + staging_.Waiting(); }

 private:
  friend class CollectionHandle;
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<Collection> collection;  // guarded by mutex; null until it is loaded
    size_t handles = 0;                      // guarded by mutex; of `collection`
  };

  Registry();
  Status OpenNow(const CollectionOptions& options, std::unique_ptr<CollectionHandle>* handle);
  void Release(const std::shared_ptr<Collection>& collection);
  // The entry of the id, new when there was none.
  std::shared_ptr<Entry> Find(const std::string& id);
  void ForgetIfUnused(const std::string& id);

  struct RunningSearch {
    std::shared_ptr<CollectionSearch> search;
    Done done;
  };
  bool Compact(std::function<bool()> compaction);
  // Whether searches are under way and a thread is free to begin with another.
  bool OthersSearch() const;
  void Drive(const std::shared_ptr<RunningSearch>& running, CollectionSearch::Progress progress);
  void CalibrateIfWorthwhile(const std::shared_ptr<Collection>& collection);

  ThreadPool searching_;
  ThreadPool staging_;
  ThreadPool files_;
  ThreadPool compacting_;
  ThreadPool calibrating_;
  std::atomic<size_t> searches_{0};  // that wait or run on the threads of the pool
  std::atomic<size_t> putOff_{0};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // guarded by mutex_; by collection id
};

}  // namespace quarry
