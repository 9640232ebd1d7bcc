// The one place of the process that knows every open collection and owns the threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/collection.h"
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
  // Threads that search; 0, the default, means one per core. Counts only before the first use of the registry.
  static void UseSearchThreads(size_t threads);

  using Opened = std::function<void(Status, std::unique_ptr<CollectionHandle>)>;
  // Opens the collection, or joins those who have it open with the same options.
  Status Open(const CollectionOptions& options, Opened done);

  using Done = std::function<void(Status)>;
  Status Stage(std::shared_ptr<Collection> collection, uint32_t shard, std::shared_ptr<DocumentInput> input, Done done);
  // Runs `work` among the searches.
  Status Query(std::function<Status()> work, Done done);
  // Runs `work`, which waits for disks, beside them.
  Status Files(std::function<Status()> work, Done done);

  // Searches, listings and stagings that wait for a thread now.
  size_t Waiting() { return searching_.Waiting(); }

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

  ThreadPool searching_;
  ThreadPool files_;
  ThreadPool compacting_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // guarded by mutex_; by collection id
};

}  // namespace quarry
