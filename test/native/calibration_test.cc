#include "engine/calibration.h"

#include <set>

#include "check.h"
#include "engine/collection.h"
#include "engine/search.h"
#include "search_fixture.h"

namespace quarry {
namespace {

using test::Hit;
using test::HitsOf;
using test::SearchFixture;

double RecallOf(SearchFixture* fixture, const ReadSnapshot& readSnapshot, uint32_t topK,
                ScanMode scanMode = ScanMode::kAuto) {
  size_t found = 0;
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; round++) {
    SearchRequest request = fixture->RandomRequest(topK, 0);
    request.scanMode = scanMode;
    SearchHits hits;
    SearchHits truth;
    REQUIRE(Search(readSnapshot, request, &hits).ok());
    request.scanMode = ScanMode::kAlways;
    REQUIRE(Search(readSnapshot, request, &truth).ok());
    const std::set<Hit> all = HitsOf(truth);
    for (const Hit& hit : HitsOf(hits)) found += all.count(hit);
  }
  return static_cast<double>(found) / (kRounds * topK);
}

void Calibrate(const SearchFixture& fixture, double recall) {
  REQUIRE(fixture.collection->BeginCalibration());
  Calibration calibration(fixture.collection, recall);
  while (!calibration.Step()) {
  }
}

TEST("a calibrated collection is searched with a smaller ef and reaches the target recall") {
  for (const uint32_t shards : {1U, 4U}) {
    SearchFixture fixture(shards);
    fixture.Fill(40, 100);
    CHECK(!fixture.collection->BeginCalibration());  // too small for calibration
    fixture.Fill(20, 100);
    REQUIRE(fixture.collection->BeginCalibration());
    CHECK(!fixture.collection->BeginCalibration());  // one at a time
    const EfValues before = fixture.collection->GetReadSnapshot().efValues;
    fixture.collection->EndCalibration();
    Calibrate(fixture, 0.97);
    const ReadSnapshot readSnapshot = fixture.collection->GetReadSnapshot();
    CHECK(readSnapshot.efValues.calibrated && !before.calibrated);
    CHECK(readSnapshot.efValues.few < before.few && readSnapshot.efValues.few >= kEfMin);
    CHECK(RecallOf(&fixture, readSnapshot, kFewRows) >= 0.95);
    CHECK(RecallOf(&fixture, readSnapshot, 40) >= 0.95);
    CHECK(RecallOf(&fixture, readSnapshot, kManyRows) >= 0.95);
    CHECK(!fixture.collection->BeginCalibration());  // nothing has changed
    fixture.Fill(70, 100);
    CHECK(fixture.collection->BeginCalibration());
    fixture.collection->EndCalibration();
  }
}

TEST("ef values are measured on graphs, even if shards are so small that searches scan them") {
  SearchFixture fixture(16);
  fixture.Fill(96, 50);
  SearchHits hits;
  REQUIRE(Search(fixture.collection->GetReadSnapshot(), fixture.RandomRequest(10, 0), &hits).ok());
  CHECK(hits.shards[0].strategy == Strategy::kScan);
  Calibrate(fixture, 0.97);
  const ReadSnapshot readSnapshot = fixture.collection->GetReadSnapshot();
  CHECK(readSnapshot.efValues.calibrated);
  CHECK(RecallOf(&fixture, readSnapshot, kFewRows, ScanMode::kNever) >= 0.95);
  CHECK(RecallOf(&fixture, readSnapshot, kManyRows, ScanMode::kNever) >= 0.95);
}

TEST(
    "measured ef values apply until many rows were added, removed or compacted; then the conservative defaults apply") {
  SearchFixture fixture(1);
  fixture.Fill(100, 50);
  const EfValues conservative = fixture.collection->GetReadSnapshot().efValues;
  Calibrate(fixture, 0.97);
  const EfValues measured = fixture.collection->GetReadSnapshot().efValues;
  CHECK(measured.calibrated && measured.few < conservative.few);
  const auto replace = [&](uint64_t documents) {
    for (uint64_t i = 0; i < documents; i++) {
      const uint64_t removed = fixture.version;
      fixture.Fill(1, 50);
      REQUIRE(fixture.collection->Commit({fixture.version, 0, {}, removed}).ok());
    }
  };
  // A replacement counts as one addition and one removal: twelve are less than a quarter of all documents.
  replace(12);
  CHECK(fixture.collection->GetReadSnapshot().efValues == measured);
  CHECK(!fixture.collection->BeginCalibration());
  replace(1);
  CHECK(fixture.collection->GetReadSnapshot().efValues == conservative);
  REQUIRE(fixture.collection->BeginCalibration());
  {
    // Changes during the calibration restart it.
    Calibration calibration(fixture.collection, 0.97);
    for (int i = 0; i < 20; i++) CHECK(!calibration.Step());
    replace(13);
    while (!calibration.Step()) {
    }
  }
  CHECK(fixture.collection->GetReadSnapshot().efValues.calibrated);
  CHECK(!fixture.collection->BeginCalibration());
  // 26 of 126 documents are dead: a few more trigger a compaction with a new graph.
  replace(12);
  CHECK(fixture.collection->GetReadSnapshot().efValues.calibrated);
  CHECK(fixture.background.RunAll() == 1);
  CHECK(fixture.collection->GetReadSnapshot().efValues == conservative);
  CHECK(fixture.collection->BeginCalibration());
  fixture.collection->EndCalibration();
}

TEST("a closed collection is not calibrated") {
  SearchFixture fixture(1);
  fixture.Fill(50, 100);
  REQUIRE(fixture.collection->BeginCalibration());
  Calibration calibration(fixture.collection, 0.97);
  CHECK(!calibration.IsObsolete());
  fixture.collection->Close();
  CHECK(calibration.IsObsolete());
  CHECK(!fixture.collection->BeginCalibration());
}

TEST("ef values fall with the number of shards, rise with the number of rows, and cover the share of a shard") {
  for (const size_t shards : {1, 8, 16, 32, 64}) {
    const EfValues efValues = DefaultEfValues(shards);
    uint32_t last = 0;
    for (const uint32_t topK : {1, 5, 10, 11, 50, 99, 100, 101, 1000, 49152}) {
      const uint32_t ef = EfFor(efValues, topK, shards);
      CHECK(ef >= last && ef >= RowsPerShardMax(topK, shards));
      CHECK(shards == 1 || ef <= EfFor(DefaultEfValues(shards / 2), topK, shards / 2));
      last = ef;
    }
  }
  CHECK(RowsPerShardMax(10, 1) == 10 && RowsPerShardMax(1, 64) == 1 && RowsPerShardMax(0, 8) == 0);
}

}  // namespace
}  // namespace quarry
