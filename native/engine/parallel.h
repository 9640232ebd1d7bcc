// Runs a few long jobs concurrently.
#pragma once

#include <cstddef>
#include <functional>

#include "engine/status.h"

namespace quarry {

// Runs job(0) ... job(jobs - 1) on at most `threads` threads including the calling one, and returns when all are
// done. Returns the first error, kMemory for a job that threw std::bad_alloc. After an error no further job starts.
Status RunParallel(size_t jobs, size_t threads, const std::function<Status(size_t)>& job);

}  // namespace quarry
