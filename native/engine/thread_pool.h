// A fixed set of threads with two bounded queues.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace quarry {

// `kUrgent` work (searches) goes first; `kSteady` work (staging, maintenance) runs in slices between it and gets at
// least every eighth turn, so that neither starves the other.
//
// A pool is never destroyed: its threads outlive every JavaScript environment, and destroying a condition variable
// that has waiters would hang the end of the process.
class ThreadPool {
 public:
  enum class Priority { kUrgent, kSteady };
  // Runs one slice of work; true when the job is finished, false to get another turn later. Must not throw.
  using Job = std::function<bool()>;

  // At most `queueMax` jobs wait in each queue. `low`: the threads yield the processor to all others.
  ThreadPool(size_t threads, size_t queueMax, bool low);

  // False when the queue is full; the job is then not run.
  bool Submit(Priority priority, Job job);

  // Jobs that wait now, both queues together.
  size_t Waiting();

 private:
  void Work();

  const size_t queueMax_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> urgent_;  // guarded by mutex_
  std::deque<Job> steady_;  // guarded by mutex_
  size_t urgentTurns_ = 0;  // guarded by mutex_; turns taken since steady work last had one
};

}  // namespace quarry
