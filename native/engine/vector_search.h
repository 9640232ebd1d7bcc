// The nearest rows of one shard.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ranking.h"
#include "engine/search_request.h"
#include "engine/shard_view.h"
#include "engine/status.h"

namespace quarry {

// How a shard found its nearest rows.
enum class Strategy { kNone, kScan, kGraph, kFilteredScan, kFilteredGraph };
const char* StrategyName(Strategy strategy);

inline constexpr uint32_t kDefaultEffort = 128;
// So few rows are scanned, whatever the effort: no slower than the graph, and exact.
inline constexpr uint64_t kScanRowsMax = 2048;
// A graph search computes about 12 distances per kept row and share of matching rows, and one of them, at a random
// place in memory, costs about as much as four in a scan (measured with 256 dimensions, AVX-512).
inline constexpr uint64_t kScannedRowsPerResult = 48;

struct NearRows {
  std::vector<Scored> rows;  // by cosine, in no promised order
  Strategy strategy = Strategy::kNone;
};

// At most request.vectorCandidates rows of the view nearest to `query`, which is padded and aligned like a row of the
// shard; null: none.
Status FindNear(const ShardView& view, const SearchRequest& request, const float* query, NearRows* near);

}  // namespace quarry
