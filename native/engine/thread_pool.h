// A fixed set of threads with two bounded queues.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace quarry {

// `kUrgent` work (searches) goes first; `kSteady` work (staging, maintenance) runs in slices between it and gets at
// least every eighth turn, so that neither starves the other. While urgent work comes, steady work leaves one thread
// free for it, where there is more than one.
//
// A pool is never destroyed: its threads outlive every JavaScript environment, and destroying a condition variable
// that has waiters would hang the end of the process.
class ThreadPool {
 public:
  enum class Priority { kUrgent, kSteady };
  // Runs one slice of work; true when the job is finished, false to get another turn later. Must not throw.
  using Job = std::function<bool()>;

  // So long after urgent work came, more of it is expected.
  static constexpr std::chrono::milliseconds kCalm{100};

  // At most `queueMax` jobs wait in each queue. `niceness`: how far the threads step back for others, as nice(1) counts.
  ThreadPool(size_t threads, size_t queueMax, int niceness, std::chrono::milliseconds calm = kCalm);

  // False when the queue is full; the job is then not run.
  bool Submit(Priority priority, Job job);

  // Has up to `count` threads that have nothing to do run the job too, each once. Busy threads are not waited for.
  void Invite(size_t count, const Job& job);

  // Urgent work is done elsewhere now: the pool makes way for it as for its own.
  void MakeWay();

  // Whether some thread has nothing to do.
  bool SomeIdle() const { return idle_.load(std::memory_order_relaxed) > 0; }

  // Nothing runs or waits, and no work came for a while.
  bool Quiet();

  // Jobs that wait now, both queues together.
  size_t Waiting();

 private:
  using Clock = std::chrono::steady_clock;

  void Work();
  // What a free thread takes next; null: nothing. Holds mutex_.
  std::deque<Job>* NextQueue();
  bool SteadyMayRun() const;
  // So long that no more is expected.
  bool Past(const std::atomic<Clock::duration::rep>& last) const;

  const size_t threads_;
  const size_t queueMax_;
  const std::chrono::milliseconds calm_;
  std::atomic<Clock::duration::rep> lastUrgent_{Clock::duration::min().count()};  // when urgent work came last
  // When steady work came last.
  std::atomic<Clock::duration::rep> lastSteady_{Clock::duration::min().count()};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> urgent_;       // guarded by mutex_
  std::deque<Job> steady_;       // guarded by mutex_
  size_t urgentTurns_ = 0;       // guarded by mutex_; turns taken since steady work last had one
  std::atomic<size_t> idle_{0};  // changed under mutex_; threads that wait
  size_t steadyRunning_ = 0;     // guarded by mutex_; threads that run steady work
};

}  // namespace quarry
