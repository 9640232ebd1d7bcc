#include "text/fine_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "text/dot_records.h"

namespace quarry::text {
namespace {

class Scorer {
 public:
  Scorer(const FineQuery& query, std::span<const FineParent> parents)
      : query_(query), parents_(parents), vector_(query.vector.begin(), query.vector.end()) {}

  FineScores Run() {
    Reserve();
    for (uint32_t parent = 0; parent < parents_.size(); ++parent) AddParent(parent);
    ScoreWords();
    Fuse();
    auto& order = scores_.order;
    order.resize(scores_.scores.size());
    std::iota(order.begin(), order.end(), 0U);
    const size_t best = std::min(query_.bestMax, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(best), order.end(),
                      [&](uint32_t a, uint32_t b) {
                        return scores_.scores[a] != scores_.scores[b] ? scores_.scores[a] > scores_.scores[b] : a < b;
                      });
    order.resize(best);
    return std::move(scores_);
  }

 private:
  size_t count() const { return scores_.parents.size(); }

  void Reserve() {
    size_t fineChunks = 0;
    for (const FineParent& parent : parents_) fineChunks += parent.terms.fineChunks();
    scores_.parents.reserve(fineChunks);
    scores_.indexes.reserve(fineChunks);
    scores_.similarities.reserve(fineChunks);
    matches_.reserve(fineChunks * query_.words.size());
  }

  void AddParent(uint32_t parent) {
    const auto& [terms, codes, fused] = parents_[parent];
    const size_t first = count();
    products_.assign(terms.fineChunks(), 0);
    if (!vector_.empty()) dot_(vector_.data(), vector_.size(), codes.data(), terms.fineChunks(), products_.data());
    positions_.assign(terms.fineChunks(), 0);
    for (uint32_t index = 0; index < terms.fineChunks(); ++index) {
      if (terms.IsBlank(index)) continue;
      positions_[index] = static_cast<uint32_t>(count());
      scores_.parents.push_back(parent);
      scores_.indexes.push_back(index);
      scores_.similarities.push_back(products_[index]);
    }
    matches_.resize(matches_.size() + (count() - first) * query_.words.size());
    for (size_t term = 0; term < query_.prefixes.size(); ++term) {
      const uint8_t* const mask = terms.Find(query_.prefixes[term]);
      if (mask != nullptr) AddMatches(terms, mask, query_.groups[term]);
    }
  }

  void AddMatches(const FineTermsView& terms, const uint8_t* mask, uint32_t group) {
    for (uint32_t index = 0; index < terms.fineChunks(); ++index) {
      if (!FineTermsView::HasBit(mask, index) || terms.IsBlank(index)) continue;
      matches_[positions_[index] * query_.words.size() + group] = 1;
    }
  }

  // Calls `use` with each distinct query word of a fine chunk, in the order of the groups.
  template <class Use>
  void ForEachWord(size_t i, std::vector<uint32_t>* seen, Use use) const {
    const size_t groups = query_.words.size();
    for (size_t group = 0; group < groups; ++group) {
      if (matches_[i * groups + group] == 0) continue;
      const uint32_t word = query_.words[group];
      if ((*seen)[word] == i + 1) continue;
      (*seen)[word] = static_cast<uint32_t>(i + 1);
      use(word);
    }
  }

  void ScoreWords() {
    std::vector<double> idfs(query_.words.size());
    std::vector<uint32_t> seen(query_.words.size());
    for (size_t i = 0; i < count(); ++i) ForEachWord(i, &seen, [&](uint32_t word) { idfs[word] += 1; });
    for (double& idf : idfs) idf = std::log(1 + (static_cast<double>(count()) - idf + 0.5) / (idf + 0.5));
    scores_.lexical.reserve(count());
    std::fill(seen.begin(), seen.end(), 0);
    for (size_t i = 0; i < count(); ++i) {
      double sum = 0;
      ForEachWord(i, &seen, [&](uint32_t word) { sum += idfs[word]; });
      scores_.lexical.push_back(static_cast<float>(sum));
    }
  }

  // Adds to each value a share of the values of the adjacent fine chunks in the same coarse chunk.
  std::vector<float> AddNeighbors(const std::vector<float>& values) const {
    const auto isNext = [&](size_t i) {
      return scores_.parents[i] == scores_.parents[i + 1] && scores_.indexes[i] + 1 == scores_.indexes[i + 1];
    };
    std::vector<float> sums(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const double before = i > 0 && isNext(i - 1) ? values[i - 1] : 0;
      const double after = i + 1 < values.size() && isNext(i) ? values[i + 1] : 0;
      sums[i] = static_cast<float>(values[i] + query_.neighborWeight * (before + after));
    }
    return sums;
  }

  // As `fuse` in src/search/fuse.ts.
  void Fuse() {
    const std::vector<float> lexical = AddNeighbors(scores_.lexical);
    const std::vector<float> similarities = AddNeighbors(scores_.similarities);
    const double lexicalScale = ReciprocalOfMax(lexical);
    const double similarityScale = ReciprocalOfMax(similarities);
    const double largest = std::max(query_.lexicalWeight, query_.vectorWeight);
    const double lexicalWeight = query_.lexicalWeight / largest;
    const double vectorWeight = query_.vectorWeight / largest;
    scores_.scores.reserve(count());
    for (size_t i = 0; i < count(); ++i) {
      const double similarity = std::max(0.0F, similarities[i]);
      const double sum = lexicalWeight * lexical[i] * lexicalScale + vectorWeight * similarity * similarityScale;
      const auto fused = static_cast<float>(sum / (lexicalWeight + vectorWeight));
      const double parent = parents_[scores_.parents[i]].fused;
      scores_.scores.push_back((1 - query_.parentWeight) * fused + query_.parentWeight * parent);
    }
  }

  static double ReciprocalOfMax(const std::vector<float>& values) {
    double largest = 0;
    for (const float value : values) largest = std::max(largest, static_cast<double>(value));
    return largest > 0 ? 1 / largest : 0;
  }

  const FineQuery& query_;
  const std::span<const FineParent> parents_;
  const std::vector<double> vector_;
  const DotRecords dot_ = FastestDotRecords();
  FineScores scores_;
  std::vector<uint8_t> matches_;     // per fine chunk and group
  std::vector<uint32_t> positions_;  // of the fine chunks of the current parent
  std::vector<float> products_;      // of the same with the vector of the query
};

}  // namespace

FineScores ScoreFineChunks(const FineQuery& query, std::span<const FineParent> parents) {
  return Scorer(query, parents).Run();
}

}  // namespace quarry::text
