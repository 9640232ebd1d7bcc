#include "engine/graph.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "samples.h"

namespace quarry {
namespace {

constexpr uint32_t kDimensions = 32;

struct GraphFixture {
  std::vector<std::vector<float>> vectors;
  CodeArray codes{kDimensions};
  Graph graph{codes};

  uint32_t Rows() const { return static_cast<uint32_t>(vectors.size()); }
  void Add(const std::vector<float>& vector) {
    const uint32_t row = Rows();
    codes.Reserve(row + 1);
    graph.Reserve(row + 1);
    codes.Set(row, vector.data());
    vectors.push_back(vector);
  }
  void InsertAll(uint32_t threads) {
    std::atomic<uint32_t> next{0};
    std::vector<std::thread> workers;
    for (uint32_t i = 0; i < threads; i++) {
      workers.emplace_back([&] {
        GraphScratch scratch;
        for (uint32_t row = next++; row < Rows(); row = next++) graph.Insert(row, &scratch);
      });
    }
    for (auto& worker : workers) worker.join();
  }
  float Similarity(const std::vector<float>& query, uint32_t row) const {
    return std::inner_product(query.begin(), query.end(), vectors[row].begin(), 0.0F);
  }
  // The first `count` rows by descending similarity.
  std::vector<uint32_t> Ranked(const std::vector<float>& query, std::vector<uint32_t> all, size_t count) const {
    std::vector<std::pair<float, uint32_t>> ranked;
    for (const uint32_t row : all) ranked.emplace_back(-Similarity(query, row), row);
    std::sort(ranked.begin(), ranked.end());
    std::vector<uint32_t> best;
    for (size_t i = 0; i < std::min(count, ranked.size()); i++) best.push_back(ranked[i].second);
    return best;
  }
  template <class Accept>
  std::vector<uint32_t> Exact(const std::vector<float>& query, size_t count, const Accept& accept) const {
    std::vector<uint32_t> all;
    for (uint32_t row = 0; row < Rows(); row++) {
      if (accept(row)) all.push_back(row);
    }
    return Ranked(query, all, count);
  }
  template <class Accept>
  std::vector<uint32_t> Find(const std::vector<float>& query, size_t count, uint32_t ef, const Accept& accept) {
    const EncodedQuery encoded = codes.codec().Query(query.data());
    GraphScratch scratch;
    graph.Search({encoded.view(), ef, UINT64_MAX}, &scratch, accept, [] { return false; });
    std::vector<uint32_t> found;
    for (const Neighbor& near : scratch.results) found.push_back(near.row);
    return Ranked(query, found, count);
  }
  template <class Accept>
  double Recall(test::ClusteredVectors* cloud, uint32_t ef, const Accept& accept) {
    size_t hits = 0;
    size_t relevant = 0;
    for (int i = 0; i < 100; i++) {
      const auto query = cloud->Next();
      const auto exact = Exact(query, 10, accept);
      const auto found = Find(query, 10, ef, accept);
      for (const uint32_t row : exact) hits += std::find(found.begin(), found.end(), row) != found.end() ? 1 : 0;
      relevant += exact.size();
    }
    return static_cast<double>(hits) / static_cast<double>(relevant);
  }
  // Outcomes of filtered searches.
  struct FilteredRecall {
    size_t walked = 0;  // ended in the graph
    size_t hits = 0;    // of their 10 nearest rows
    size_t relevant = 0;
    double recall() const { return static_cast<double>(hits) / static_cast<double>(relevant); }
  };
  // The set of matching rows and their share of all rows.
  template <class Accept>
  std::pair<Bitset, float> Matching(const Accept& accept) const {
    Bitset matching(Rows());
    size_t count = 0;
    for (uint32_t row = 0; row < Rows(); row++) {
      if (!accept(row)) continue;
      matching.Add(row);
      count++;
    }
    return {matching, static_cast<float>(count) / static_cast<float>(Rows())};
  }
  void SearchMatching(const Graph::Filter& filter, const std::vector<float>& vector, FilteredRecall* filtered) const {
    const EncodedQuery query = codes.codec().Query(vector.data());
    const auto every = [](uint32_t) { return true; };
    GraphScratch scratch;
    const auto outcome = graph.SearchMatching({query.view(), 64, 2000}, filter, &scratch, every, [] { return false; });
    // If the search finds fewer rows than requested, the engine also scans the rows.
    if (outcome == Graph::Outcome::kBudget || scratch.results.size() < 64) return;
    filtered->walked++;
    std::vector<uint32_t> found;
    for (const Neighbor& near : scratch.results) {
      CHECK(filter.matching.Has(near.row));
      found.push_back(near.row);
    }
    const auto best = Ranked(vector, found, 10);
    for (const uint32_t row : Exact(vector, 10, [&](uint32_t other) { return filter.matching.Has(other); })) {
      filtered->hits += std::find(best.begin(), best.end(), row) != best.end() ? 1 : 0;
      filtered->relevant++;
    }
  }
};

CONCURRENT_TEST("a graph built by several threads finds at least 95 of 100 nearest rows") {
  for (const uint32_t threads : {1U, 4U}) {
    GraphFixture sample;
    test::ClusteredVectors cloud(kDimensions, 40, 4);
    for (int i = 0; i < 6000; i++) sample.Add(cloud.Next());
    sample.InsertAll(threads);
    CHECK(sample.Recall(&cloud, 64, [](uint32_t) { return true; }) >= 0.95);
  }
}

TEST("the descent keeps several candidates, and every row compared on the way is an entry point") {
  GraphFixture sample;
  test::ClusteredVectors cloud(kDimensions, 40, 12);
  for (int i = 0; i < 6000; i++) sample.Add(cloud.Next());
  sample.InsertAll(1);
  const auto [matching, share] = sample.Matching([](uint32_t row) { return row % 4 == 0; });
  const auto every = [](uint32_t) { return true; };
  const auto never = [] { return false; };
  for (int i = 0; i < 100; i++) {
    const EncodedQuery query = sample.codes.codec().Query(cloud.Next().data());
    const Graph::Query graphQuery{query.view(), 10, UINT64_MAX};
    for (const bool filtered : {false, true}) {
      GraphScratch scratch;
      if (filtered) {
        sample.graph.SearchMatching(graphQuery, {matching, share, true}, &scratch, every, never);
      } else {
        sample.graph.Search(graphQuery, &scratch, every, never);
      }
      CHECK(scratch.results.size() == graphQuery.ef);
      CHECK(scratch.entryPoints.size() >= 2 * Graph::kLinksUpper);
      std::set<uint32_t> found;
      for (const Neighbor& near : scratch.results) found.insert(near.row);
      CHECK(found.size() == graphQuery.ef);
      for (const Neighbor& near : scratch.entryPoints) {
        const bool isExpected = near.score > scratch.results.back().score && (!filtered || matching.Has(near.row));
        CHECK(!isExpected || found.count(near.row) == 1);
      }
    }
  }
}

TEST("a graph search that accepts only some rows finds the nearest of them") {
  GraphFixture sample;
  test::ClusteredVectors cloud(kDimensions, 40, 5);
  for (int i = 0; i < 6000; i++) sample.Add(cloud.Next(static_cast<uint32_t>(i) % 40));
  sample.InsertAll(2);
  CHECK(sample.Recall(&cloud, 64, [](uint32_t row) { return row % 7 == 0; }) >= 0.95);
  // Only whole clusters match, far from most queries: a case in which pgvector and others lose rows.
  CHECK(sample.Recall(&cloud, 64, [](uint32_t row) { return row % 40 < 6; }) >= 0.95);
}

TEST("a filtered graph search finds the nearest matching rows or reports that its budget is spent") {
  GraphFixture sample;
  test::ClusteredVectors cloud(kDimensions, 40, 8);
  for (int i = 0; i < 6000; i++) sample.Add(cloud.Next(static_cast<uint32_t>(i) % 40));
  sample.InsertAll(2);
  struct Case {
    const char* title;
    std::function<bool(uint32_t)> accept;
    bool walks;         // whether most searches end in the graph
    bool uncorrelated;  // whether enough rows match and are distributed like a random sample
  };
  const Case cases[] = {
      {"one in two", [](uint32_t row) { return row / 40 % 2 == 0; }, true, true},
      {"one in ten", [](uint32_t row) { return row / 40 % 10 == 0; }, true, true},
      {"one in three hundred", [](uint32_t row) { return row % 300 == 7; }, false, false},
      {"half of the clusters", [](uint32_t row) { return row % 40 < 20; }, false, false},
      {"a tenth of the clusters", [](uint32_t row) { return row % 40 < 4; }, false, false},
  };
  for (const Case& example : cases) {
    const auto [matching, share] = sample.Matching(example.accept);
    const Graph::Filter filter{matching, share, sample.graph.IsUncorrelated(matching, share).value()};
    CHECK(filter.uncorrelated == example.uncorrelated);
    GraphFixture::FilteredRecall filtered;
    for (int i = 0; i < 100; i++) sample.SearchMatching(filter, cloud.Next(), &filtered);
    CHECK(static_cast<double>(filtered.hits) >= 0.95 * static_cast<double>(filtered.relevant));
    CHECK((filtered.walked >= 60) == example.walks);
  }
}

TEST("a filter without matches in some regions loses no rows in them or at their borders") {
  GraphFixture sample;
  test::ClusteredVectors cloud(kDimensions, 40, 8);
  for (int i = 0; i < 6000; i++) sample.Add(cloud.Next(static_cast<uint32_t>(i) % 40));
  sample.InsertAll(2);
  struct Case {
    uint32_t empty;   // of the 40 clusters
    uint32_t oneIn;   // one in `oneIn` rows of the other clusters matches
    bool detectable;  // whether enough rows match for the engine to detect the empty clusters
  };
  for (const Case& regions : {Case{13, 5, false}, {13, 2, true}, {6, 2, true}, {6, 9, false}, {2, 2, false}}) {
    const auto [matching, share] =
        sample.Matching([&](uint32_t row) { return row % 40 >= regions.empty && row / 40 % regions.oneIn == 0; });
    const bool uncorrelated = sample.graph.IsUncorrelated(matching, share).value();
    if (regions.detectable) CHECK(!uncorrelated);
    // The detection affects only the speed, not the results.
    for (const bool assumed : {uncorrelated, true}) {
      GraphFixture::FilteredRecall inside, border;
      for (uint32_t i = 0; i < 60; i++) {
        auto query = cloud.Next(i % regions.empty);
        sample.SearchMatching({matching, share, assumed}, query, &inside);
        const auto other = cloud.Next(regions.empty + i % (40 - regions.empty));
        for (uint32_t d = 0; d < kDimensions; d++) query[d] = (query[d] + other[d]) / 1.5F;
        sample.SearchMatching({matching, share, assumed}, query, &border);
      }
      CHECK(static_cast<double>(inside.hits) >= 0.95 * static_cast<double>(inside.relevant));
      CHECK(static_cast<double>(border.hits) >= 0.95 * static_cast<double>(border.relevant));
      CHECK(border.walked > 0);
    }
  }
}

TEST("the correlation of a filter is unknown while rows are not linked") {
  GraphFixture sample;
  test::ClusteredVectors cloud(kDimensions, 40, 10);
  for (int i = 0; i < 1000; i++) sample.Add(cloud.Next());
  const auto [matching, share] = sample.Matching([](uint32_t row) { return row % 2 == 0; });
  CHECK(!sample.graph.IsUncorrelated(matching, share).has_value());
  sample.InsertAll(1);
  CHECK(sample.graph.IsUncorrelated(matching, share) == true);
}

TEST("a search among rejected rows stops before its pool holds many of them") {
  GraphFixture sample;
  test::ClusteredVectors cloud(kDimensions, 4, 11);
  for (uint32_t i = 0; i < 8000; i++) sample.Add(cloud.Next(i % 4));
  sample.InsertAll(2);
  const auto visible = [](uint32_t row) { return row % 4 != 0; };
  GraphScratch scratch;
  for (uint32_t i = 0; i < 40; i++) {
    const EncodedQuery query = sample.codes.codec().Query(cloud.Next(i % 4).data());
    const auto outcome = sample.graph.Search({query.view(), 10, UINT64_MAX}, &scratch, visible, [] { return false; });
    CHECK(outcome == (i % 4 == 0 ? Graph::Outcome::kBudget : Graph::Outcome::kDone));
    CHECK(scratch.pool.size() < Graph::RejectedMax(10) + 200);
  }
}

TEST("a pool keeps the best accepted rows and the rows between them, and returns each once") {
  test::Random random(9);
  for (int round = 0; round < 200; round++) {
    const uint32_t ef = 1 + test::RandomBelow(&random, 20);
    CandidatePool pool;
    pool.Reset(ef);
    std::vector<Neighbor> accepted;
    std::set<uint32_t> expanded;
    for (uint32_t row = 0; row < 200; row++) {
      const Neighbor near{static_cast<int32_t>(test::RandomBelow(&random, 100)) - 50, row};
      const bool accept = test::RandomBelow(&random, 3) != 0;
      if (accept) accepted.push_back(near);
      if (pool.IsCompetitive(near.score)) pool.Add(near, accept);
      uint32_t next;
      if (row % 3 == 0 && pool.Next(&next)) CHECK(expanded.insert(next).second);
    }
    std::stable_sort(accepted.begin(), accepted.end(),
                     [](const Neighbor& left, const Neighbor& right) { return left.score > right.score; });
    std::vector<Neighbor> results;
    pool.CopyAccepted(&results);
    CHECK(results.size() == ef);
    for (size_t i = 0; i < results.size(); i++) CHECK(results[i].score == accepted[i].score);
    for (uint32_t next; pool.Next(&next);) CHECK(expanded.insert(next).second);
    for (const Neighbor& near : results) CHECK(expanded.count(near.row) == 1);
  }
}

TEST("many duplicates of one vector hide neither each other nor the rows around them") {
  GraphFixture sample;
  test::ClusteredVectors cloud(kDimensions, 10, 6);
  const auto copy = cloud.Next(0);
  for (int i = 0; i < 3000; i++) sample.Add(i % 5 == 0 ? copy : cloud.Next());
  sample.InsertAll(2);
  const auto found = sample.Find(copy, 100, 200, [](uint32_t) { return true; });
  CHECK(found.size() == 100);
  for (const uint32_t row : found) CHECK(row % 5 == 0);
  const auto others = [](uint32_t row) { return row % 5 != 0; };
  CHECK(sample.Recall(&cloud, 64, others) >= 0.95);
}

TEST("a row is linked to a duplicate, which does not reduce the diversity of its other links") {
  constexpr float kRounding = 0.01F;
  GraphFixture sample;
  test::ClusteredVectors cloud(kDimensions, 10, 8);
  for (int i = 0; i < 3000; i++) sample.Add(cloud.Next());
  const uint32_t equal = 100;
  const uint32_t last = sample.Rows();
  sample.Add(sample.vectors[equal]);
  sample.InsertAll(1);
  uint32_t links[Graph::kLinksLayer0];
  const uint32_t count = sample.graph.CopyLinks(last, 0, sample.Rows(), links);
  CHECK(std::find(links, links + count, equal) != links + count);
  std::vector<uint32_t> others(links, links + count);
  std::erase(others, equal);
  others = sample.Ranked(sample.vectors[last], others, others.size());
  CHECK(others.size() > 2);
  for (size_t far = 1; far < others.size(); far++) {
    const float own = sample.Similarity(sample.vectors[last], others[far]);
    for (size_t near = 0; near < far; near++) {
      CHECK(sample.Similarity(sample.vectors[others[near]], others[far]) <= own + kRounding);
    }
  }
}

TEST("a graph search stops on request and when its budget is spent") {
  GraphFixture sample;
  test::ClusteredVectors cloud(kDimensions, 10, 7);
  for (int i = 0; i < 3000; i++) sample.Add(cloud.Next());
  sample.InsertAll(1);
  const EncodedQuery query = sample.codes.codec().Query(cloud.Next().data());
  GraphScratch scratch;
  const auto nothing = [](uint32_t) { return false; };
  CHECK(sample.graph.Search({query.view(), 10, UINT64_MAX}, &scratch, nothing, [] { return true; }) ==
        Graph::Outcome::kStopped);
  CHECK(sample.graph.Search({query.view(), 10, 100}, &scratch, nothing, [] { return false; }) ==
        Graph::Outcome::kBudget);
  CHECK(sample.graph.Search({query.view(), 64, UINT64_MAX}, &scratch, nothing, [] { return false; }) ==
        Graph::Outcome::kDone);
}

}  // namespace
}  // namespace quarry
