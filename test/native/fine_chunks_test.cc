#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "check.h"
#include "text/dot_records.h"
#include "text/fine_scores.h"
#include "text/fine_terms.h"
#include "text/quantize.h"

namespace quarry::text {
namespace {

constexpr size_t kDimensions = 13;

// A coarse chunk as sets of terms per fine chunk, and in the form that is stored.
struct SampleParent {
  std::vector<std::set<uint32_t>> terms;
  std::vector<uint8_t> blanks;
  std::vector<uint8_t> block;
  std::vector<float> vectors;
  std::vector<uint8_t> codes;
};

SampleParent RandomParent(std::mt19937* random) {
  SampleParent parent;
  std::normal_distribution<float> normal;
  std::vector<FineTerm> terms;
  const uint32_t fineChunks = (*random)() % 20;
  for (uint32_t fine = 0; fine < fineChunks; ++fine) {
    parent.blanks.push_back((*random)() % 8 == 0 ? 1 : 0);
    parent.terms.emplace_back();
    for (uint32_t count = (*random)() % 12; count > 0 && parent.blanks.back() == 0; --count) {
      const uint32_t prefix = (*random)() % 40 * 100'000'007U;
      parent.terms.back().insert(prefix);
      terms.push_back(ToFineTerm(uint64_t{prefix} << 32 | (*random)(), fine));
    }
  }
  AppendFineTerms(parent.blanks, &terms, &parent.block);
  for (size_t i = 0; i < fineChunks * kDimensions; ++i) parent.vectors.push_back(normal(*random));
  parent.codes.resize(fineChunks * RecordBytes(kDimensions));
  for (uint32_t fine = 0; fine < fineChunks; ++fine) {
    Quantize(&parent.vectors[fine * kDimensions], kDimensions, &parent.codes[fine * RecordBytes(kDimensions)]);
  }
  return parent;
}

FineQuery RandomQuery(std::mt19937* random) {
  FineQuery query;
  std::normal_distribution<float> normal;
  for (uint32_t group = 0; group < 6; ++group) {
    query.words.push_back(group < 4 ? group : group - 4);
    for (int spelling = 0; spelling < 2; ++spelling) {
      query.prefixes.push_back((*random)() % 60 * 100'000'007U);
      query.groups.push_back(group);
    }
  }
  for (size_t i = 0; i < kDimensions; ++i) query.vector.push_back(normal(*random));
  query.parentWeight = 0.5;
  query.neighborWeight = 0.45;
  return query;
}

std::set<uint32_t> WordsOf(const FineQuery& query, const std::set<uint32_t>& terms) {
  std::set<uint32_t> words;
  for (size_t i = 0; i < query.prefixes.size(); ++i) {
    if (terms.contains(query.prefixes[i])) words.insert(query.words[query.groups[i]]);
  }
  return words;
}

double DotProduct(const FineQuery& query, const float* vector) {
  double sum = 0;
  for (size_t i = 0; i < kDimensions; ++i) sum += static_cast<double>(query.vector[i]) * static_cast<double>(vector[i]);
  return sum;
}

TEST("the AVX2 version of DotRecords returns the bits of its scalar version") {
  if (FastestDotRecords() == DotRecordsScalar) return;
  std::mt19937 random(13);
  std::normal_distribution<double> normal;
  for (size_t dimensions = 1; dimensions <= 330; ++dimensions) {
    const size_t count = random() % 5;
    std::vector<float> rows(count * dimensions);
    for (float& component : rows) component = static_cast<float>(normal(random));
    std::vector<uint8_t> records(count * RecordBytes(dimensions));
    for (size_t row = 0; row < count; ++row) {
      Quantize(&rows[row * dimensions], dimensions, &records[row * RecordBytes(dimensions)]);
    }
    std::vector<double> vector(dimensions);
    for (double& component : vector) component = normal(random);
    std::vector<float> expected(count);
    std::vector<float> found(count);
    DotRecordsScalar(vector.data(), dimensions, records.data(), count, expected.data());
    FastestDotRecords()(vector.data(), dimensions, records.data(), count, found.data());
    CHECK(found == expected);
  }
}

TEST("a block of fine terms is read only if it is complete") {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const SampleParent parent = RandomParent(&random);
    const auto view = FineTermsView::Parse(parent.block);
    CHECK(view.has_value() && view->fineChunks() == parent.blanks.size());
    for (size_t bytes = 0; bytes < parent.block.size(); ++bytes) {
      CHECK(!FineTermsView::Parse(std::span(parent.block).first(bytes)).has_value());
    }
    std::vector<uint8_t> longer = parent.block;
    longer.push_back(0);
    CHECK(!FineTermsView::Parse(longer).has_value());
    std::fill_n(longer.begin(), 8, uint8_t{0xff});
    CHECK(!FineTermsView::Parse(longer).has_value());
  }
}

TEST("fine chunks have the scores of their words and vectors, and are ordered by their total") {
  std::mt19937 random(12);
  for (int round = 0; round < 100; ++round) {
    const FineQuery query = RandomQuery(&random);
    std::vector<SampleParent> samples(random() % 12);
    for (SampleParent& sample : samples) sample = RandomParent(&random);
    std::vector<FineParent> parents;
    for (const SampleParent& sample : samples) {
      parents.push_back(
          {FineTermsView::Parse(sample.block).value(), sample.codes, 1 / static_cast<double>(parents.size() + 1)});
    }
    const FineScores scores = ScoreFineChunks(query, parents);
    std::vector<double> counts(query.words.size());
    std::vector<std::set<uint32_t>> words;
    for (const SampleParent& sample : samples) {
      for (size_t fine = 0; fine < sample.terms.size(); ++fine) {
        if (sample.blanks[fine] != 0) continue;
        words.push_back(WordsOf(query, sample.terms[fine]));
        for (const uint32_t word : words.back()) counts[word] += 1;
      }
    }
    CHECK(scores.scores.size() == words.size() && scores.order.size() == words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      double lexical = 0;
      const auto total = static_cast<double>(words.size());
      for (const uint32_t word : words[i]) lexical += std::log(1 + (total - counts[word] + 0.5) / (counts[word] + 0.5));
      CHECK(std::abs(lexical - static_cast<double>(scores.lexical[i])) < 1e-5);
      const float* vector = &samples[scores.parents[i]].vectors[scores.indexes[i] * kDimensions];
      CHECK(std::abs(DotProduct(query, vector) - static_cast<double>(scores.similarities[i])) < 0.2);
      CHECK(i == 0 || scores.scores[scores.order[i - 1]] >= scores.scores[scores.order[i]]);
    }
  }
}

}  // namespace
}  // namespace quarry::text
