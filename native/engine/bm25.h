// BM25 scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/posting_block.h"
#include "engine/search_request.h"

namespace quarry {

// BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). The prefix
// (title and heading path) counts as a field of low weight (kPrefixWeight); only the text contributes to the
// row length. Of the alternatives of one word only the best counts in a row, with the IDF of all alternatives
// together: they are often forms of one occurrence.
inline constexpr float kBm25Saturation = 1.2F;  // k1
inline constexpr float kBm25LengthNorm = 0.6F;  // b

// Returns the inverse document frequency of a word that `found` of `rows` rows contain.
inline float Idf(uint64_t rows, uint64_t found) {
  const auto all = static_cast<double>(rows);
  const auto with = static_cast<double>(found);
  return static_cast<float>(std::log1p(std::max(0.0, all - with + 0.5) / (with + 0.5)));
}

// BM25 with the collection statistics of one read snapshot.
class Bm25 {
 public:
  explicit Bm25(const ReadSnapshot& readSnapshot) {
    const float average = readSnapshot.rows == 0
                              ? 1
                              : static_cast<float>(readSnapshot.bodyLength) / static_cast<float>(readSnapshot.rows);
    perTerm_ = average > 0 ? kBm25LengthNorm / average : 0;
  }
  // Contribution of a term to a row's score, before the IDF factor. Every code path computes it here, and the
  // compiler may not contract its operations, so a row has one bit-exact score.
  float Gain(float weight, float frequency, uint32_t length) const {
    const float norm = kBm25Saturation * (1 - kBm25LengthNorm + perTerm_ * static_cast<float>(length));
    return weight * frequency * (kBm25Saturation + 1) / (frequency + norm);
  }
  // Upper bound, up to rounding, on the gain of every posting within the bounds.
  float GainMax(float weight, const GainBounds& bounds) const {
    if (bounds.frequencyMax == 0) return 0;
    const float normPerFrequency =
        kBm25Saturation * ((1 - kBm25LengthNorm) / bounds.FrequencyMax() + perTerm_ * bounds.LengthRatioMin());
    return weight * (kBm25Saturation + 1) / (1 + normPerFrequency);
  }

 private:
  float perTerm_;
};

}  // namespace quarry
