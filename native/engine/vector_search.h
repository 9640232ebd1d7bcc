// Finds the nearest rows of one shard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/codes.h"
#include "engine/ranking.h"
#include "engine/search_request.h"
#include "engine/shard_view.h"
#include "engine/status.h"

namespace quarry {

// Method by which a shard found its nearest rows.
enum class Strategy { kNone, kScan, kGraph, kFilteredScan, kFilteredGraph };
const char* StrategyName(Strategy strategy);

// Up to this many rows are compared exactly: cheaper than a graph search.
inline constexpr uint64_t kExactRowsMax = 512;
// Up to this many rows that match a filter are scanned, regardless of ef: no slower than the graph.
inline constexpr uint64_t kScanRowsMax = 4096;

// The vector of a query, exact and as codes.
class VectorQuery {
 public:
  VectorQuery() = default;
  // Replaces the query and reuses its memory.
  void Set(const std::vector<float>& vector, const Codec& codec);

  // Padded and aligned like a row of a shard.
  const float* exact() const { return exact_.As<float>(); }
  const EncodedQuery& encoded() const { return encoded_; }
  // Bound on how much the cosine with any of these rows may exceed the similarity of its codes.
  float ErrorMax(const CodeArray& codes) const { return codes.codec().ErrorMax(squaredNorm_, codes.SquaredNormMin()); }
  // Whether the cosine with a row may be at least `threshold`. `similarity` is the similarity of its codes.
  bool MayReach(float threshold, float similarity, const CodeArray& codes, uint32_t row) const {
    const Codec& codec = codes.codec();
    if (similarity + codec.RoundingError() >= threshold) return true;
    if (similarity + ErrorMax(codes) < threshold) return false;
    return similarity + codec.ErrorMax(squaredNorm_, codec.SquaredNorm(codes.Row(row))) >= threshold;
  }
  // Returns the exact cosine with a row of the shard.
  float Similarity(const Shard& shard, uint32_t row) const {
    return ActiveKernels().dot(exact(), shard.Vector(row), shard.stride());
  }

 private:
  AlignedBytes exact_;
  EncodedQuery encoded_;
  float squaredNorm_ = 0;  // squared length of the codes
};

struct ShardNeighbor {
  float similarity;  // up to the rounding of codes; comparable across all shards of a collection
  uint32_t row;
  uint32_t shard;
};

struct ShardNeighbors {
  std::vector<ShardNeighbor> rows;  // in unspecified order
  Strategy strategy = Strategy::kNone;
  uint32_t ef = 0;        // ef of the graph search; 0 if the graph was not searched
  bool complete = false;  // no other row of the shard matches

  void Clear() {
    rows.clear();
    strategy = Strategy::kNone;
    ef = 0;
    complete = false;
  }
};

// Extent of the search of one shard.
struct SearchBreadth {
  uint32_t ef;        // candidates that a graph search keeps (ef)
  uint32_t proposed;  // maximum number of rows proposed
};

// Number of rows to propose by codes so that the exact cosine can select the `topK` nearest among them.
inline constexpr uint32_t ProposedRows(uint32_t topK) { return std::max(20U, 2 * topK); }

// Finds at most breadth.proposed visible matching rows, nearest to the query.
Status FindNeighbors(const ShardView& view, const SearchRequest& request, const VectorQuery& query,
                     const SearchBreadth& breadth, ShardNeighbors* near);
// Returns the estimated CPU time of FindNeighbors, in microseconds.
float NeighborSearchCost(const Shard& shard, const SearchRequest& request, const SearchBreadth& breadth);

// Selects the best `topK` of the rows proposed by all shards, with their exact cosines.
void RescoreNearest(const ReadSnapshot& readSnapshot, const VectorQuery& query, uint32_t topK,
                    std::vector<ShardNeighbor>* proposed, std::vector<ScoredChunk>* nearest);

}  // namespace quarry
