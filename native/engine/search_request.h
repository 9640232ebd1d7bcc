// A search request, and the read snapshot on which it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cancellation.h"
#include "engine/ef_values.h"
#include "engine/filter.h"
#include "engine/shard.h"

namespace quarry {

// Maximum number of shards of a collection.
inline constexpr uint32_t kShardsMax = 64;

// Terms with the same group are alternatives of one word of the query.
struct QueryTerm {
  uint64_t hash;
  float weight;
  uint32_t group;
};

// Read snapshot of a search: taken at one instant, valid while it is referenced.
struct ReadSnapshot {
  std::shared_ptr<const std::vector<std::shared_ptr<Shard>>> shards;
  uint64_t epoch = 0;
  uint64_t rows = 0;        // visible rows of the whole collection
  uint64_t bodyLength = 0;  // total terms of those rows
  EfValues efValues;        // of the collection's shards, unless a request overrides them
  uint64_t changes = 0;     // rows added or removed up to now since the collection was opened
};

// Whether shards are scanned or their graphs walked. By default the cheaper one is chosen; tests and
// calibration force either, because a scan gives the exact result that a graph is measured against. Likewise whether
// all postings of the query are scanned or those that bounds cannot exclude; both have the same result.
enum class ScanMode { kAuto, kAlways, kNever };

struct SearchRequest {
  std::vector<float> vector;  // of the collection's dimensions, unit length; empty: lexical only
  std::vector<QueryTerm> terms;
  std::optional<FilterProgram> filter;
  uint32_t vectorCandidates = 0;
  uint32_t lexicalCandidates = 0;
  uint32_t ef = 0;                      // candidates that each graph keeps (ef); 0: from the collection's ef values
  ScanMode scanMode = ScanMode::kAuto;  // of vectors
  ScanMode postingScanMode = ScanMode::kAuto;
  CancellationToken cancellation;
};

}  // namespace quarry
