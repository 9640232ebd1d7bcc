#include "engine/cancellation.h"

namespace quarry {

Status Patience::Check(Clock::time_point now) const {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
    return {Code::kCancelled, "the search was cancelled"};
  }
  if (now > deadline) return {Code::kDeadline, "the search ran out of time"};
  return {};
}

}  // namespace quarry
