#include "engine/fusion.h"

#include <algorithm>
#include <cstddef>

namespace quarry {
namespace {

// Returns the factor that scales the largest score to 1; 0 if no score is above 0.
double ReciprocalOfMax(const std::vector<float>& scores) {
  float largest = 0;
  for (const float score : scores) largest = std::max(largest, score);
  return largest > 0 ? 1 / static_cast<double>(largest) : 0;
}

bool IsRankedBefore(const RankedRow& left, const RankedRow& right) {
  if (left.score != right.score) return left.score > right.score;
  if (left.version != right.version) return left.version < right.version;
  return left.chunk < right.chunk;
}

}  // namespace

void RankRows(const SearchHits& hits, bool hasVector, const FusionWeights& weights, std::vector<RankedRow>* ranked) {
  const double lexicalScale = ReciprocalOfMax(hits.lexical);
  const double similarityScale = hasVector ? ReciprocalOfMax(hits.similarity) : 0;
  const double largest = std::max(weights.lexical, weights.vector);
  const double lexicalWeight = weights.lexical / largest;
  const double vectorWeight = weights.vector / largest;
  ranked->clear();
  for (size_t i = 0; i < hits.version.size(); i++) {
    const double similarity = hasVector ? std::max(0.0F, hits.similarity[i]) : 0;
    const double sum = lexicalWeight * hits.lexical[i] * lexicalScale + vectorWeight * similarity * similarityScale;
    ranked->push_back({hits.version[i], hits.chunk[i], static_cast<float>(sum / (lexicalWeight + vectorWeight))});
  }
  std::sort(ranked->begin(), ranked->end(), IsRankedBefore);
}

void KeepFirstOfVersions(size_t versionsMax, std::vector<RankedRow>* ranked) {
  size_t kept = 0;
  for (size_t i = 0; i < ranked->size() && kept < versionsMax; i++) {
    const RankedRow row = (*ranked)[i];
    const auto end = ranked->begin() + static_cast<std::ptrdiff_t>(kept);
    const auto isSame = [&](const RankedRow& other) { return other.version == row.version; };
    if (std::find_if(ranked->begin(), end, isSame) == end) (*ranked)[kept++] = row;
  }
  ranked->resize(kept);
}

}  // namespace quarry
