#include "engine/postings.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "check.h"
#include "engine/collection.h"
#include "engine/search.h"
#include "samples.h"

namespace quarry {
namespace {

using test::Random;
using test::RandomBelow;

TEST("postings return every row and count that was added, in order") {
  Random random(8);
  Postings postings;
  std::map<uint64_t, std::vector<Posting>> expected;
  for (uint32_t row = 0; row < 4000; row += 1 + RandomBelow(&random, 300) * RandomBelow(&random, 2)) {
    for (uint64_t term = 0; term < 300; term++) {
      if (RandomBelow(&random, 1 + static_cast<uint32_t>(term)) != 0) continue;
      const Posting posting{row, RandomBelow(&random, 20) == 0 ? 65535 : RandomBelow(&random, 5),
                            RandomBelow(&random, 3)};
      postings.Add(term * 0x9e3779b97f4a7c15, posting, 1);
      expected[term * 0x9e3779b97f4a7c15].push_back(posting);
    }
  }
  for (const auto& entry : expected) {
    const std::vector<Posting>& list = entry.second;
    size_t at = 0;
    postings.ForEach(entry.first, [&](const Posting& posting) {
      REQUIRE(at < list.size());
      CHECK(posting.row == list[at].row && posting.body == list[at].body && posting.prefix == list[at].prefix);
      at++;
      return true;
    });
    CHECK(at == list.size());
  }
  CHECK(postings.Hashes().size() == expected.size());
  postings.ForEach(12345, [&](const Posting&) {
    CHECK(false);
    return true;
  });
}

// Postings of a block, with typical row steps and counts of a list.
std::vector<Posting> RandomBlock(Random* random, uint32_t before) {
  constexpr uint32_t kSteps[] = {1, 3, 40, 5000};
  constexpr uint32_t kCounts[] = {1, 2, 5, 300};
  const uint32_t step = kSteps[RandomBelow(random, 4)];
  const uint32_t bodies = kCounts[RandomBelow(random, 4)];
  const uint32_t prefixes = kCounts[RandomBelow(random, 4)];
  const uint32_t leastBody = RandomBelow(random, 2);
  const uint32_t oddities = RandomBelow(random, 4) == 0 ? 3 : 50;  // one in this many postings is an outlier
  std::vector<Posting> postings;
  for (uint32_t i = 0; i < kBlockPostings; i++) {
    before += 1 + RandomBelow(random, RandomBelow(random, oddities) == 0 ? 20'000'000 : step);
    postings.push_back({before, leastBody + RandomBelow(random, bodies), RandomBelow(random, prefixes)});
    if (RandomBelow(random, oddities) == 0) postings.back().body = 65535;
    if (RandomBelow(random, oddities) == 0) postings.back().prefix = 65535;
  }
  return postings;
}

TEST("a block returns the packed postings, all at once or one by one") {
  Random random(4);
  for (int round = 0; round < 2000; round++) {
    const uint32_t before = RandomBelow(&random, 2) == 0 ? kBeforeFirst : RandomBelow(&random, 1000);
    const std::vector<Posting> postings = RandomBlock(&random, before);
    std::vector<uint64_t> words = {~uint64_t{0}};
    BlockHeader header{};
    PackBlock(postings.data(), before, &words, &header);
    CHECK(words.size() == 1 + PackedWords(header) && header.lastRow == postings.back().row);
    uint32_t rows[kBlockPostings];
    uint32_t counts[kBlockPostings];
    UnpackRows(header, words.data() + 1, before, rows);
    UnpackCounts(header, words.data() + 1, counts);
    for (uint32_t i = 0; i < kBlockPostings; i++) {
      CHECK(rows[i] == postings[i].row && counts[i] == (postings[i].body | postings[i].prefix << 16));
      CHECK(CountsAt(header, words.data() + 1, i) == counts[i]);
    }
  }
}

// Lists with lengths around multiples of a block, by hash; the row determines the counts.
Posting PostingAt(uint64_t hash, uint32_t row) {
  return {row, static_cast<uint32_t>((hash ^ row) % 7), static_cast<uint32_t>((hash + row) % 40 == 0 ? 2 : 0)};
}
uint32_t LengthAt(uint32_t row) { return 20 + row % 300; }
constexpr uint32_t kListLengths[] = {1, 2, 127, 128, 129, 255, 256, 300, 1280, 3000};
uint64_t HashOf(size_t list) { return (list + 1) * 0x9e3779b97f4a7c15; }
bool InList(size_t list, uint32_t row, uint32_t rows) {
  return uint64_t{row} * kListLengths[list] / rows != uint64_t{row + 1} * kListLengths[list] / rows;
}

// Checks the list sequentially and by seeking, and the bounds of its blocks.
void CheckList(const Postings& postings, size_t list, uint32_t rows) {
  PostingCursor cursor;
  REQUIRE(postings.Open(HashOf(list), &cursor));
  CHECK(cursor.Count() == kListLengths[list]);
  for (; !cursor.AtEnd(); cursor.NextBlock()) {
    CHECK(cursor.LastRow() == cursor.Rows()[cursor.Size() - 1]);
    for (uint32_t i = 0; i < cursor.Size(); i++) {
      const Posting expected = PostingAt(HashOf(list), cursor.Rows()[i]);
      CHECK(InList(list, expected.row, rows) && cursor.Counts()[i] == (expected.body | expected.prefix << 16));
      const float frequency = FrequencyOf(expected.body, expected.prefix);
      CHECK(frequency <= cursor.Bounds().FrequencyMax());
      CHECK(frequency == 0 ||
            static_cast<float>(LengthAt(expected.row)) / frequency >= cursor.Bounds().LengthRatioMin());
    }
  }
  for (const uint32_t step : {1U, 50U, 2000U}) {
    cursor.Start();
    for (uint32_t row = 0; row < rows; row += step) {
      uint32_t counts = 0;
      const bool found = cursor.Find(row, &counts);
      const Posting expected = PostingAt(HashOf(list), row);
      CHECK(found == InList(list, row, rows));
      CHECK(!found || counts == (expected.body | expected.prefix << 16));
    }
  }
}

constexpr uint32_t kListRows = 6000;
void AddRows(Postings* postings, uint32_t from, uint32_t to) {
  for (uint32_t row = from; row < to; row++) {
    for (size_t list = 0; list < std::size(kListLengths); list++) {
      if (InList(list, row, kListRows)) postings->Add(HashOf(list), PostingAt(HashOf(list), row), LengthAt(row));
    }
  }
}

std::vector<uint64_t> PackAll(const Postings& postings) {
  std::vector<uint8_t> bytes;
  PackedPostingsWriter writer([&](const void* from, size_t length) {
    const auto* start = static_cast<const uint8_t*>(from);
    bytes.insert(bytes.end(), start, start + length);
  });
  for (const uint64_t hash : postings.Hashes()) {
    writer.Begin(hash);
    postings.ForEach(hash, [&](const Posting& posting) {
      writer.Add(posting, LengthAt(posting.row));
      return true;
    });
    writer.End();
  }
  writer.Finish();
  CHECK(bytes.size() % 8 == 0);
  std::vector<uint64_t> words(bytes.size() / 8);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

TEST("a list reads the same whether it was added, loaded, or loaded and appended to") {
  for (const uint32_t loaded : {0U, 1U, 700U, 3000U, kListRows}) {
    Postings before;
    AddRows(&before, 0, loaded);
    const auto words = std::make_shared<std::vector<uint64_t>>(PackAll(before));
    PackedPostings packed;
    REQUIRE(PackedPostings::Parse(words->data(), words->size() * 8, loaded, &packed));
    Postings postings;
    postings.Adopt(packed, words->size() * 8, words);
    AddRows(&postings, loaded, kListRows);
    for (size_t list = 0; list < std::size(kListLengths); list++) CheckList(postings, list, kListRows);
    CHECK(postings.Hashes().size() == std::size(kListLengths));
    PostingCursor cursor;
    CHECK(!postings.Open(12345, &cursor));
  }
}

TEST("packed lists with missing parts or with rows outside the shard are rejected") {
  Postings postings;
  AddRows(&postings, 0, kListRows);
  const std::vector<uint64_t> words = PackAll(postings);
  PackedPostings packed;
  CHECK(PackedPostings::Parse(words.data(), words.size() * 8, kListRows, &packed));
  CHECK(!PackedPostings::Parse(words.data(), words.size() * 8, kListRows - 1, &packed));
  for (size_t length = 0; length < words.size() * 8; length++) {
    CHECK(!PackedPostings::Parse(words.data(), length, kListRows, &packed));
  }
  // The two numbers of the trailer, and an offset beyond the end in the directory, which is followed by a two-word index.
  const std::pair<size_t, uint64_t> damages[] = {{1, 1}, {1, 2}, {1, 64}, {2, 1}, {2, 2}, {2, 64}, {5, 1 << 20}};
  for (const auto& [fromEnd, change] : damages) {
    auto damaged = words;
    damaged[words.size() - fromEnd] += change;
    CHECK(!PackedPostings::Parse(damaged.data(), damaged.size() * 8, kListRows, &packed));
  }
}

CONCURRENT_TEST("readers see complete lists while postings are added") {
  Postings postings;
  std::atomic<uint32_t> added{0};
  std::vector<std::thread> readers;
  std::atomic<uint32_t> reads{0};
  for (int i = 0; i < 2; i++) {
    readers.emplace_back([&] {
      for (uint32_t least = 0; least < kListRows; reads++) {
        least = added.load(std::memory_order_acquire);
        for (size_t list = 0; list < std::size(kListLengths); list++) {
          uint32_t next = 0;
          const auto skip = [&] {
            while (next < kListRows && !InList(list, next, kListRows)) next++;
          };
          postings.ForEach(HashOf(list), [&](const Posting& posting) {
            skip();
            const Posting expected = PostingAt(HashOf(list), next);
            CHECK(posting.row == expected.row && posting.body == expected.body && posting.prefix == expected.prefix);
            next++;
            return true;
          });
          skip();
          CHECK(next >= least);
        }
      }
    });
  }
  for (uint32_t row = 0; row < kListRows; row++) {
    AddRows(&postings, row, row + 1);
    added.store(row + 1, std::memory_order_release);
    if (row % 64 == 0) std::this_thread::yield();
  }
  for (auto& reader : readers) reader.join();
  CHECK(reads >= 2);
}

TEST("a term block that is truncated, too long, unsorted or of another format is rejected") {
  auto input = test::MakeDocument(1, {{1}, {1}}, {{{5, {1, 0}}, {9, {2, 1}}}, {{5, {1, 0}}}});
  CHECK(input->Check(1).ok());
  const size_t termBytes = input->termBytes;
  for (size_t length = 0; length < termBytes; length++) {
    input->termBytes = length;
    CHECK(!input->Check(1).ok());
  }
  input->termBytes = termBytes;
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

// Reference implementation of BM25 over rows in memory.
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

TEST("BM25 scores equal the formula and are bit-identical for every number of shards, also after deletes") {
  std::vector<std::map<std::pair<double, uint32_t>, float>> answers;
  for (const uint32_t shards : {1U, 8U, 64U}) {
    Random random(9);
    const test::TemporaryFolder folder;
    test::ManualScheduler background;
    std::shared_ptr<Collection> collection;
    REQUIRE(Collection::Open({"bm25", 4, shards, folder.path() + "/c"}, background.Function(), &collection).ok());
    Model model;
    for (uint64_t version = 1; version <= 400; version++) {
      std::vector<test::RowTerms> terms(1 + RandomBelow(&random, 3));
      for (auto& row : terms) {
        for (uint32_t count = RandomBelow(&random, 12); count > 0; count--) {
          row[RandomBelow(&random, 1 + RandomBelow(&random, 60))] = {static_cast<uint16_t>(1 + RandomBelow(&random, 4)),
                                                                     static_cast<uint16_t>(RandomBelow(&random, 2))};
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
    REQUIRE(Search(collection->GetReadSnapshot(), request, &hits).ok());
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
