// Scores the fine chunks of the best coarse chunks of a query.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/fine_terms.h"

namespace quarry::text {

struct FineQuery {
  // Upper half of the hash of each query term, and the group of alternative spellings that it belongs to.
  std::vector<uint32_t> prefixes;
  std::vector<uint32_t> groups;
  // Per group: its query word, as the lowest group with the same word. Each word of a fine chunk counts once.
  std::vector<uint32_t> words;
  std::vector<float> vector;  // empty: lexical scores only
  // Weights of fusion as in src/search/fuse.ts.
  double lexicalWeight = 1;
  double vectorWeight = 1;
  // Weight of the coarse chunk's score, and of each adjacent fine chunk of the same coarse chunk.
  double parentWeight = 0;
  double neighborWeight = 0;
  // Maximum number of fine chunks in the order of the scores.
  size_t bestMax = SIZE_MAX;
};

struct FineParent {
  FineTermsView terms;
  std::span<const uint8_t> codes;  // of each fine chunk, as text::Quantize writes them
  double fused = 0;                // score of the coarse chunk
};

// One element per fine chunk that is not blank, in the order of the parents.
struct FineScores {
  std::vector<uint32_t> parents;
  std::vector<uint32_t> indexes;  // among the fine chunks of the parent
  std::vector<float> lexical;     // sum of the inverse document frequencies of its query words
  std::vector<float> similarities;
  std::vector<double> scores;
  std::vector<uint32_t> order;  // positions of the best in the other lists, best first; equal scores in order
};

// Words are weighted by their inverse document frequency among the given fine chunks, since the shards keep statistics
// of coarse chunks only. The codes of each parent must have one record per fine chunk unless the query has no vector.
FineScores ScoreFineChunks(const FineQuery& query, std::span<const FineParent> parents);

}  // namespace quarry::text
