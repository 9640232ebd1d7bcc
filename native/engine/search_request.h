// What is asked of a collection, and at which moment of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/effort.h"
#include "engine/filter.h"
#include "engine/shard.h"
#include "engine/status.h"

namespace quarry {

// Shards of a collection at most.
inline constexpr uint32_t kShardsMax = 64;

// Terms with the same group are alternatives of one word of the query.
struct QueryTerm {
  uint64_t hash;
  float weight;
  uint32_t group;
};

// What a search sees: taken at one instant, valid for as long as it is kept.
struct Moment {
  std::shared_ptr<const std::vector<std::shared_ptr<Shard>>> shards;
  uint64_t epoch = 0;
  uint64_t rows = 0;        // visible rows of the whole collection
  uint64_t bodyLength = 0;  // their terms
  Efforts efforts;          // of its shards, unless a search brings its own
};

// When to stop a search that nobody waits for any more.
struct Patience {
  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline = Clock::time_point::max();
  std::shared_ptr<const std::atomic<bool>> cancelled;  // may be null

  // Asking for the time takes longer than the rest: whoever has just done so says what it is.
  Status Check(Clock::time_point now = Clock::now()) const;
};

// Whether shards are scanned or their graphs walked. Besides the choice by cost, both can be asked for: a scan is
// the truth that a graph is measured against.
enum class Scanning { kByCost, kAlways, kNever };

struct SearchRequest {
  std::vector<float> vector;  // the collection's dimensions, unit length; empty: lexical only
  std::vector<QueryTerm> terms;
  std::optional<FilterProgram> filter;
  uint32_t vectorCandidates = 0;
  uint32_t lexicalCandidates = 0;
  uint32_t effort = 0;  // rows that each graph keeps in view (ef); 0: as the collection's efforts say
  Scanning scanning = Scanning::kByCost;
  Patience patience;
};

}  // namespace quarry
