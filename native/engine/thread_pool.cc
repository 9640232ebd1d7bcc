#include "engine/thread_pool.h"

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <pthread/qos.h>
#endif

#include <thread>
#include <utility>

namespace quarry {
namespace {

constexpr size_t kUrgentTurnsMax = 7;

// A wish: where the system refuses, the thread runs as any other.
void LowerPriority() {
#if defined(__linux__)
  constexpr int niceness = 3;  // about half the share of a thread that answers searches
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), niceness);
#elif defined(__APPLE__)
  pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
#endif
}

}  // namespace

ThreadPool::ThreadPool(size_t threads, size_t queueMax, bool low) : queueMax_(queueMax) {
  for (size_t i = 0; i < threads; i++) {
    std::thread([this, low] {
      if (low) LowerPriority();
      Work();
    }).detach();
  }
}

bool ThreadPool::Submit(Priority priority, Job job) {
  {
    const std::lock_guard lock(mutex_);
    auto& queue = priority == Priority::kUrgent ? urgent_ : steady_;
    if (queue.size() >= queueMax_) return false;
    queue.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

size_t ThreadPool::Waiting() {
  const std::lock_guard lock(mutex_);
  return urgent_.size() + steady_.size();
}

void ThreadPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return !urgent_.empty() || !steady_.empty(); });
    const bool steadyTurn = urgent_.empty() || (!steady_.empty() && urgentTurns_ >= kUrgentTurnsMax);
    auto& queue = steadyTurn ? steady_ : urgent_;
    urgentTurns_ = steadyTurn ? 0 : urgentTurns_ + 1;
    Job job = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    const bool finished = job();
    if (finished) job = nullptr;  // what the job owns goes before the lock is taken
    lock.lock();
    // A slice returns to its queue beyond the bound: the bound is for what comes from outside.
    if (!finished) queue.push_back(std::move(job));
  }
}

}  // namespace quarry
