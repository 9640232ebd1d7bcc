// The nearest rows of one shard.
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

// How a shard found its nearest rows.
enum class Strategy { kNone, kScan, kGraph, kFilteredScan, kFilteredGraph };
const char* StrategyName(Strategy strategy);

// So few rows are compared exactly at once: that costs less than a search of the graph.
inline constexpr uint64_t kExactRowsMax = 512;
// So few rows that match a filter are scanned, whatever the effort: no slower than the graph.
inline constexpr uint64_t kScanRowsMax = 4096;

// The vector of a query in both forms that rows are compared with.
class NearQuery {
 public:
  NearQuery() = default;
  // Takes the place of what it was before, in the same memory.
  void Set(const std::vector<float>& vector, const Codec& codec);

  // Padded and aligned like a row of a shard.
  const float* exact() const { return exact_.As<float>(); }
  const CodedQuery& coded() const { return coded_; }
  // By how much the cosine with any of these rows may exceed what its codes say.
  float ErrorMax(const CodeArray& codes) const { return codes.codec().ErrorMax(squares_, codes.SquaresMin()); }
  // Whether the cosine with a row may be at least `least`; `similarity` is what its codes say.
  bool MayReach(float least, float similarity, const CodeArray& codes, uint32_t row) const {
    const Codec& codec = codes.codec();
    if (similarity + codec.RoundingError() >= least) return true;
    if (similarity + ErrorMax(codes) < least) return false;
    return similarity + codec.ErrorMax(squares_, codec.Squares(codes.Row(row))) >= least;
  }
  // The cosine with a row of the shard.
  float Similarity(const Shard& shard, uint32_t row) const {
    return ActiveKernels().dot(exact(), shard.Vector(row), shard.stride());
  }

 private:
  AlignedBytes exact_;
  CodedQuery coded_;
  float squares_ = 0;  // of its codes
};

struct NearRow {
  float similarity;  // up to the rounding of codes; comparable between all shards of a collection
  uint32_t row;
  uint32_t shard;
};

struct NearRows {
  std::vector<NearRow> rows;  // in no promised order
  Strategy strategy = Strategy::kNone;
  uint32_t effort = 0;    // rows the graph kept in view; 0 when it was not searched
  bool complete = false;  // no other row of the shard matches

  void Clear() {
    rows.clear();
    strategy = Strategy::kNone;
    effort = 0;
    complete = false;
  }
};

// How widely one shard is searched.
struct Breadth {
  uint32_t effort;    // rows that a search of the graph keeps in view (ef)
  uint32_t proposed;  // rows that it proposes at most
};

// How many rows the codes have to propose so that the exact cosine can choose the `wanted` nearest among them.
inline constexpr uint32_t ProposedRows(uint32_t wanted) { return std::max(20U, 2 * wanted); }

// At most breadth.proposed visible rows that match, nearest to the query.
Status FindNear(const ShardView& view, const SearchRequest& request, const NearQuery& query, const Breadth& breadth,
                NearRows* near);
// What that takes of a processor, roughly, in microseconds.
float NearCost(const Shard& shard, const SearchRequest& request, const Breadth& breadth);

// The best `wanted` of the rows proposed by all shards of the moment, with their exact cosines.
void ChooseNearest(const Moment& moment, const NearQuery& query, uint32_t wanted, std::vector<NearRow>* proposed,
                   std::vector<Scored>* nearest);

}  // namespace quarry
