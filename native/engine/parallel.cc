#include "engine/parallel.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/mutex.h"

namespace quarry {
namespace {

Status RunJob(const std::function<Status(size_t)>& job, size_t number) {
  try {
    return job(number);
  } catch (const std::bad_alloc&) {
    return {StatusCode::kMemory, "out of memory"};
  }
}

}  // namespace

Status RunParallel(size_t jobs, size_t threads, const std::function<Status(size_t)>& job) {
  Mutex mutex;
  size_t next = 0;  // guarded by mutex
  Status first;     // guarded by mutex
  const auto work = [&] {
    for (;;) {
      size_t number = 0;
      {
        const MutexLock lock(mutex);
        if (next == jobs || !first.ok()) return;
        number = next++;
      }
      Status status = RunJob(job, number);
      const MutexLock lock(mutex);
      if (first.ok()) first = std::move(status);
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(std::min(jobs, threads));
  try {
    while (helpers.size() + 1 < std::min(jobs, threads)) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads available: the existing threads run all jobs.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return first;
}

}  // namespace quarry
