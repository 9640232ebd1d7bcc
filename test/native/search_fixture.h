// A collection of synthetic documents to search.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "check.h"
#include "engine/collection.h"
#include "engine/search.h"
#include "samples.h"

namespace quarry::test {

inline constexpr uint32_t kDimensions = 16;
inline constexpr uint64_t kCommonWord = 1;

struct SearchFixture {
  TemporaryFolder folder;
  ManualScheduler background;
  std::shared_ptr<Collection> collection;
  ClusteredVectors cloud{kDimensions, 12, 20};
  uint64_t version = 0;

  explicit SearchFixture(uint32_t shards) {
    REQUIRE(
        Collection::Open({"test", kDimensions, shards, folder.path() + "/c"}, background.Function(), &collection).ok());
  }
  void Add(uint32_t shard, const std::vector<std::vector<float>>& vectors) {
    version++;
    std::vector<RowTerms> terms;
    for (size_t i = 0; i < vectors.size(); i++) terms.push_back({{kCommonWord, {1 + i % 3, 0}}, {version, {1, 1}}});
    const auto input = MakeDocument(version, vectors, terms, {{"parity", {version % 2 == 0 ? "even" : "odd"}}});
    REQUIRE(Stage(collection, shard, input).ok());
    REQUIRE(collection->Commit({version, shard, version, {}}).ok());
  }
  void Fill(uint32_t documents, uint32_t rows) {
    for (uint32_t i = 0; i < documents; i++) {
      std::vector<std::vector<float>> vectors;
      for (uint32_t row = 0; row < rows; row++) vectors.push_back(cloud.Next());
      Add(i % collection->options().shards, vectors);
    }
  }
  SearchRequest RandomRequest(uint32_t vectorCandidates, uint32_t lexicalCandidates) {
    SearchRequest request;
    request.vector = cloud.Next();
    request.terms = {{kCommonWord, 1, 0}, {1 + version / 2, 1, 1}};
    request.vectorCandidates = vectorCandidates;
    request.lexicalCandidates = lexicalCandidates;
    return request;
  }
};

using Hit = std::tuple<double, uint32_t, uint16_t, float, float>;
inline std::set<Hit> HitsOf(const SearchHits& hits) {
  std::set<Hit> result;
  for (size_t i = 0; i < hits.version.size(); i++) {
    result.emplace(hits.version[i], hits.chunk[i], hits.shard[i], hits.similarity[i], hits.lexical[i]);
  }
  return result;
}

}  // namespace quarry::test
