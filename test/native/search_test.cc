#include "engine/search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include "check.h"
#include "engine/collection.h"
#include "engine/registry.h"
#include "samples.h"
#include "search_fixture.h"

namespace quarry {
namespace {

using test::HitsOf;
using test::kCommonWord;
using test::kDimensions;
using test::SearchFixture;

// Runs a search with several threads that start together.
Status RunWithHelpers(const std::shared_ptr<CollectionSearch>& search, int threads) {
  using Progress = CollectionSearch::Progress;
  REQUIRE(search->Start() == Progress::kPhaseStarted);
  std::atomic<int> endings{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> helpers;
  for (int i = 0; i < threads; i++) {
    helpers.emplace_back([&] {
      while (!over) {
        if (search->Help() != Progress::kDone) continue;
        endings++;
        over = true;
      }
    });
  }
  for (std::thread& helper : helpers) helper.join();
  CHECK(endings == 1);
  return search->status();
}

CONCURRENT_TEST("threads that share a search find the result of one thread, bit by bit") {
  SearchFixture fixture(16);
  fixture.Fill(160, 20);
  for (int round = 0; round < 60; round++) {
    SearchRequest request = fixture.RandomRequest(round % 4 == 0 ? 0 : 1 + round, round % 3 == 0 ? 0 : 30);
    if (round % 4 == 0) request.vector.clear();
    if (round % 5 == 0) {
      const auto bytes = test::StepBytes(FilterOperator::kEqual, "parity", {"odd"});
      FilterProgram program;
      REQUIRE(FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
      request.filter = program;
    }
    SearchHits alone;
    REQUIRE(Search(fixture.collection->GetReadSnapshot(), request, &alone).ok());
    const auto search = CollectionSearch::New();
    search->request() = request;
    search->Begin(fixture.collection->GetReadSnapshot());
    REQUIRE(RunWithHelpers(search, 4).ok());
    CHECK(HitsOf(search->hits()) == HitsOf(alone));
    CHECK(search->hits().shards.size() == 16 && alone.shards.size() == 16);
  }
}

CONCURRENT_TEST("a search that fails in one thread ends for all of them with that status, and the next one succeeds") {
  SearchFixture fixture(8);
  fixture.Fill(40, 20);
  for (int round = 0; round < 30; round++) {
    const auto search = CollectionSearch::New();
    search->request() = fixture.RandomRequest(10, 10);
    const auto canceled = std::make_shared<std::atomic<bool>>(false);
    search->request().cancellation.canceled = canceled;
    search->Begin(fixture.collection->GetReadSnapshot());
    std::thread canceller([&] { *canceled = true; });
    const Status status = RunWithHelpers(search, 3);
    canceller.join();
    CHECK(status.ok() || status.code() == StatusCode::kCanceled);
    SearchHits hits;
    REQUIRE(Search(fixture.collection->GetReadSnapshot(), fixture.RandomRequest(10, 0), &hits).ok());
    CHECK(hits.version.size() == 10);
  }
}

TEST("reused searches return the result of the first") {
  SearchFixture fixture(kShardsMax);
  const SearchRequest request = fixture.RandomRequest(0, 10);
  // Enough rounds for the ticket counters of reused searches, which count the shards of each phase, to wrap around.
  for (int round = 0; round < 3000; round++) {
    SearchHits hits;
    REQUIRE(Search(fixture.collection->GetReadSnapshot(), request, &hits).ok());
    CHECK(hits.shards.size() == kShardsMax);
  }
}

TEST("a shard with more of the nearest rows than its share is searched again with a larger ef, and no row is lost") {
  SearchFixture fixture(8);
  fixture.Fill(240, 30);
  const std::vector<float> center = fixture.cloud.Next();
  std::vector<std::vector<float>> together;
  for (uint32_t i = 0; i < 80; i++) {
    std::vector<float> vector = center;
    vector[i % kDimensions] += 0.0005F * static_cast<float>(i);
    float length = 0;
    for (const float value : vector) length += value * value;
    for (float& value : vector) value /= std::sqrt(length);
    together.push_back(vector);
  }
  fixture.Add(3, together);
  SearchRequest request = fixture.RandomRequest(60, 0);
  request.vector = center;
  ReadSnapshot readSnapshot = fixture.collection->GetReadSnapshot();
  readSnapshot.efValues = {kEfMin, kEfMin, false};
  SearchHits hits;
  REQUIRE(Search(readSnapshot, request, &hits).ok());
  CHECK(hits.version.size() == 60);
  const auto there = std::count(hits.shard.begin(), hits.shard.end(), 3);
  CHECK(there == 60);
  CHECK(hits.shards[2].strategy == Strategy::kGraph && hits.shards[3].strategy == Strategy::kScan);
}

// Rows of which some have coordinates clipped by the codes.
class ClippedRows {
 public:
  static constexpr uint32_t kWide = 128;

  // A vector of the cloud; in two of three cases, skewed toward a coordinate of the rotated space.
  std::vector<float> Next() {
    std::vector<float> vector = cloud_.Next();
    const uint32_t kind = test::RandomBelow(&random_, 3);
    if (kind == 0) return vector;
    const uint32_t coordinate = test::RandomBelow(&random_, 3);
    const float lean = 0.1F * static_cast<float>(1 + test::RandomBelow(&random_, 9));
    float length = 0;
    for (uint32_t i = 0; i < kWide; i++) {
      vector[i] = lean * Rotated(i, coordinate) + (1 - lean) * vector[i];
      length += vector[i] * vector[i];
    }
    for (float& value : vector) value /= std::sqrt(length);
    return vector;
  }

 private:
  // Coordinate j of the rotated unit vector i, which equals dimension i of the vector rotated to unit vector j.
  float Rotated(uint32_t i, uint32_t j) {
    std::vector<float> unit(kWide);
    unit[i] = 1;
    AlignedBytes codes(codec_.stride());
    codec_.Encode(unit.data(), codes.As<uint8_t>());
    return (codes.As<uint8_t>()[j] > kCodeZeroPoint ? 1 : -1) / std::sqrt(static_cast<float>(kWide));
  }

  const Codec codec_{kWide};
  test::ClusteredVectors cloud_{kWide, 12, 26};
  test::Random random_{26};
};

TEST("among few rows, all the nearest are found, also with clipped codes, after compaction and after loading") {
  const test::TemporaryFolder folder;
  test::ManualScheduler background;
  const CollectionOptions options{"test", ClippedRows::kWide, 1, folder.path() + "/c"};
  std::shared_ptr<Collection> collection;
  REQUIRE(Collection::Open(options, background.Function(), &collection).ok());
  ClippedRows source;
  std::map<uint64_t, std::vector<float>> rows;
  uint64_t sequence = 0;
  for (uint64_t version = 1; version <= 500; version++) {
    rows[version] = source.Next();
    const auto input = test::MakeDocument(version, {rows[version]}, {{{kCommonWord, {1, 0}}}}, {});
    REQUIRE(test::Stage(collection, 0, input).ok());
    REQUIRE(collection->Commit({++sequence, 0, version, {}}).ok());
  }
  const auto check = [&] {
    for (int round = 0; round < 200; round++) {
      SearchRequest request;
      request.vector = source.Next();
      request.vectorCandidates = 10;
      SearchHits hits;
      REQUIRE(Search(collection->GetReadSnapshot(), request, &hits).ok());
      CHECK(hits.shards[0].strategy == Strategy::kScan);
      std::vector<float> found(hits.similarity.begin(), hits.similarity.end());
      std::sort(found.begin(), found.end(), std::greater<>());
      std::vector<float> nearest;
      for (const auto& [version, row] : rows) {
        nearest.push_back(std::inner_product(row.begin(), row.end(), request.vector.begin(), 0.0F));
      }
      std::sort(nearest.begin(), nearest.end(), std::greater<>());
      REQUIRE(found.size() == 10);
      for (size_t i = 0; i < found.size(); i++) CHECK(std::abs(found[i] - nearest[i]) < 1e-5);
    }
  };
  check();
  for (uint64_t version = 1; version <= 300; version++) {
    rows.erase(version);
    REQUIRE(collection->Commit({++sequence, 0, {}, version}).ok());
  }
  CHECK(background.RunAll() > 0);
  check();
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  REQUIRE(Collection::Open(options, background.Function(), &collection).ok());
  CHECK(collection->openResults()[0].state == ShardState::kLoaded);
  check();
}

TEST("rows beyond a region of deleted rows are found with any ef, and by a scan where that is cheaper") {
  SearchFixture fixture(1);
  // Twelve clusters in rotation, one of which is removed afterwards.
  for (uint32_t i = 0; i < 24; i++) {
    std::vector<std::vector<float>> vectors;
    for (uint32_t row = 0; row < 400; row++) vectors.push_back(fixture.cloud.Next(i % 12));
    fixture.Add(0, vectors);
  }
  for (const uint64_t removed : {1, 13}) {
    const uint64_t epoch = fixture.version + removed;
    REQUIRE(fixture.collection->Commit({epoch, 0, {}, removed}).ok());
  }
  uint32_t scanned = 0;
  for (int round = 0; round < 20; round++) {
    SearchRequest request = fixture.RandomRequest(4, 0);
    request.vector = fixture.cloud.Next(0);
    request.ef = kEfMin;
    request.scanMode = ScanMode::kNever;
    SearchHits hits;
    REQUIRE(Search(fixture.collection->GetReadSnapshot(), request, &hits).ok());
    scanned += hits.shards[0].strategy == Strategy::kScan ? 1 : 0;
    request.scanMode = ScanMode::kAlways;
    SearchHits truth;
    REQUIRE(Search(fixture.collection->GetReadSnapshot(), request, &truth).ok());
    CHECK(hits.version.size() == 4);
    if (hits.shards[0].strategy == Strategy::kScan) CHECK(HitsOf(hits) == HitsOf(truth));
  }
  CHECK(scanned >= 4);
}

TEST("a shard lists the same visible rows as single lookups, at every epoch") {
  Shard shard(4);
  test::Random random(31);
  uint64_t epoch = 0;
  std::vector<uint64_t> live;
  for (uint64_t version = 1; version <= 60; version++) {
    const std::vector<std::vector<float>> rows(1 + test::RandomBelow(&random, 9), std::vector<float>{1, 0, 0, 0});
    const auto input = test::MakeDocument(version, rows, std::vector<test::RowTerms>(rows.size()));
    REQUIRE(input->Check(4).ok());
    uint32_t slot = 0;
    REQUIRE(shard.Append(*input, Shard::StagedPolicy::kReplace, &slot).ok());
    shard.MarkReady(slot);
    uint64_t remove = live.empty() ? 0 : live[test::RandomBelow(&random, static_cast<uint32_t>(live.size()))];
    shard.Commit(++epoch, &version, version % 3 == 0 ? &remove : nullptr);
    if (version % 3 == 0) std::erase(live, remove);
    live.push_back(version);
  }
  const uint32_t words = (shard.Rows() + 63) / 64;
  for (uint64_t at = 0; at <= epoch + 1; at++) {
    for (const uint32_t share : {0, 1, 2, 3}) {  // all rows, few, half, none
      Bitset among(shard.Rows());
      std::vector<uint32_t> expected;
      for (uint32_t row = 0; row < shard.Rows(); row++) {
        if (share == 0 || (share == 1 && test::RandomBelow(&random, 40) == 0) ||
            (share == 2 && test::RandomBelow(&random, 2) == 0)) {
          among.Add(row);
        }
        if (among.Has(row) && shard.IsRowVisible(row, at)) expected.push_back(row);
      }
      const size_t enough = 1 + test::RandomBelow(&random, 100);
      std::vector<uint32_t> rows(enough + 64);
      std::vector<uint32_t> listed;
      for (uint32_t word = 0; word < words;) {
        const uint32_t before = word;
        const uint32_t end = std::min(words, word + 1 + test::RandomBelow(&random, 4));
        const size_t count =
            shard.ListVisible(share == 0 && at % 2 == 0 ? nullptr : &among, at, &word, end, enough, rows.data());
        REQUIRE(word > before);
        CHECK(word == end || count >= enough);
        listed.insert(listed.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
      }
      CHECK(listed == expected);
    }
  }
}

CONCURRENT_TEST("searches on the registry's threads and on the calling thread return the same results") {
  SearchFixture fixture(8);
  fixture.Fill(80, 20);
  for (int round = 0; round < 50; round++) {
    const SearchRequest request = fixture.RandomRequest(20, 20);
    SearchHits alone;
    REQUIRE(Search(fixture.collection->GetReadSnapshot(), request, &alone).ok());
    const auto search = CollectionSearch::New();
    search->request() = request;
    search->Begin(fixture.collection->GetReadSnapshot());
    const auto ended = std::make_shared<std::promise<Status>>();
    REQUIRE(Registry::Instance().Search(search, [ended](Status status) { ended->set_value(std::move(status)); }).ok());
    REQUIRE(ended->get_future().get().ok());
    CHECK(HitsOf(search->hits()) == HitsOf(alone));
  }
}

}  // namespace
}  // namespace quarry
