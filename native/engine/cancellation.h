// How long an operation may take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include "engine/status.h"

namespace quarry {

// When to stop a search that nobody waits for any more.
struct Patience {
  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline = Clock::time_point::max();
  std::shared_ptr<const std::atomic<bool>> cancelled;  // may be null

  // Asking for the time takes longer than the rest: whoever has just done so says what it is.
  Status Check(Clock::time_point now = Clock::now()) const;
};

// Checks a patience now and then during one piece of work. Of work that ends soon it costs nothing.
class Pace {
 public:
  // `patience` must outlive the pace.
  explicit Pace(const Patience& patience) : patience_(patience) {}

  // Counts work that is to be done next, in units of about a nanosecond. False when it must not be: status() says why.
  bool Go(size_t work) {
    work_ += work;
    if (work_ < kWorkPerCheck) return true;
    work_ = 0;
    status_ = patience_.Check();
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  static constexpr size_t kWorkPerCheck = 16384;
  const Patience& patience_;
  size_t work_ = 0;
  Status status_;
};

}  // namespace quarry
