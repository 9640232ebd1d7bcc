#include "engine/cancellation.h"

namespace quarry {

Status CancellationToken::Check(Clock::time_point now) const {
  if (canceled != nullptr && canceled->load(std::memory_order_relaxed)) {
    return {StatusCode::kCanceled, "the search was canceled"};
  }
  if (now > deadline) return {StatusCode::kDeadline, "the search exceeded its deadline"};
  return {};
}

}  // namespace quarry
