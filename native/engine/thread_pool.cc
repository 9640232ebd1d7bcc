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

constexpr size_t kUrgentTurnsMax = 7;

// Best effort: if the system refuses, the thread keeps its priority.
void LowerPriority([[maybe_unused]] int niceness) {
#if defined(__linux__)
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), niceness);
#elif defined(__APPLE__)
  pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
#endif
}

}  // namespace

ThreadPool::ThreadPool(size_t threads, size_t queueMax, int niceness, std::chrono::milliseconds calm)
    : threads_(threads), queueMax_(queueMax), calm_(calm) {
  for (size_t i = 0; i < threads; i++) {
    std::thread([this, niceness] {
      if (niceness > 0) LowerPriority(niceness);
      Work();
    }).detach();
  }
}

bool ThreadPool::Submit(Priority priority, Job job) {
  const bool urgent = priority == Priority::kUrgent;
  if (urgent) {
    MakeWay();
  } else {
    lastSteady_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  {
    const std::lock_guard lock(mutex_);
    auto& queue = urgent ? urgent_ : steady_;
    if (queue.size() >= queueMax_) return false;
    queue.push_back(std::move(job));
    if (idle_ == 0) return true;
  }
  wake_.notify_one();
  return true;
}

void ThreadPool::Invite(size_t count, const Job& job) {
  {
    const std::lock_guard lock(mutex_);
    // Threads about to wake up for queued jobs are not free.
    const size_t idle = idle_;
    const size_t free = idle - std::min(idle, urgent_.size() + steady_.size());
    count = std::min(count, free);
    for (size_t i = 0; i < count; i++) urgent_.push_back(job);
  }
  for (size_t i = 0; i < count; i++) wake_.notify_one();
}

void ThreadPool::MakeWay() { lastUrgent_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed); }

size_t ThreadPool::Waiting() {
  const std::lock_guard lock(mutex_);
  return urgent_.size() + steady_.size();
}

bool ThreadPool::Quiet() {
  const std::lock_guard lock(mutex_);
  return urgent_.empty() && steady_.empty() && idle_ == threads_ && Past(lastUrgent_) && Past(lastSteady_);
}

bool ThreadPool::SteadyMayRun() const { return steadyRunning_ + 1 < threads_ || threads_ == 1 || Past(lastUrgent_); }

bool ThreadPool::Past(const std::atomic<Clock::duration::rep>& last) const {
  const Clock::time_point then{Clock::duration(last.load(std::memory_order_relaxed))};
  return then + calm_ < Clock::now();
}

std::deque<ThreadPool::Job>* ThreadPool::NextQueue() {
  const bool steadyTurn = !steady_.empty() && (urgent_.empty() || urgentTurns_ >= kUrgentTurnsMax) && SteadyMayRun();
  if (steadyTurn) return &steady_;
  return urgent_.empty() ? nullptr : &urgent_;
}

void ThreadPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::deque<Job>* queue = NextQueue();
    if (queue == nullptr) {
      idle_++;
      wake_.wait(lock);
      idle_--;
      continue;
    }
    const bool steady = queue == &steady_;
    urgentTurns_ = steady ? 0 : urgentTurns_ + 1;
    steadyRunning_ += steady ? 1 : 0;
    Job job = std::move(queue->front());
    queue->pop_front();
    lock.unlock();
    const bool finished = job();
    if (finished) job = nullptr;  // destroys what the job owns before the lock is taken
    lock.lock();
    steadyRunning_ -= steady ? 1 : 0;
    // A slice returns to its queue regardless of the bound, which applies to submitted jobs only.
    if (!finished) queue->push_back(std::move(job));
    // Steady jobs that yielded to urgent ones are woken only by running threads.
    if (steady && idle_ > 0 && steady_.size() > 1 && SteadyMayRun()) wake_.notify_one();
  }
}

}  // namespace quarry
