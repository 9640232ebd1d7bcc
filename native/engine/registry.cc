#include "engine/registry.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "engine/calibration.h"

namespace quarry {
namespace {

constexpr size_t kQueuedSearchesMax = 1024;
constexpr size_t kQueuedJobsMax = 4096;
constexpr size_t kFileThreads = 2;
// Niceness of background threads, below the threads that answer requests. Compaction frees memory that
// staging fills, so it runs before staging.
constexpr int kStagingNiceness = 10;
constexpr int kCompactingNiceness = 5;

Status Busy() { return {StatusCode::kBusy, "the queue of the engine is full"}; }

// Converts exceptions of `work` to a status. The only exception is std::bad_alloc.
Status Run(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return {StatusCode::kMemory, "out of memory"};
  }
}

ThreadPool::Job OneShotJob(std::function<Status()> work, Registry::DoneCallback done) {
  return [work = std::move(work), done = std::move(done)] {
    done(Run(work));
    return true;
  };
}

std::atomic<size_t> searchThreads{0};
std::atomic<double> searchRecall{0.99};

size_t SearchThreads() {
  return searchThreads > 0 ? searchThreads.load() : std::max(1U, std::thread::hardware_concurrency());
}

// Waking a thread for less work would cost more than it saves.
constexpr float kHelperCost = 40;
// Handing a search over takes about 10 microseconds of the calling thread, and as much again of threads that
// wake up. A search that takes little more than that always runs on the calling thread.
constexpr float kTinyCost = 25;
// Maximum cost, in microseconds, of a search that runs on the calling thread if its budget allows.
constexpr float kInlineCostMax = 60;
// Delay before a calibration checks again whether the engine is idle.
constexpr std::chrono::milliseconds kQuietPause{50};
// Delay of the compaction thread after a compaction that was deferred for lack of memory.
constexpr std::chrono::milliseconds kMemoryPause{20};

// Time that one JavaScript thread spends on searches that it runs itself. Trivial searches get a fixed time
// per iteration of its event loop, so that a caller that searches again at once does not block all others. For
// other searches, the time beyond the cost of handing them over is limited to a share of all time: under
// load, the thread keeps the rest for work only it can do, and searches run on the search threads.
class InlineBudget {
 public:
  bool AllowsTiny(uint64_t loopIteration) {
    if (loopIteration != iteration_) spentInIteration_ = {};
    iteration_ = loopIteration;
    tinyStart_ = Clock::now();
    return spentInIteration_ < kIterationMax;
  }
  // Call when an allowed trivial search has ended.
  void ChargeTiny() { spentInIteration_ += Clock::now() - tinyStart_; }
  bool Allows(float microseconds) {
    const auto now = Clock::now();
    const std::chrono::duration<float, std::micro> passed = now - updated_;
    updated_ = now;
    credit_ = std::min(kCreditMax, credit_ + passed.count() * kShare);
    return credit_ >= microseconds - kHandOverCost;
  }
  // Call when an allowed search has ended.
  void Charge() {
    const std::chrono::duration<float, std::micro> spent = Clock::now() - updated_;
    credit_ -= std::max(0.0F, spent.count() - kHandOverCost);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr float kShare = 0.1F;
  static constexpr float kHandOverCost = 10;  // microseconds of the calling thread
  static constexpr float kCreditMax = 2000;   // microseconds
  static constexpr std::chrono::milliseconds kIterationMax{2};
  uint64_t iteration_ = 0;
  Clock::duration spentInIteration_{};
  Clock::time_point tinyStart_{};
  Clock::time_point updated_{};
  float credit_ = kCreditMax;
};

InlineBudget& ThreadInlineBudget() {
  thread_local InlineBudget budget;
  return budget;
}

}  // namespace

CollectionHandle::CollectionHandle(Registry* registry, std::shared_ptr<Collection> collection)
    : registry_(registry), collection_(std::move(collection)) {}

CollectionHandle::~CollectionHandle() { registry_->Release(collection_); }

Registry& Registry::Instance() {
  static Registry* const instance = new Registry();
  return *instance;
}

void Registry::UseSearchThreads(size_t threads) { searchThreads = threads; }

void Registry::UseSearchRecall(double recall) { searchRecall = recall; }

Registry::Registry()
    : searching_(SearchThreads(), kQueuedSearchesMax, 0),
      staging_(SearchThreads(), kQueuedSearchesMax, kStagingNiceness),
      files_(kFileThreads, kQueuedJobsMax, 0),
      compacting_(1, kQueuedJobsMax, kCompactingNiceness),
      calibrating_(1, kQueuedJobsMax, kStagingNiceness) {}

Status Registry::Open(const CollectionOptions& options, OpenCallback done) {
  const bool accepted = files_.Submit(ThreadPool::Priority::kBackground, [this, options, done = std::move(done)] {
    std::unique_ptr<CollectionHandle> handle;
    Status status = Run([&] { return OpenNow(options, &handle); });
    if (!status.ok()) RemoveIfUnused(options.id);
    done(std::move(status), std::move(handle));
    return true;
  });
  return accepted ? Status() : Busy();
}

Status Registry::OpenNow(const CollectionOptions& options, std::unique_ptr<CollectionHandle>* handle) {
  const std::shared_ptr<Entry> entry = Find(options.id);
  const MutexLock lock(entry->mutex);
  if (entry->collection != nullptr && !entry->collection->closed()) {
    if (!(entry->collection->options() == options)) {
      return {StatusCode::kConflict, "the collection is already open with different dimensions, shards or directory"};
    }
  } else {
    const auto background = [this](std::function<bool()> compaction) { return Compact(std::move(compaction)); };
    std::shared_ptr<Collection> collection;
    if (Status status = Collection::Open(options, background, &collection); !status.ok()) return status;
    entry->collection = std::move(collection);
    entry->handles = 0;
  }
  *handle = std::make_unique<CollectionHandle>(this, entry->collection);
  entry->handles++;
  MaybeCalibrate(entry->collection);
  return {};
}

bool Registry::Compact(std::function<bool()> compaction) {
  return compacting_.Submit(ThreadPool::Priority::kBackground,
                            [this, compaction = std::move(compaction), isDeferred = false]() mutable {
                              const bool done = compaction();
                              if (done == isDeferred) deferredCompactions_ += done ? -1 : 1;
                              isDeferred = !done;
                              // Other compactions run first: a smaller one may free the memory.
                              if (!done) std::this_thread::sleep_for(kMemoryPause);
                              return done;
                            });
}

void Registry::Release(const std::shared_ptr<Collection>& collection) {
  {
    const std::shared_ptr<Entry> entry = Find(collection->options().id);
    const MutexLock lock(entry->mutex);
    // After a drop, the same id may have been opened again; then this handle belongs to the previous collection.
    if (entry->collection == collection && --entry->handles == 0) {
      collection->Close();
      entry->collection = nullptr;
    }
  }
  RemoveIfUnused(collection->options().id);
}

std::shared_ptr<Registry::Entry> Registry::Find(const std::string& id) {
  const MutexLock lock(mutex_);
  auto& entry = entries_[id];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  return entry;
}

void Registry::RemoveIfUnused(const std::string& id) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  // Another holder of the entry is about to open it or remove it.
  if (found == entries_.end() || found->second.use_count() > 1) return;
  const bool isUnused = [&entry = *found->second] {
    const MutexLock entryLock(entry.mutex);
    return entry.collection == nullptr;
  }();
  if (isUnused) entries_.erase(found);
}

Status Registry::Stage(std::shared_ptr<Collection> collection, uint32_t shard, std::shared_ptr<DocumentInput> input,
                       DoneCallback done) {
  const auto staging = std::make_shared<Collection::Staging>(std::move(collection), shard, std::move(input));
  const bool accepted = staging_.Submit(ThreadPool::Priority::kBackground, [staging, done = std::move(done)] {
    if (!staging->Step()) return false;
    done(staging->status());
    return true;
  });
  return accepted ? Status() : Busy();
}

Status Registry::Commit(const std::shared_ptr<Collection>& collection, const CollectionChange& change) {
  Status status = collection->Commit(change);
  if (status.ok()) MaybeCalibrate(collection);
  return status;
}

void Registry::MaybeCalibrate(const std::shared_ptr<Collection>& collection) {
  if (!collection->BeginCalibration()) return;
  try {
    const auto calibration = std::make_shared<Calibration>(collection, searchRecall);
    // If the queue rejects it, the calibration ends here, and a later change begins another.
    (void)calibrating_.Submit(ThreadPool::Priority::kBackground, [this, calibration] {
      if (calibration->IsObsolete()) return true;
      // A shard that is being compacted will have another graph.
      if (searching_.IsQuiet() && staging_.IsQuiet() && compacting_.IsQuiet()) return calibration->Step();
      std::this_thread::sleep_for(kQuietPause);
      return false;
    });
  } catch (const std::bad_alloc&) {
    // The commit itself has succeeded; the ef values stay unchanged.
    collection->EndCalibration();
  }
}

bool Registry::TrySearchInline(CollectionSearch* search, uint64_t loopIteration) {
  const float cost = search->CostMax();
  if (cost > kInlineCostMax) return false;
  const bool tiny = cost <= kTinyCost;
  InlineBudget& budget = ThreadInlineBudget();
  if (tiny ? !budget.AllowsTiny(loopIteration) : HasOtherSearches() || !budget.Allows(cost)) return false;
  searching_.NoteUrgentWork();
  search->Run();
  tiny ? budget.ChargeTiny() : budget.Charge();
  return true;
}

bool Registry::HasOtherSearches() const {
  return searches_.load(std::memory_order_relaxed) > 0 && searching_.HasIdleThread();
}

Status Registry::Search(std::shared_ptr<CollectionSearch> search, DoneCallback done) {
  const auto running = std::make_shared<RunningSearch>(RunningSearch{std::move(search), std::move(done)});
  searches_.fetch_add(1, std::memory_order_relaxed);
  const bool accepted = searching_.Submit(ThreadPool::Priority::kUrgent, [this, running] {
    RunPhases(running, running->search->Start());
    return true;
  });
  if (accepted) return {};
  searches_.fetch_sub(1, std::memory_order_relaxed);
  return Busy();
}

void Registry::RunPhases(const std::shared_ptr<RunningSearch>& running, CollectionSearch::Progress progress) {
  using Progress = CollectionSearch::Progress;
  for (; progress == Progress::kPhaseStarted; progress = running->search->Help()) {
    const auto helpers = static_cast<size_t>(running->search->Cost() / kHelperCost);
    if (helpers == 0) continue;
    searching_.RunOnIdleThreads(helpers, [this, running] {
      RunPhases(running, running->search->Help());
      return true;
    });
  }
  if (progress != Progress::kDone) return;
  searches_.fetch_sub(1, std::memory_order_relaxed);
  running->done(running->search->status());
}

Status Registry::RunQuery(std::function<Status()> work, DoneCallback done) {
  const bool accepted = searching_.Submit(ThreadPool::Priority::kUrgent, OneShotJob(std::move(work), std::move(done)));
  return accepted ? Status() : Busy();
}

Status Registry::RunFileJob(std::function<Status()> work, DoneCallback done) {
  const bool accepted = files_.Submit(ThreadPool::Priority::kBackground, OneShotJob(std::move(work), std::move(done)));
  return accepted ? Status() : Busy();
}

}  // namespace quarry
