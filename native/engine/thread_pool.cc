#include "engine/thread_pool.h"

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <pthread/qos.h>
#endif

#include <algorithm>
#include <thread>
#include <utility>

namespace quarry {
namespace {

constexpr size_t kUrgentRunsMax = 7;

// Best effort: if the system refuses, the thread keeps its priority.
void SetNiceness([[maybe_unused]] int niceness) {
#if defined(__linux__)
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), niceness);
#elif defined(__APPLE__)
  pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
#endif
}

}  // namespace

ThreadPool::ThreadPool(size_t threads, size_t queueMax, int niceness, std::chrono::milliseconds quietPeriod)
    : threads_(threads), queueMax_(queueMax), quietPeriod_(quietPeriod) {
  for (size_t i = 0; i < threads; i++) {
    std::thread([this, niceness] {
      if (niceness > 0) SetNiceness(niceness);
      RunWorker();
    }).detach();
  }
}

bool ThreadPool::Submit(Priority priority, Job job) {
  const bool urgent = priority == Priority::kUrgent;
  if (urgent) {
    NoteUrgentWork();
  } else {
    lastBackground_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  {
    const MutexLock lock(mutex_);
    auto& queue = urgent ? urgent_ : background_;
    if (queue.size() >= queueMax_) return false;
    queue.push_back(std::move(job));
    if (idle_ == 0) return true;
  }
  wake_.NotifyOne();
  return true;
}

void ThreadPool::RunOnIdleThreads(size_t count, const Job& job) {
  {
    const MutexLock lock(mutex_);
    // Threads about to wake up for queued jobs are not free.
    const size_t idle = idle_;
    const size_t free = idle - std::min(idle, urgent_.size() + background_.size());
    count = std::min(count, free);
    for (size_t i = 0; i < count; i++) urgent_.push_back(job);
  }
  for (size_t i = 0; i < count; i++) wake_.NotifyOne();
}

void ThreadPool::NoteUrgentWork() {
  lastUrgent_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

size_t ThreadPool::QueuedJobs() {
  const MutexLock lock(mutex_);
  return urgent_.size() + background_.size();
}

bool ThreadPool::IsQuiet() {
  const MutexLock lock(mutex_);
  return urgent_.empty() && background_.empty() && idle_ == threads_ && IsQuietSince(lastUrgent_) &&
         IsQuietSince(lastBackground_);
}

bool ThreadPool::BackgroundMayRun() const {
  return backgroundRunning_ + 1 < threads_ || threads_ == 1 || IsQuietSince(lastUrgent_);
}

bool ThreadPool::IsQuietSince(const std::atomic<Clock::duration::rep>& last) const {
  const Clock::time_point then{Clock::duration(last.load(std::memory_order_relaxed))};
  return then + quietPeriod_ < Clock::now();
}

std::deque<ThreadPool::Job>* ThreadPool::NextQueue() {
  const bool runBackground =
      !background_.empty() && (urgent_.empty() || urgentRuns_ >= kUrgentRunsMax) && BackgroundMayRun();
  if (runBackground) return &background_;
  return urgent_.empty() ? nullptr : &urgent_;
}

void ThreadPool::RunWorker() {
  mutex_.Lock();
  while (true) {
    std::deque<Job>* queue = NextQueue();
    if (queue == nullptr) {
      idle_++;
      wake_.Wait(mutex_);
      idle_--;
      continue;
    }
    const bool background = queue == &background_;
    urgentRuns_ = background ? 0 : urgentRuns_ + 1;
    backgroundRunning_ += background ? 1 : 0;
    Job job = std::move(queue->front());
    queue->pop_front();
    mutex_.Unlock();
    const bool finished = job();
    if (finished) job = nullptr;  // destroys what the job owns before the lock is taken
    mutex_.Lock();
    backgroundRunning_ -= background ? 1 : 0;
    // A slice returns to its queue regardless of the bound, which applies to submitted jobs only.
    if (!finished) queue->push_back(std::move(job));
    // Background jobs that yielded to urgent ones are woken only by running threads.
    if (background && idle_ > 0 && background_.size() > 1 && BackgroundMayRun()) wake_.NotifyOne();
  }
}

}  // namespace quarry
