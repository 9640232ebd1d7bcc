// What is asked of a collection, and at which moment of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/effort.h"
#include "engine/filter.h"
#include "engine/patience.h"
#include "engine/shard.h"

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
  uint64_t changes = 0;     // rows that came or went by then since the collection was opened
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
