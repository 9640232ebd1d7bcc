// A fixed set of threads with two bounded queues.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>

#include "engine/mutex.h"

namespace quarry {

// `kUrgent` work (searches) runs first. `kBackground` work (staging, maintenance) runs in slices in between and
// gets at least every eighth slice, so that neither starves the other. While urgent work arrives, background work
// leaves one thread free for it, if the pool has more than one.
//
// A pool is never destroyed: its threads outlive every JavaScript environment, and destroying a condition
// variable with waiters would block the exit of the process.
class ThreadPool {
 public:
  enum class Priority { kUrgent, kBackground };
  // Runs one slice of work. Returns true if the job is finished, false to run again later. Must not throw.
  using Job = std::function<bool()>;

  // Time after urgent work during which more is expected.
  static constexpr std::chrono::milliseconds kQuietPeriod{100};

  // At most `queueMax` jobs wait in each queue. `niceness` is the nice(1) value of the threads.
  ThreadPool(size_t threads, size_t queueMax, int niceness, std::chrono::milliseconds quietPeriod = kQuietPeriod);

  // Returns false if the queue is full; the job is then not run.
  bool Submit(Priority priority, Job job);

  // Lets up to `count` idle threads run the job as well, each once. Busy threads are not waited for.
  void RunOnIdleThreads(size_t count, const Job& job);

  // Reports urgent work that runs elsewhere: the pool yields to it as to its own.
  void NoteUrgentWork();

  // Whether some thread is idle.
  bool HasIdleThread() const { return idle_.load(std::memory_order_relaxed) > 0; }

  // Whether no job runs or waits, and none arrived recently.
  bool IsQuiet();

  // Number of waiting jobs in both queues.
  size_t QueuedJobs();

 private:
  using Clock = std::chrono::steady_clock;

  void RunWorker();
  // Returns the queue of the next job of a free thread; null if there is none.
  std::deque<Job>* NextQueue() REQUIRES(mutex_);
  bool BackgroundMayRun() const REQUIRES(mutex_);
  // Whether `last` is so long ago that no more work is expected.
  bool IsQuietSince(const std::atomic<Clock::duration::rep>& last) const;

  const size_t threads_;
  const size_t queueMax_;
  const std::chrono::milliseconds quietPeriod_;
  std::atomic<Clock::duration::rep> lastUrgent_{Clock::duration::min().count()};  // last arrival of urgent work
  // Last arrival of background work.
  std::atomic<Clock::duration::rep> lastBackground_{Clock::duration::min().count()};
  Mutex mutex_;
  ConditionVariable wake_;
  std::deque<Job> urgent_ GUARDED_BY(mutex_);
  std::deque<Job> background_ GUARDED_BY(mutex_);
  size_t urgentRuns_ GUARDED_BY(mutex_) = 0;         // urgent jobs run since the last background job
  std::atomic<size_t> idle_{0};                      // changed under mutex_; number of waiting threads
  size_t backgroundRunning_ GUARDED_BY(mutex_) = 0;  // number of threads that run background work
};

}  // namespace quarry
