// One question to all shards of a collection at one moment.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/filter.h"
#include "engine/search_request.h"
#include "engine/status.h"
#include "engine/vector_search.h"

namespace quarry {

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

Status Search(const Moment& moment, const SearchRequest& request, SearchHits* hits);

// Versions that match the filter (null: all), at most `limit`, in no promised order.
Status ListVersions(const Moment& moment, const FilterProgram* filter, uint64_t limit, std::vector<double>* versions);
// How many versions match.
uint64_t CountVersions(const Moment& moment, const FilterProgram* filter);

}  // namespace quarry
