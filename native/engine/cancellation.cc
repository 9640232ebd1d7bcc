#include "engine/cancellation.h"

namespace quarry {

Status CancellationToken::Check(Clock::time_point now) const {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
    return {StatusCode::kCancelled, "the search was cancelled"};
  }
  if (now > deadline) return {StatusCode::kDeadline, "the search ran out of time"};
  return {};
}

}  // namespace quarry
