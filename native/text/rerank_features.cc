#include "text/rerank_features.h"

#include <algorithm>
#include <cmath>

namespace quarry::text {
namespace {

using Match = TermMatches::Match;

constexpr double kSaturation = 1.2;
constexpr double kLengthNorm = 0.6;
// Mean words of a passage, fixed with the weights: a score must not depend on the other documents.
constexpr double kPassageWords = 110;
constexpr uint32_t kLeadWordsMax = 24;
constexpr uint32_t kNearWordsMax = 6;
constexpr double kIdfTotalMin = 1e-6;

struct PairCoverage {
  double adjacent = 0;
  double near = 0;
};

// Returns the IDF-weighted share of the query's pairs that occur at the same distance (`adjacent`), and near each other
// in any order (`near`).
PairCoverage CoverageOfPairs(const RerankTerms& query, const std::vector<Match>& matches) {
  if (query.pairs.empty()) return {};
  // Bit d of an element: the right term follows the left one at distance d.
  std::array<uint8_t, kRerankTermsMax * kRerankTermsMax> distances;
  const size_t count = query.terms.size();
  std::fill_n(distances.begin(), count * count, uint8_t{0});
  for (size_t i = 0; i < matches.size(); ++i) {
    for (size_t j = i + 1; j < matches.size(); ++j) {
      const uint32_t distance = matches[j].position - matches[i].position;
      if (distance > kNearWordsMax) break;
      distances[matches[i].term * count + matches[j].term] |= static_cast<uint8_t>(1u << distance);
    }
  }
  PairCoverage sums;
  double total = kIdfTotalMin;
  for (const auto& [left, right, distance] : query.pairs) {
    const double weight = query.terms[left].idf + query.terms[right].idf;
    const uint8_t found = distances[left * count + right];
    total += weight;
    if (distance <= kNearWordsMax && (found >> distance & 1) != 0) sums.adjacent += weight;
    if (found != 0 || distances[right * count + left] != 0) sums.near += weight;
  }
  return {sums.adjacent / total, sums.near / total};
}

// Returns the largest share of the query, weighted by IDF, that occurs within `width` words.
double CoverageOfWindow(const RerankTerms& query, const std::vector<Match>& matches, uint32_t width) {
  std::array<uint32_t, kRerankTermsMax> inside{};
  double covered = 0;
  double highest = 0;
  size_t start = 0;
  for (const auto& [term, position] : matches) {
    if (inside[term]++ == 0) covered += query.terms[term].idf;
    for (; position - matches[start].position >= width; ++start) {
      const uint32_t left = matches[start].term;
      if (--inside[left] == 0) covered -= query.terms[left].idf;
    }
    highest = std::max(highest, covered);
  }
  return highest / std::max(query.idfTotal, kIdfTotalMin);
}

// Returns the number of matched terms divided by the words of the shortest span that contains them all; 0 if fewer than
// two match.
double SpanDensity(const std::vector<Match>& matches, size_t matched) {
  if (matched < 2) return 0;
  std::array<uint32_t, kRerankTermsMax> inside{};
  size_t distinct = 0;
  uint32_t shortest = UINT32_MAX;
  size_t start = 0;
  for (const auto& [term, position] : matches) {
    if (inside[term]++ == 0) ++distinct;
    for (; distinct == matched; ++start) {
      shortest = std::min(shortest, position - matches[start].position + 1);
      if (--inside[matches[start].term] == 0) --distinct;
    }
  }
  return static_cast<double>(matched) / shortest;
}

// Returns the share of the query, weighted by IDF, that occurs in the first words, which are usually titles and
// headings.
double CoverageOfLead(const RerankTerms& query, const std::vector<Match>& matches) {
  std::array<bool, kRerankTermsMax> seen{};
  double sum = 0;
  for (const auto& [term, position] : matches) {
    if (position >= kLeadWordsMax) break;
    if (!seen[term]) sum += query.terms[term].idf;
    seen[term] = true;
  }
  return sum / std::max(query.idfTotal, kIdfTotalMin);
}

}  // namespace

void ComputeRerankFeatures(const RerankTerms& query, const TermMatches& document, std::span<const float> soft,
                           double cosine, float* features) {
  const double idfTotal = std::max(query.idfTotal, kIdfTotalMin);
  const double norm =
      kSaturation * (1 - kLengthNorm + kLengthNorm * static_cast<double>(document.words) / kPassageWords);
  double bm25 = 0;
  double coverage = 0;
  double exact = 0;
  double softCoverage = 0;
  double softMissing = 0;
  double rarestMatched = 0;
  double rarestMissing = 0;
  size_t matched = 0;
  size_t numbers = 0;
  size_t matchedNumbers = 0;
  for (size_t term = 0; term < query.terms.size(); ++term) {
    const auto [idf, hasDigit] = query.terms[term];
    const uint32_t count = document.counts[term];
    const bool isMatched = count > 0;
    bm25 += idf * (count / (count + norm));
    coverage += isMatched ? idf : 0;
    exact += document.exact[term] ? idf : 0;
    softCoverage += idf * soft[term];
    softMissing += isMatched ? 0 : idf * (1 - static_cast<double>(soft[term]));
    double& rarest = isMatched ? rarestMatched : rarestMissing;
    rarest = std::max(rarest, idf);
    matched += isMatched ? 1 : 0;
    numbers += hasDigit ? 1 : 0;
    matchedNumbers += hasDigit && isMatched ? 1 : 0;
  }
  bm25 /= idfTotal;
  coverage /= idfTotal;
  const size_t count = query.terms.size();
  const auto terms = static_cast<double>(std::max<size_t>(1, count));
  const double numberCoverage = numbers == 0 ? 0 : static_cast<double>(matchedNumbers) / static_cast<double>(numbers);
  const auto functionStems = static_cast<double>(std::max<size_t>(1, query.functionStems));
  const PairCoverage pairs = CoverageOfPairs(query, document.matches);
  const std::array<double, kRerankFeatures> values = {
      bm25,
      std::log1p(bm25 * idfTotal),
      coverage,
      static_cast<double>(matched) / terms,
      count > 0 && matched == count ? 1.0 : 0.0,
      rarestMissing / 10,
      rarestMatched / 10,
      exact / idfTotal,
      pairs.adjacent,
      pairs.near,
      CoverageOfWindow(query, document.matches, 16),
      CoverageOfWindow(query, document.matches, 48),
      SpanDensity(document.matches, matched),
      CoverageOfLead(query, document.matches),
      softCoverage / idfTotal,
      softMissing / idfTotal,
      static_cast<double>(document.functionStems) / functionStems,
      numberCoverage,
      numbers == 0 ? 0 : 1 - numberCoverage,
      cosine,
      cosine * coverage,
      std::log1p(static_cast<double>(document.words)),
      std::log1p(static_cast<double>(count)),
      idfTotal / terms / 10,
  };
  std::transform(values.begin(), values.end(), features, [](double value) { return static_cast<float>(value); });
}

}  // namespace quarry::text
