#include "engine/registry.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>
#include <utility>

namespace quarry {
namespace {

constexpr size_t kWaitingSearchesMax = 1024;
constexpr size_t kWaitingJobsMax = 4096;
constexpr size_t kFileThreads = 2;

Status Busy() { return {Code::kBusy, "too many operations are waiting for the engine"}; }

// A status for what `work` throws: only memory can be missing.
Status Run(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return {Code::kMemory, "there is no memory for this operation"};
  }
}

ThreadPool::Job Once(std::function<Status()> work, Registry::Done done) {
  return [work = std::move(work), done = std::move(done)] {
    done(Run(work));
    return true;
  };
}

std::atomic<size_t> searchThreads{0};

}  // namespace

CollectionHandle::CollectionHandle(Registry* registry, std::shared_ptr<Collection> collection)
    : registry_(registry), collection_(std::move(collection)) {}

CollectionHandle::~CollectionHandle() { registry_->Release(collection_); }

Registry& Registry::Instance() {
  static Registry* const instance = new Registry();
  return *instance;
}

void Registry::UseSearchThreads(size_t threads) { searchThreads = threads; }

Registry::Registry()
    : searching_(searchThreads > 0 ? searchThreads.load() : std::max(1U, std::thread::hardware_concurrency()),
                 kWaitingSearchesMax, false),
      files_(kFileThreads, kWaitingJobsMax, false),
      compacting_(1, kWaitingJobsMax, true) {}

Status Registry::Open(const CollectionOptions& options, Opened done) {
  const bool accepted = files_.Submit(ThreadPool::Priority::kSteady, [this, options, done = std::move(done)] {
    std::unique_ptr<CollectionHandle> handle;
    Status status = Run([&] { return OpenNow(options, &handle); });
    if (!status.ok()) ForgetIfUnused(options.id);
    done(std::move(status), std::move(handle));
    return true;
  });
  return accepted ? Status() : Busy();
}

Status Registry::OpenNow(const CollectionOptions& options, std::unique_ptr<CollectionHandle>* handle) {
  const std::shared_ptr<Entry> entry = Find(options.id);
  const std::lock_guard lock(entry->mutex);
  if (entry->collection != nullptr && !entry->collection->closed()) {
    if (!(entry->collection->options() == options)) {
      return {Code::kConflict, "the collection is open with other dimensions, shards or directory"};
    }
  } else {
    const auto background = [this](std::function<void()> job) {
      return compacting_.Submit(ThreadPool::Priority::kSteady, [job = std::move(job)] {
        job();
        return true;
      });
    };
    std::shared_ptr<Collection> collection;
    if (Status status = Collection::Open(options, background, &collection); !status.ok()) return status;
    entry->collection = std::move(collection);
    entry->handles = 0;
  }
  *handle = std::make_unique<CollectionHandle>(this, entry->collection);
  entry->handles++;
  return {};
}

void Registry::Release(const std::shared_ptr<Collection>& collection) {
  {
    const std::shared_ptr<Entry> entry = Find(collection->options().id);
    const std::lock_guard lock(entry->mutex);
    // After a drop the same id may have been opened anew: then this handle was for the one before.
    if (entry->collection == collection && --entry->handles == 0) {
      collection->Close();
      entry->collection = nullptr;
    }
  }
  ForgetIfUnused(collection->options().id);
}

std::shared_ptr<Registry::Entry> Registry::Find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  auto& entry = entries_[id];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  return entry;
}

void Registry::ForgetIfUnused(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  // An entry that somebody else holds is about to be opened into or forgotten by them.
  if (found == entries_.end() || found->second.use_count() > 1) return;
  if (found->second->collection == nullptr) entries_.erase(found);
}

Status Registry::Stage(std::shared_ptr<Collection> collection, uint32_t shard, std::shared_ptr<DocumentInput> input,
                       Done done) {
  const auto staging = std::make_shared<Collection::Staging>(std::move(collection), shard, std::move(input));
  const bool accepted = searching_.Submit(ThreadPool::Priority::kSteady, [staging, done = std::move(done)] {
    if (!staging->Step()) return false;
    done(staging->status());
    return true;
  });
  return accepted ? Status() : Busy();
}

Status Registry::Query(std::function<Status()> work, Done done) {
  const bool accepted = searching_.Submit(ThreadPool::Priority::kUrgent, Once(std::move(work), std::move(done)));
  return accepted ? Status() : Busy();
}

Status Registry::Files(std::function<Status()> work, Done done) {
  const bool accepted = files_.Submit(ThreadPool::Priority::kSteady, Once(std::move(work), std::move(done)));
  return accepted ? Status() : Busy();
}

}  // namespace quarry
