// The lexical part of a search of one shard.
#pragma once

#include <utility>
#include <vector>

#include "engine/ranking.h"
#include "engine/score_floor.h"
#include "engine/search_request.h"
#include "engine/shard_view.h"
#include "engine/status.h"
#include "engine/term_groups.h"

namespace quarry {

struct LexicalQuery {
  const ShardView& view;
  const ReadSnapshot& readSnapshot;
  const SearchRequest& request;
  const TermGroups& groups;
  const std::vector<float>& idfs;  // by group
};

// Rows with their lexical scores.
using LexicalScores = std::vector<std::pair<ScoredChunk, float>>;

}  // namespace quarry
