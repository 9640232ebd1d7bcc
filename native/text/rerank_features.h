// The features of a query-document pair, from the positions of the query's terms in the document.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quarry::text {

// In the order of `featureDirections` in models/train/rerank-features.ts.
inline constexpr size_t kRerankFeatures = 24;
// Maximum number of query terms.
inline constexpr size_t kRerankTermsMax = 48;

struct RerankTerm {
  double idf = 0;
  bool hasDigit = false;
};

// Two terms of a query; `distance` is the difference of their word positions, function words included.
struct RerankPair {
  size_t left = 0;
  size_t right = 0;
  size_t distance = 0;
};

struct RerankTerms {
  std::vector<RerankTerm> terms;  // at most kRerankTermsMax
  std::vector<RerankPair> pairs;  // adjacent content words, each pair once
  size_t functionStems = 0;       // number of distinct function words
  double idfTotal = 0;
};

// Positions of the query terms in a document.
struct TermMatches {
  struct Match {
    uint32_t term = 0;
    uint32_t position = 0;
  };

  std::vector<Match> matches;  // by position
  std::array<uint32_t, kRerankTermsMax> counts{};
  std::array<bool, kRerankTermsMax> exact{};  // whether a form of the query occurs
  size_t functionStems = 0;                   // number of distinct function words found
  size_t words = 0;
};

// Writes kRerankFeatures features. `soft` has, for each term, the highest cosine with a token of the document, 1
// for a term that occurs; `cosine` is that of the embeddings of the two texts.
void ComputeRerankFeatures(const RerankTerms& query, const TermMatches& document, std::span<const float> soft,
                           double cosine, float* features);

}  // namespace quarry::text
