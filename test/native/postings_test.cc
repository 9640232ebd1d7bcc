#include "engine/postings.h"

#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "check.h"
#include "engine/collection.h"
#include "engine/search.h"
#include "samples.h"

namespace quarry {
namespace {

using test::Below;
using test::Random;

TEST("postings give back every row and count that was added, in order") {
  Random random(8);
  Postings postings;
  std::map<uint64_t, std::vector<Posting>> expected;
  for (uint32_t row = 0; row < 4000; row += 1 + Below(&random, 300) * Below(&random, 2)) {
    for (uint64_t term = 0; term < 300; term++) {
      if (Below(&random, 1 + static_cast<uint32_t>(term)) != 0) continue;
      const Posting posting{row, Below(&random, 20) == 0 ? 65535 : Below(&random, 5), Below(&random, 3)};
      postings.Add(term * 0x9e3779b97f4a7c15, posting);
      expected[term * 0x9e3779b97f4a7c15].push_back(posting);
    }
  }
  for (const auto& [hash, wanted] : expected) {
    size_t at = 0;
    postings.ForEach(hash, [&](const Posting& posting) {
      REQUIRE(at < wanted.size());
      CHECK(posting.row == wanted[at].row && posting.body == wanted[at].body && posting.prefix == wanted[at].prefix);
      at++;
      return true;
    });
    CHECK(at == wanted.size());
  }
  CHECK(postings.Lists().size() == expected.size() && postings.Terms() == expected.size());
  postings.ForEach(12345, [&](const Posting&) {
    CHECK(false);
    return true;
  });
}

TEST("a term block that is cut off, too long, unsorted or not one is refused") {
  auto input = test::MakeDocument(1, {{1}, {1}}, {{{5, {1, 0}}, {9, {2, 1}}}, {{5, {1, 0}}}});
  CHECK(input->Check(1).ok());
  const size_t whole = input->termBytes;
  for (size_t length = 0; length < whole; length++) {
    input->termBytes = length;
    CHECK(!input->Check(1).ok());
  }
  input->termBytes = whole;
  CHECK(!input->Check(2).ok());  // vectors of other dimensions
  auto unsorted = *input;
  std::swap(unsorted.terms[2], unsorted.terms[4]);  // the hashes of the first row
  CHECK(!unsorted.Check(1).ok());
  auto wrong = *input;
  wrong.terms[0]++;
  CHECK(!wrong.Check(1).ok());
  input->vectors[0] = NAN;
  CHECK(!input->Check(1).ok());
}

// BM25 as its formula says, over rows that are simply remembered.
struct Model {
  struct Row {
    uint64_t version;
    uint32_t chunk;
    test::RowTerms terms;
  };
  std::vector<Row> rows;

  static double Length(const Row& row) {
    double length = 0;
    for (const auto& [hash, counts] : row.terms) length += counts.first;
    return length;
  }
  double Score(const Row& row, const std::vector<QueryTerm>& query) const {
    double total = 0;
    for (const Row& each : rows) total += Length(each);
    const auto count = static_cast<double>(rows.size());
    std::map<uint32_t, std::vector<QueryTerm>> groups;
    for (const QueryTerm& term : query) groups[term.group].push_back(term);
    double score = 0;
    for (const auto& [group, terms] : groups) {
      double with = 0;
      for (const Row& each : rows) {
        bool any = false;
        for (const QueryTerm& term : terms) any = any || each.terms.contains(term.hash);
        with += any ? 1 : 0;
      }
      double best = 0;
      for (const QueryTerm& term : terms) {
        const auto found = row.terms.find(term.hash);
        if (found == row.terms.end()) continue;
        const double frequency = found->second.first + 0.3 * found->second.second;
        const double norm = 1.2 * (1 - 0.6 + 0.6 * Length(row) / (total / count));
        best = std::max(best, term.weight * frequency * 2.2 / (frequency + norm));
      }
      score += best * std::log(1 + (count - with + 0.5) / (with + 0.5));
    }
    return score;
  }
};

TEST("BM25 is the formula's, the same bit by bit for every number of shards, also after deletes") {
  std::vector<std::map<std::pair<double, uint32_t>, float>> answers;
  for (const uint32_t shards : {1U, 8U, 64U}) {
    Random random(9);
    const test::TemporaryFolder folder;
    test::HeldBackground background;
    std::shared_ptr<Collection> collection;
    REQUIRE(Collection::Open({"bm25", 4, shards, folder.path() + "/c"}, background.Function(), &collection).ok());
    Model model;
    for (uint64_t version = 1; version <= 400; version++) {
      std::vector<test::RowTerms> terms(1 + Below(&random, 3));
      for (auto& row : terms) {
        for (uint32_t count = Below(&random, 12); count > 0; count--) {
          row[Below(&random, 1 + Below(&random, 60))] = {static_cast<uint16_t>(1 + Below(&random, 4)),
                                                         static_cast<uint16_t>(Below(&random, 2))};
        }
      }
      const std::vector<std::vector<float>> vectors(terms.size(), {1, 0, 0, 0});
      const auto shard = static_cast<uint32_t>(version * 31 % shards);
      REQUIRE(test::Stage(collection, shard, test::MakeDocument(version, vectors, terms)).ok());
      REQUIRE(collection->Commit({version, shard, version, std::nullopt}).ok());
      for (uint32_t chunk = 0; chunk < terms.size(); chunk++) model.rows.push_back({version, chunk, terms[chunk]});
    }
    for (uint64_t version = 1; version <= 400; version += 3) {
      const auto shard = static_cast<uint32_t>(version * 31 % shards);
      REQUIRE(collection->Commit({1000 + version, shard, std::nullopt, version}).ok());
      std::erase_if(model.rows, [&](const Model::Row& row) { return row.version == version; });
    }
    const std::vector<QueryTerm> query = {{3, 1, 0}, {40, 0.5F, 0}, {7, 1, 5}, {999, 1, 6}, {0, 0.25F, 7}, {3, 1, 9}};
    SearchRequest request;
    request.terms = query;
    request.lexicalCandidates = 10000;
    SearchHits hits;
    REQUIRE(Search(collection->Now(), request, &hits).ok());
    std::map<std::pair<double, uint32_t>, float> found;
    for (size_t i = 0; i < hits.version.size(); i++) found[{hits.version[i], hits.chunk[i]}] = hits.lexical[i];
    size_t matching = 0;
    for (const Model::Row& row : model.rows) {
      const double score = model.Score(row, query);
      const auto hit = found.find({static_cast<double>(row.version), row.chunk});
      CHECK((hit != found.end()) == (score > 0));
      if (hit != found.end()) CHECK(std::abs(hit->second - score) < 1e-5 * (1 + score));
      matching += score > 0 ? 1 : 0;
    }
    CHECK(matching == found.size() && matching > 100);
    answers.push_back(std::move(found));
  }
  CHECK(answers[0] == answers[1] && answers[0] == answers[2]);
}

}  // namespace
}  // namespace quarry
