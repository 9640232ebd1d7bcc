#include "engine/graph.h"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "samples.h"

namespace quarry {
namespace {

constexpr uint32_t kDimensions = 32;

struct Sample {
  BlockArray<float> vectors{kDimensions};
  Graph graph{vectors, kDimensions};
  uint32_t rows = 0;

  void Add(const std::vector<float>& vector) {
    vectors.Reserve(rows + 1);
    graph.Reserve(rows + 1);
    std::copy(vector.begin(), vector.end(), vectors.Row(rows));
    rows++;
  }
  void InsertAll(uint32_t threads) {
    std::atomic<uint32_t> next{0};
    std::vector<std::thread> workers;
    for (uint32_t i = 0; i < threads; i++) {
      workers.emplace_back([&] {
        GraphScratch scratch;
        for (uint32_t row = next++; row < rows; row = next++) graph.Insert(row, &scratch);
      });
    }
    for (auto& worker : workers) worker.join();
  }
  float Similarity(const std::vector<float>& query, uint32_t row) const {
    return ScalarKernels()->dot(query.data(), vectors.Row(row), kDimensions);
  }
  template <class Accept>
  std::vector<uint32_t> Exact(const std::vector<float>& query, size_t count, const Accept& accept) const {
    std::vector<Near> all;
    for (uint32_t row = 0; row < rows; row++) {
      if (accept(row)) all.push_back({Similarity(query, row), row});
    }
    std::sort(all.begin(), all.end(), NearerThan);
    std::vector<uint32_t> best;
    for (size_t i = 0; i < std::min(count, all.size()); i++) best.push_back(all[i].row);
    return best;
  }
  template <class Accept>
  std::vector<uint32_t> Find(const std::vector<float>& query, size_t count, uint32_t effort, const Accept& accept) {
    alignas(64) float aligned[kDimensions];
    std::copy(query.begin(), query.end(), aligned);
    GraphScratch scratch;
    graph.Search({aligned, effort, UINT64_MAX}, &scratch, accept, [] { return false; });
    std::sort(scratch.results.begin(), scratch.results.end(), NearerThan);
    std::vector<uint32_t> best;
    for (size_t i = 0; i < std::min(count, scratch.results.size()); i++) best.push_back(scratch.results[i].row);
    return best;
  }
  template <class Accept>
  double Recall(test::Cloud* cloud, uint32_t effort, const Accept& accept) {
    size_t hits = 0;
    size_t wanted = 0;
    for (int i = 0; i < 100; i++) {
      const auto query = cloud->Next();
      const auto exact = Exact(query, 10, accept);
      const auto found = Find(query, 10, effort, accept);
      for (const uint32_t row : exact) hits += std::find(found.begin(), found.end(), row) != found.end() ? 1 : 0;
      wanted += exact.size();
    }
    return static_cast<double>(hits) / static_cast<double>(wanted);
  }
};

TEST("a graph built by several threads finds at least 95 of 100 nearest rows") {
  for (const uint32_t threads : {1U, 4U}) {
    Sample sample;
    test::Cloud cloud(kDimensions, 40, 4);
    for (int i = 0; i < 6000; i++) sample.Add(cloud.Next());
    sample.InsertAll(threads);
    CHECK(sample.Recall(&cloud, 64, [](uint32_t) { return true; }) >= 0.95);
  }
}

TEST("a graph search that may accept only some rows still finds the nearest of them") {
  Sample sample;
  test::Cloud cloud(kDimensions, 40, 5);
  for (int i = 0; i < 6000; i++) sample.Add(cloud.Next(static_cast<uint32_t>(i) % 40));
  sample.InsertAll(2);
  CHECK(sample.Recall(&cloud, 64, [](uint32_t row) { return row % 7 == 0; }) >= 0.95);
  // Whole clusters far from most queries: what pgvector and others lose.
  CHECK(sample.Recall(&cloud, 64, [](uint32_t row) { return row % 40 < 6; }) >= 0.95);
}

TEST("many copies of one vector hide neither themselves nor what lies around them") {
  Sample sample;
  test::Cloud cloud(kDimensions, 10, 6);
  const auto copy = cloud.Next(0);
  for (int i = 0; i < 3000; i++) sample.Add(i % 5 == 0 ? copy : cloud.Next());
  sample.InsertAll(2);
  const auto found = sample.Find(copy, 100, 200, [](uint32_t) { return true; });
  CHECK(found.size() == 100);
  for (const uint32_t row : found) CHECK(row % 5 == 0);
  const auto others = [](uint32_t row) { return row % 5 != 0; };
  CHECK(sample.Recall(&cloud, 64, others) >= 0.95);
}

TEST("a graph search stops when it is told to and when its budget is spent") {
  Sample sample;
  test::Cloud cloud(kDimensions, 10, 7);
  for (int i = 0; i < 3000; i++) sample.Add(cloud.Next());
  sample.InsertAll(1);
  alignas(64) float query[kDimensions] = {1};
  GraphScratch scratch;
  const auto nothing = [](uint32_t) { return false; };
  CHECK(sample.graph.Search({query, 10, UINT64_MAX}, &scratch, nothing, [] { return true; }) ==
        Graph::Outcome::kStopped);
  CHECK(sample.graph.Search({query, 10, 100}, &scratch, nothing, [] { return false; }) == Graph::Outcome::kBudget);
  CHECK(sample.graph.Search({query, 10, UINT64_MAX}, &scratch, nothing, [] { return false; }) == Graph::Outcome::kDone);
}

}  // namespace
}  // namespace quarry
