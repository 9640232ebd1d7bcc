// One question to all shards of a collection at one moment.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/filter.h"
#include "engine/shard.h"
#include "engine/status.h"

namespace quarry {

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
};

// When to stop a search that nobody waits for any more.
struct Patience {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::shared_ptr<const std::atomic<bool>> cancelled;  // may be null

  Status Check() const;
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
  uint32_t effort = 0;  // ef; 0: the default
  Scanning scanning = Scanning::kByCost;
  Patience patience;
};

// How a shard found its nearest rows.
enum class Strategy { kNone, kScan, kGraph, kFilteredScan, kFilteredGraph };
const char* StrategyName(Strategy strategy);

struct ShardReport {
  uint32_t shard;
  Strategy strategy;
  uint32_t candidates;  // rows of the shard in the answer
  float ms;
};

// The union of the nearest rows and the best lexical rows, in no promised order; entry i of every array is one row.
struct SearchHits {
  std::vector<double> version;
  std::vector<uint32_t> chunk;  // row inside its document
  std::vector<uint16_t> shard;
  std::vector<float> similarity;  // cosine; 0 when the request had no vector
  std::vector<float> lexical;     // BM25; 0 when no term matches
  std::vector<ShardReport> shards;
};

inline constexpr uint32_t kDefaultEffort = 128;
// So few rows are scanned, whatever the effort: no slower than the graph, and exact.
inline constexpr uint64_t kScanRowsMax = 2048;
// A graph search computes about 12 distances per kept row and share of matching rows, and one of them, at a random
// place in memory, costs about as much as four in a scan (measured with 256 dimensions, AVX-512).
inline constexpr uint64_t kScannedRowsPerResult = 48;

// BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). The prefix (title
// and heading path) counts as a field of low weight; only the text makes a row long.
inline constexpr float kBm25Saturation = 1.2F;  // k1
inline constexpr float kBm25LengthNorm = 0.6F;  // b
inline constexpr float kPrefixWeight = 0.3F;

Status Search(const Moment& moment, const SearchRequest& request, SearchHits* hits);

// Versions that match the filter (null: all), at most `limit`, in no promised order.
Status ListVersions(const Moment& moment, const FilterProgram* filter, uint64_t limit, std::vector<double>* versions);
// How many versions match.
uint64_t CountVersions(const Moment& moment, const FilterProgram* filter);

}  // namespace quarry
