// Deadlines and cancellation of operations.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include "engine/status.h"

namespace quarry {

// Conditions under which a search stops because its caller no longer waits for it.
struct CancellationToken {
  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline = Clock::time_point::max();
  std::shared_ptr<const std::atomic<bool>> canceled;  // may be null

  // Reading the clock is the most expensive part; pass `now` if it was just read.
  Status Check(Clock::time_point now = Clock::now()) const;
};

// Checks a CancellationToken periodically during one piece of work. Short work never reads the clock.
class CancellationChecker {
 public:
  // `cancellation` must outlive this object.
  explicit CancellationChecker(const CancellationToken& cancellation) : cancellation_(cancellation) {}

  // Counts work about to be done, in units of about a nanosecond. Returns false if it must not be done;
  // status() has the reason.
  bool MayContinue(size_t work) {
    work_ += work;
    if (work_ < kWorkPerCheck) return true;
    work_ = 0;
    status_ = cancellation_.Check();
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  static constexpr size_t kWorkPerCheck = 16384;
  const CancellationToken& cancellation_;
  size_t work_ = 0;
  Status status_;
};

}  // namespace quarry
