#include "engine/thread_pool.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace quarry {
namespace {

using Priority = ThreadPool::Priority;

// Pools are never destroyed; keeping a pointer to each prevents leak reports.
ThreadPool& NewPool(size_t threads, size_t queueMax, std::chrono::milliseconds quietPeriod = ThreadPool::kQuietPeriod) {
  static std::vector<ThreadPool*>* const pools = new std::vector<ThreadPool*>();
  pools->push_back(new ThreadPool(threads, queueMax, 0, quietPeriod));
  return *pools->back();
}

// Blocks threads of a pool until it is opened. Jobs may outlive it.
class Gate {
 public:
  ThreadPool::Job Job() const {
    return [entered = entered_, opened = opened_] {
      (*entered)++;
      while (!*opened) std::this_thread::yield();
      return true;
    };
  }
  void AwaitEntered(int count) const {
    while (entered() < count) std::this_thread::yield();
  }
  int entered() const { return *entered_; }
  void Open() const { *opened_ = true; }

 private:
  const std::shared_ptr<std::atomic<int>> entered_ = std::make_shared<std::atomic<int>>(0);
  const std::shared_ptr<std::atomic<bool>> opened_ = std::make_shared<std::atomic<bool>>(false);
};

void AwaitQuiet(ThreadPool* pool) {
  while (!pool->IsQuiet()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

CONCURRENT_TEST("urgent work runs before background work, which still gets every eighth slice") {
  ThreadPool& pool = NewPool(1, 100);
  Gate gate;
  REQUIRE(pool.Submit(Priority::kUrgent, gate.Job()));
  gate.AwaitEntered(1);
  std::string order;
  const auto append = [&](char mark) {
    return [&order, mark] {
      order += mark;
      return true;
    };
  };
  for (int i = 0; i < 3; i++) REQUIRE(pool.Submit(Priority::kBackground, append('b')));
  for (int i = 0; i < 15; i++) REQUIRE(pool.Submit(Priority::kUrgent, append('u')));
  CHECK(pool.QueuedJobs() == 18);
  gate.Open();
  AwaitQuiet(&pool);
  CHECK(order == "uuuuuubuuuuuuubuub");
}

CONCURRENT_TEST("a full queue rejects jobs, and rejected jobs do not run") {
  ThreadPool& pool = NewPool(1, 2);
  Gate gate;
  REQUIRE(pool.Submit(Priority::kUrgent, gate.Job()));
  gate.AwaitEntered(1);
  std::atomic<int> ran{0};
  const auto count = [&ran] {
    ran++;
    return true;
  };
  CHECK(pool.Submit(Priority::kUrgent, count) && pool.Submit(Priority::kUrgent, count));
  CHECK(!pool.Submit(Priority::kUrgent, count));
  CHECK(pool.Submit(Priority::kBackground, count));
  gate.Open();
  AwaitQuiet(&pool);
  CHECK(ran == 3);
}

CONCURRENT_TEST("a job for idle threads does not run on busy threads") {
  ThreadPool& pool = NewPool(3, 100);
  Gate busy;
  REQUIRE(pool.Submit(Priority::kUrgent, busy.Job()));
  busy.AwaitEntered(1);
  while (pool.QueuedJobs() > 0) std::this_thread::yield();
  Gate idleGate;
  // A thread may not be idle yet and does not run the job then, so the loop retries.
  while (idleGate.entered() < 2) pool.RunOnIdleThreads(2 - static_cast<size_t>(idleGate.entered()), idleGate.Job());
  pool.RunOnIdleThreads(5, idleGate.Job());
  CHECK(pool.QueuedJobs() == 0);
  idleGate.Open();
  busy.Open();
  AwaitQuiet(&pool);
}

CONCURRENT_TEST("while urgent work arrives, background work leaves one thread free and still completes") {
  ThreadPool& pool = NewPool(2, 100, std::chrono::hours(1));
  Gate first;
  Gate second;
  pool.NoteUrgentWork();
  REQUIRE(pool.Submit(Priority::kBackground, first.Job()));
  first.AwaitEntered(1);
  REQUIRE(pool.Submit(Priority::kBackground, second.Job()));
  const Gate urgent;
  urgent.Open();
  REQUIRE(pool.Submit(Priority::kUrgent, urgent.Job()));
  urgent.AwaitEntered(1);
  CHECK(second.entered() == 0);
  CHECK(!pool.IsQuiet());
  first.Open();
  second.AwaitEntered(1);
  second.Open();
  CHECK(pool.QueuedJobs() == 0);
}

CONCURRENT_TEST("background work uses all threads if no urgent work arrives") {
  ThreadPool& pool = NewPool(2, 100, std::chrono::milliseconds(0));
  Gate gate;
  REQUIRE(pool.Submit(Priority::kBackground, gate.Job()));
  REQUIRE(pool.Submit(Priority::kBackground, gate.Job()));
  gate.AwaitEntered(2);
  gate.Open();
  AwaitQuiet(&pool);
}

}  // namespace
}  // namespace quarry
