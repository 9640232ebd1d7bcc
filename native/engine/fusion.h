// Fusion of the lexical and the vector scores of the rows that a search found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/search.h"

namespace quarry {

// Relative weights: >= 0, not both 0.
struct FusionWeights {
  double lexical;
  double vector;
};

// A row with its fused score, 0..1.
struct RankedRow {
  double version;
  uint32_t chunk;
  float score;
};

// Returns the rows of the hits, best first, as src/search/fuse.ts and candidates.ts rank them: with the same scores, bit
// by bit, and the same order of ties.
void RankRows(const SearchHits& hits, bool hasVector, const FusionWeights& weights, std::vector<RankedRow>* ranked);

// Keeps the best row of each of the first `versionsMax` versions. Takes time proportional to their number for each row.
void KeepFirstOfVersions(size_t versionsMax, std::vector<RankedRow>* ranked);

}  // namespace quarry
