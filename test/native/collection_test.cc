#include "engine/collection.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "engine/process_memory.h"
#include "engine/version_list.h"
#include "engine/version_table.h"
#include "samples.h"

namespace quarry {
namespace {

constexpr uint32_t kDimensions = 16;

struct Fixture {
  test::TemporaryFolder folder;
  test::ManualScheduler background;
  std::shared_ptr<Collection> collection;
  test::ClusteredVectors cloud{kDimensions, 8, 10};
  uint64_t sequence = 0;

  explicit Fixture(uint32_t shards = 1) {
    REQUIRE(
        Collection::Open({"test", kDimensions, shards, folder.path() + "/c"}, background.Function(), &collection).ok());
  }
  std::shared_ptr<DocumentInput> Document(uint64_t version, uint32_t rows) {
    std::vector<std::vector<float>> vectors;
    std::vector<test::RowTerms> terms;
    for (uint32_t i = 0; i < rows; i++) {
      vectors.push_back(cloud.Next());
      terms.push_back({{1, {1, 0}}, {version + 10, {2, 1}}});
    }
    return test::MakeDocument(version, vectors, terms, {{"parity", {version % 2 == 0 ? "even" : "odd"}}});
  }
  void Stage(uint64_t version, uint32_t rows) { REQUIRE(test::Stage(collection, 0, Document(version, rows)).ok()); }
  Status Commit(std::optional<uint64_t> add, std::optional<uint64_t> remove) {
    return collection->Commit({++sequence, 0, add, remove});
  }
  std::multiset<uint64_t> Search(const ReadSnapshot& readSnapshot) {
    SearchRequest request;
    request.vector = cloud.Next();
    request.terms = {{1, 1, 0}};
    request.vectorCandidates = 100000;
    request.lexicalCandidates = 100000;
    SearchHits hits;
    REQUIRE(quarry::Search(readSnapshot, request, &hits).ok());
    return {hits.version.begin(), hits.version.end()};
  }
};

TEST("a search sees its read snapshot, regardless of later commits, compactions and snapshots") {
  Fixture fixture;
  fixture.Stage(1, 300);
  CHECK(fixture.Search(fixture.collection->GetReadSnapshot()).empty());
  REQUIRE(fixture.Commit(1, {}).ok());
  const ReadSnapshot first = fixture.collection->GetReadSnapshot();
  fixture.Stage(2, 200);
  REQUIRE(fixture.Commit(2, 1).ok());
  const ReadSnapshot second = fixture.collection->GetReadSnapshot();
  CHECK(fixture.background.RunAll() == 1);
  CHECK(fixture.collection->Statistics().deadRows == 0);
  const ReadSnapshot third = fixture.collection->GetReadSnapshot();
  Collection::Snapshot snapshot;
  REQUIRE(fixture.collection->WriteSnapshots(&snapshot).ok());
  const std::multiset<uint64_t> before = fixture.Search(first);
  const std::multiset<uint64_t> after = fixture.Search(second);
  CHECK(before.size() == 300 && before.count(1) == 300);
  CHECK(after.size() == 200 && after.count(2) == 200);
  CHECK(fixture.Search(third) == after);
  CHECK(CountVersions(first, nullptr) == 1 && CountVersions(third, nullptr) == 1);
}

TEST("a compaction keeps visible and staged documents and drops the others") {
  Fixture fixture;
  for (uint64_t version = 1; version <= 30; version++) {
    fixture.Stage(version, 40);
    REQUIRE(fixture.Commit(version, {}).ok());
  }
  fixture.Stage(100, 10);  // stays staged
  fixture.Stage(101, 10);  // will be discarded before the compaction runs
  for (uint64_t version = 1; version <= 10; version++) REQUIRE(fixture.Commit({}, version).ok());
  REQUIRE(fixture.collection->Discard(0, 101).ok());
  const uint64_t deadBefore = fixture.collection->Statistics().deadRows;
  CHECK(deadBefore == 410);
  CHECK(fixture.background.RunAll() == 1);
  CHECK(fixture.collection->Statistics().deadRows == 0);
  CHECK(fixture.Commit(101, {}).code() == StatusCode::kUnstaged);
  REQUIRE(fixture.Commit(100, 11).ok());
  const auto found = fixture.Search(fixture.collection->GetReadSnapshot());
  CHECK(found.size() == 19 * 40 + 10 && found.count(100) == 10 && found.count(11) == 0 && found.count(12) == 40);
  CHECK(fixture.collection->Statistics().rows == found.size());
}

TEST("staging waits for the compaction once half of the shard is deleted") {
  Fixture fixture;
  constexpr uint64_t kLive = 5000;
  uint64_t version = 0;
  const auto stage = [&] { return test::Stage(fixture.collection, 0, fixture.Document(++version, 0)); };
  while (version < kLive) {
    REQUIRE(stage().ok());
    REQUIRE(fixture.Commit(version, {}).ok());
  }
  uint64_t replaced = 0;
  for (int round = 0; round < 3; round++) {
    uint64_t dead = 0;
    Status status = stage();
    for (; status.ok(); status = stage()) {
      REQUIRE(fixture.Commit(version, version - kLive).ok());
      REQUIRE(++dead <= kLive);
    }
    CHECK(status.code() == StatusCode::kBusy);
    CHECK(dead == kLive);
    replaced += dead;
    // Search results stay the same, and removals continue.
    CHECK(fixture.collection->Statistics().documents == kLive);
    version--;  // it was not staged
    CHECK(fixture.background.RunAll() == 1);
  }
  CHECK(replaced == 3 * kLive);
}

// Simulates a process above its memory limit during its lifetime.
struct MemoryLimitReached {
  explicit MemoryLimitReached(uint64_t bytes) { SetMemoryLimit(bytes); }
  ~MemoryLimitReached() { SetMemoryLimit(0); }
};

TEST("a compaction without enough memory is deferred, and staging continues") {
  Fixture fixture;
  constexpr uint64_t kDocuments = 30;
  for (uint64_t version = 1; version <= kDocuments; version++) {
    fixture.Stage(version, 200);
    REQUIRE(fixture.Commit(version, {}).ok());
  }
  uint64_t removed = 0;
  const auto remove = [&] { REQUIRE(fixture.Commit({}, ++removed).ok()); };
  while (removed < kDocuments * 2 / 3) remove();
  {
    const MemoryLimitReached limit(1);
    CHECK(fixture.background.RunAll() == 0);
    CHECK(fixture.collection->Statistics().deadRows == removed * 200);
    // Two of three rows are dead: without the limit, staging would have to wait.
    fixture.Stage(100, 1);
    REQUIRE(fixture.Commit(100, {}).ok());
    CHECK(fixture.background.RunAll() == 0);
  }
  CHECK(fixture.background.RunAll() == 1);
  CHECK(fixture.collection->Statistics().deadRows == 0);
  CHECK(fixture.Search(fixture.collection->GetReadSnapshot()).size() == (kDocuments - removed) * 200 + 1);
}

TEST("beyond the memory limit, a compaction may still use an eighth of it") {
  Fixture fixture;
  constexpr uint64_t kDocuments = 64;
  for (uint64_t version = 1; version <= kDocuments; version++) {
    fixture.Stage(version, 100);
    REQUIRE(fixture.Commit(version, {}).ok());
  }
  const auto memory = [&] {
    const Shard::Memory parts = fixture.collection->Statistics().memory;
    return parts.vectorsInMemory + parts.codes + parts.links + parts.postings + parts.attributes + parts.documents;
  };
  const size_t full = memory();
  const MemoryLimitReached limit(full);  // the process uses more, including its code
  for (uint64_t version = 1; version <= kDocuments / 2; version++) REQUIRE(fixture.Commit({}, version).ok());
  CHECK(fixture.background.RunAll() == 0);
  for (uint64_t version = kDocuments / 2 + 1; version < kDocuments; version++) {
    REQUIRE(fixture.Commit({}, version).ok());
  }
  CHECK(fixture.background.RunAll() == 1);
  CHECK(memory() < full / 8);
}

CONCURRENT_TEST("the memory statistics include the replacement of a running compaction") {
  Fixture fixture;
  const auto vectors = [&] { return fixture.collection->Statistics().memory.vectorsInMemory; };
  uint64_t version = 0;
  bool isCounted = false;
  // The scheduler may suspend the observer thread for the duration of a compaction, hence several rounds.
  for (int round = 0; round < 50 && !isCounted; round++) {
    const uint64_t first = version + 1;
    while (version < first + 20) {
      fixture.Stage(++version, 100);
      REQUIRE(fixture.Commit(version, {}).ok());
    }
    for (uint64_t removed = first; removed <= version; removed++) REQUIRE(fixture.Commit({}, removed).ok());
    fixture.Stage(++version, 1000);
    REQUIRE(fixture.Commit(version, {}).ok());
    const size_t before = vectors();
    std::atomic<size_t> most{0};
    std::atomic<bool> done{false};
    std::thread observer([&] {
      while (!done) most = std::max(most.load(), vectors());
    });
    while (most == 0) std::this_thread::yield();
    CHECK(fixture.background.RunAll() == 1);
    done = true;
    observer.join();
    isCounted = most > before;
    CHECK(vectors() < before);
  }
  CHECK(isCounted);
}

TEST("a commit with an unstaged version or an old sequence is rejected and changes nothing") {
  Fixture fixture;
  fixture.Stage(1, 3);
  REQUIRE(fixture.Commit(1, {}).ok());
  CHECK(fixture.Commit(2, 1).code() == StatusCode::kUnstaged);
  fixture.Stage(2, 3);
  CHECK(fixture.collection->Commit({0, 0, 2, 1}).code() == StatusCode::kSequence);
  CHECK(fixture.Search(fixture.collection->GetReadSnapshot()).count(1) == 3);
  REQUIRE(fixture.Commit(2, 77).ok());  // removing an unknown version has no effect
  CHECK(fixture.Search(fixture.collection->GetReadSnapshot()).size() == 6);
}

TEST("rows deleted before a snapshot are compacted after it is loaded") {
  Fixture fixture;
  fixture.Stage(1, 600);
  REQUIRE(fixture.Commit(1, {}).ok());
  fixture.Stage(2, 400);
  REQUIRE(fixture.Commit(2, 1).ok());
  Collection::Snapshot written;
  REQUIRE(fixture.collection->WriteSnapshots(&written).ok());
  test::ManualScheduler background;
  std::shared_ptr<Collection> loaded;
  REQUIRE(Collection::Open(fixture.collection->options(), background.Function(), &loaded).ok());
  CHECK(loaded->openResults()[0].state == ShardState::kLoaded);
  CHECK(loaded->Statistics().deadRows == 600);
  CHECK(background.RunAll() == 1);
  CHECK(loaded->Statistics().deadRows == 0);
  CHECK(loaded->Statistics().rows == 400);
  CHECK(fixture.Search(loaded->GetReadSnapshot()).size() == 400);
}

TEST("the version table returns the last slot set for each version") {
  constexpr uint32_t kSlots = 3000;
  test::Random random(13);
  BlockArray<DocumentSlot> documents;
  documents.Reserve(kSlots);
  VersionTable table(documents);
  std::map<uint64_t, uint32_t> model;
  for (uint32_t slot = 0; slot < kSlots; slot++) {
    documents[slot].version = test::RandomBelow(&random, 500);
    table.Set(slot);
    model[documents[slot].version] = slot;
    for (int i = 0; i < 2; i++) {
      const uint64_t erased = test::RandomBelow(&random, 1000);
      table.Erase(erased);
      model.erase(erased);
    }
    CHECK(table.size() == model.size());
    if (slot % 50 != 0) continue;
    for (uint64_t version = 0; version < 500; version++) {
      const auto known = model.find(version);
      CHECK(table.Find(version) == (known == model.end() ? VersionTable::kNone : known->second));
    }
    std::set<uint32_t> slots;
    table.ForEach(
        [&](uint32_t each) { CHECK(slots.insert(each).second && model.at(documents[each].version) == each); });
    CHECK(slots.size() == model.size());
  }
}

TEST("staging a version again replaces the staged document, and a document may have no rows") {
  Fixture fixture;
  fixture.Stage(1, 5);
  fixture.Stage(1, 2);
  REQUIRE(fixture.Commit(1, {}).ok());
  fixture.Stage(2, 0);
  REQUIRE(fixture.Commit(2, {}).ok());
  CHECK(fixture.Search(fixture.collection->GetReadSnapshot()).size() == 2);
  CHECK(CountVersions(fixture.collection->GetReadSnapshot(), nullptr) == 2);
  const CollectionStatistics statistics = fixture.collection->Statistics();
  CHECK(statistics.rows == 2 && statistics.deadRows == 5 && statistics.documents == 2);
}

TEST("a graph search finds the rows of a scan, among deleted and staged rows, before and after compaction") {
  Fixture fixture;
  for (uint64_t version = 1; version <= 60; version++) {
    fixture.Stage(version, 50);
    // Every third version stays staged; every fourth of the others is removed.
    if (version % 3 != 0) REQUIRE(fixture.Commit(version, {}).ok());
    if (version % 3 != 0 && version % 4 == 0) REQUIRE(fixture.Commit({}, version).ok());
  }
  for (uint64_t version = 61; version <= 75; version++) {
    fixture.Stage(version, 60);
    REQUIRE(fixture.collection->Discard(0, version).ok());
  }
  for (const bool compacted : {false, true}) {
    if (compacted) CHECK(fixture.background.RunAll() == 1);
    CHECK((fixture.collection->Statistics().deadRows == 0) == compacted);
    size_t found = 0;
    for (int round = 0; round < 50; round++) {
      SearchRequest request;
      request.vector = fixture.cloud.Next();
      request.vectorCandidates = 10;
      SearchHits walked;
      SearchHits scanned;
      request.scanMode = ScanMode::kNever;
      REQUIRE(Search(fixture.collection->GetReadSnapshot(), request, &walked).ok());
      CHECK(walked.shards[0].strategy == Strategy::kGraph);
      request.scanMode = ScanMode::kAlways;
      REQUIRE(Search(fixture.collection->GetReadSnapshot(), request, &scanned).ok());
      CHECK(walked.version.size() == 10 && scanned.version.size() == 10);
      std::set<std::pair<double, uint32_t>> truth;
      for (size_t i = 0; i < 10; i++) truth.emplace(scanned.version[i], scanned.chunk[i]);
      for (size_t i = 0; i < 10; i++) found += truth.count({walked.version[i], walked.chunk[i]});
    }
    CHECK(found >= 475);
  }
}

TEST("a search returns a status when its deadline passes or it is canceled") {
  Fixture fixture;
  fixture.Stage(1, 3000);
  REQUIRE(fixture.Commit(1, {}).ok());
  SearchRequest request;
  request.vector = fixture.cloud.Next();
  request.vectorCandidates = 10;
  SearchHits hits;
  request.cancellation.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(Search(fixture.collection->GetReadSnapshot(), request, &hits).code() == StatusCode::kDeadline);
  request.cancellation.deadline = std::chrono::steady_clock::time_point::max();
  request.cancellation.canceled = std::make_shared<std::atomic<bool>>(true);
  CHECK(Search(fixture.collection->GetReadSnapshot(), request, &hits).code() == StatusCode::kCanceled);
}

TEST("a closed collection rejects changes and writes no file, and finished searches stay valid") {
  Fixture fixture;
  fixture.Stage(1, 10);
  REQUIRE(fixture.Commit(1, {}).ok());
  const ReadSnapshot readSnapshot = fixture.collection->GetReadSnapshot();
  fixture.collection->Close();
  CHECK(test::Stage(fixture.collection, 0, fixture.Document(2, 1)).code() == StatusCode::kClosed);
  CHECK(fixture.Commit({}, 1).code() == StatusCode::kClosed);
  Collection::Snapshot snapshot;
  CHECK(fixture.collection->WriteSnapshots(&snapshot).code() == StatusCode::kClosed);
  CHECK(std::filesystem::is_empty(fixture.folder.path() + "/c"));
  CHECK(fixture.Search(readSnapshot).size() == 10);
}

}  // namespace
}  // namespace quarry
