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
ThreadPool& NewPool(size_t threads, size_t queueMax, std::chrono::milliseconds calm = ThreadPool::kCalm) {
  static std::vector<ThreadPool*>* const pools = new std::vector<ThreadPool*>();
  pools->push_back(new ThreadPool(threads, queueMax, 0, calm));
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
  while (!pool->Quiet()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST("urgent work goes before steady work, which gets every eighth turn all the same") {
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
  for (int i = 0; i < 3; i++) REQUIRE(pool.Submit(Priority::kSteady, append('s')));
  for (int i = 0; i < 15; i++) REQUIRE(pool.Submit(Priority::kUrgent, append('u')));
  CHECK(pool.Waiting() == 18);
  gate.Open();
  AwaitQuiet(&pool);
  CHECK(order == "uuuuuusuuuuuuusuus");
}

TEST("a full queue refuses, and what was refused is not run") {
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
  CHECK(pool.Submit(Priority::kSteady, count));
  gate.Open();
  AwaitQuiet(&pool);
  CHECK(ran == 3);
}

TEST("only threads that have nothing to do are invited") {
  ThreadPool& pool = NewPool(3, 100);
  Gate busy;
  REQUIRE(pool.Submit(Priority::kUrgent, busy.Job()));
  busy.AwaitEntered(1);
  while (pool.Waiting() > 0) std::this_thread::yield();
  Gate guests;
  // A thread may not be idle yet and is then not invited, so the loop retries.
  while (guests.entered() < 2) pool.Invite(2 - static_cast<size_t>(guests.entered()), guests.Job());
  pool.Invite(5, guests.Job());
  CHECK(pool.Waiting() == 0);
  guests.Open();
  busy.Open();
  AwaitQuiet(&pool);
}

TEST("while urgent work comes, steady work leaves a thread free for it, and still all of it is done") {
  ThreadPool& pool = NewPool(2, 100, std::chrono::hours(1));
  Gate first;
  Gate second;
  pool.MakeWay();
  REQUIRE(pool.Submit(Priority::kSteady, first.Job()));
  first.AwaitEntered(1);
  REQUIRE(pool.Submit(Priority::kSteady, second.Job()));
  const Gate urgent;
  urgent.Open();
  REQUIRE(pool.Submit(Priority::kUrgent, urgent.Job()));
  urgent.AwaitEntered(1);
  CHECK(second.entered() == 0);
  CHECK(!pool.Quiet());
  first.Open();
  second.AwaitEntered(1);
  second.Open();
  CHECK(pool.Waiting() == 0);
}

TEST("steady work takes all threads when no urgent work comes") {
  ThreadPool& pool = NewPool(2, 100, std::chrono::milliseconds(0));
  Gate gate;
  REQUIRE(pool.Submit(Priority::kSteady, gate.Job()));
  REQUIRE(pool.Submit(Priority::kSteady, gate.Job()));
  gate.AwaitEntered(2);
  gate.Open();
  AwaitQuiet(&pool);
}

}  // namespace
}  // namespace quarry
