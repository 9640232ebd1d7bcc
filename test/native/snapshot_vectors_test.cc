// Vectors that are read from the file of a snapshot.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "engine/collection.h"
#include "engine/snapshot.h"
#include "samples.h"
#include "snapshot_fixture.h"

namespace quarry {
namespace {

using test::Open;
using test::ReadFile;
using test::WriteFile;

// Wide enough for the vectors of a thousand rows to be read from the file.
constexpr uint32_t kWide = 256;
constexpr uint32_t kWideRows = 16;  // of a document

std::shared_ptr<DocumentInput> WideDocument(uint64_t version) {
  test::ClusteredVectors cloud(kWide, 4, version);
  std::vector<std::vector<float>> vectors;
  for (uint32_t row = 0; row < kWideRows; row++) vectors.push_back(cloud.Next());
  return test::MakeDocument(version, vectors, std::vector<test::RowTerms>(kWideRows, test::RowTerms{{1, {1, 0}}}), {});
}

void AddWide(const std::shared_ptr<Collection>& collection, uint64_t first, uint64_t last) {
  for (uint64_t version = first; version <= last; version++) {
    REQUIRE(test::Stage(collection, 0, WideDocument(version)).ok());
    REQUIRE(collection->Commit({version, 0, version, std::nullopt}).ok());
  }
}

// Checks that the exact vectors of documents 1 to `last` are those added.
void CheckWide(const ReadSnapshot& readSnapshot, uint64_t last) {
  const Shard& shard = *(*readSnapshot.shards)[0];
  for (uint64_t version = 1; version <= last; version++) {
    const auto input = WideDocument(version);
    const DocumentSlot& document = shard.Document(static_cast<uint32_t>(version - 1));
    REQUIRE(document.version == version);
    for (uint32_t row = 0; row < kWideRows; row++) {
      const float* const expected = &input->vectors[size_t{row} * kWide];
      CHECK(std::equal(expected, expected + kWide, shard.Vector(document.firstRow + row)));
    }
  }
}

TEST("after a snapshot, vectors are read from its file, which may be replaced and deleted") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  auto collection = Open(directory, kWide, 1);
  constexpr size_t kRowBytes = kWide * sizeof(float);
  // Only original pages are read from the file.
  const auto inFile = [](size_t rows) { return rows * kRowBytes / FilePageBytes() * FilePageBytes(); };
  AddWide(collection, 1, 100);
  CHECK(collection->Statistics().memory.vectorsInFile == 0);
  CHECK(collection->Statistics().memory.vectorsInMemory == 1600 * kRowBytes);
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  CHECK(collection->Statistics().memory.vectorsInFile == inFile(1600));
  CHECK(collection->Statistics().memory.vectorsInMemory == 1600 * kRowBytes - inFile(1600));
  CheckWide(collection->GetReadSnapshot(), 100);
  AddWide(collection, 101, 260);
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  CHECK(collection->Statistics().memory.vectorsInFile == inFile(4160));
  CheckWide(collection->GetReadSnapshot(), 260);

  const auto loaded = Open(directory, kWide, 1);
  CHECK(loaded->openResults()[0].state == ShardState::kLoaded);
  CHECK(loaded->Statistics().memory.vectorsInFile == inFile(4160));
  CheckWide(loaded->GetReadSnapshot(), 260);
  AddWide(loaded, 261, 300);
  CheckWide(loaded->GetReadSnapshot(), 300);
  REQUIRE(loaded->WriteSnapshots(&snapshot).ok());
  const ReadSnapshot readSnapshot = loaded->GetReadSnapshot();
  REQUIRE(loaded->Drop().ok());
  CheckWide(readSnapshot, 300);
  CheckWide(collection->GetReadSnapshot(), 260);
}

CONCURRENT_TEST("a file that is truncated while in use fails searches and snapshots, and the process continues") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  const std::string path = directory + "/shard-00.quarry";
  auto collection = Open(directory, kWide, 1);
  AddWide(collection, 1, 260);
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  const std::vector<char> original = ReadFile(path);
  CheckWide(collection->GetReadSnapshot(), 260);
  std::filesystem::resize_file(path, 4096);
  SearchRequest request;
  request.vector = test::ClusteredVectors(kWide, 5, 1).Next();
  request.vectorCandidates = 100;
  SearchHits hits;
  const Status failed = Search(collection->GetReadSnapshot(), request, &hits);
  CHECK(failed.code() == StatusCode::kDamaged && failed.message().find("shard 0") != std::string::npos);
  // Other threads that read the same rows also survive.
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&collection, &request] {
      SearchHits none;
      CHECK(Search(collection->GetReadSnapshot(), request, &none).code() == StatusCode::kDamaged);
    });
  }
  for (std::thread& thread : threads) thread.join();
  // The zeros in place of unreadable pages must never be written to a file.
  AddWide(collection, 261, 262);
  CHECK(collection->WriteSnapshots(&snapshot).code() == StatusCode::kDamaged);
  CHECK(ReadFile(path).size() == 4096);
  // A lexical search needs no vectors.
  SearchRequest words;
  words.terms = {{3, 1, 0}};
  words.lexicalCandidates = 10;
  CHECK(Search(collection->GetReadSnapshot(), words, &hits).ok());
  WriteFile(path, original);
  CHECK(Open(directory, kWide, 1)->openResults()[0].state == ShardState::kLoaded);
}

TEST("an unreadable file that grows again does not affect other mappings") {
  const test::TemporaryFolder folder;
  const std::string one = folder.path() + "/1";
  const std::string two = folder.path() + "/2";
  auto first = Open(one, kWide, 1);
  auto second = Open(two, kWide, 1);
  AddWide(first, 1, 130);
  AddWide(second, 1, 130);
  Collection::Snapshot snapshot;
  REQUIRE(first->WriteSnapshots(&snapshot).ok());
  REQUIRE(second->WriteSnapshots(&snapshot).ok());
  std::filesystem::resize_file(one + "/shard-00.quarry", 4096);
  SearchRequest request;
  request.vector = test::ClusteredVectors(kWide, 5, 1).Next();
  request.vectorCandidates = 100;
  SearchHits hits;
  CHECK(Search(first->GetReadSnapshot(), request, &hits).code() == StatusCode::kDamaged);
  CheckWide(second->GetReadSnapshot(), 130);
}

CONCURRENT_TEST("searches return correct results while vectors move to the file and rows are added") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  auto collection = Open(directory, kWide, 1);
  AddWide(collection, 1, 70);
  std::atomic<bool> stop{false};
  std::atomic<size_t> searches{0};
  std::vector<std::thread> searchers;
  for (uint64_t seed = 0; seed < 2; seed++) {
    searchers.emplace_back([&, seed] {
      for (uint64_t round = seed; !stop; round++) {
        const uint64_t version = 1 + round % 70;
        SearchRequest request;
        const auto vectors = WideDocument(version)->vectors;
        request.vector.assign(vectors.begin(), vectors.begin() + kWide);
        request.vectorCandidates = 20;
        SearchHits hits;
        REQUIRE(Search(collection->GetReadSnapshot(), request, &hits).ok());
        CHECK(std::find(hits.version.begin(), hits.version.end(), static_cast<double>(version)) != hits.version.end());
        CHECK(*std::max_element(hits.similarity.begin(), hits.similarity.end()) > 0.9999F);
        searches++;
      }
    });
  }
  for (uint64_t round = 0; round < 6; round++) {
    AddWide(collection, 71 + round * 20, 90 + round * 20);
    Collection::Snapshot snapshot;
    REQUIRE(collection->WriteSnapshots(&snapshot).ok());
    const size_t before = searches;
    while (searches < before + 4) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& searcher : searchers) searcher.join();
  CHECK(collection->Statistics().memory.vectorsInFile > 0);
  CheckWide(collection->GetReadSnapshot(), 190);
}

TEST("a compacted shard is written even without changes") {
  const test::TemporaryFolder folder;
  test::ManualScheduler background;
  std::shared_ptr<Collection> collection;
  const CollectionOptions options{"test", kWide, 1, folder.path() + "/c"};
  REQUIRE(Collection::Open(options, background.Function(), &collection).ok());
  AddWide(collection, 1, 100);
  for (uint64_t version = 1; version <= 30; version++) {
    REQUIRE(collection->Commit({100 + version, 0, std::nullopt, version}).ok());
  }
  Collection::Snapshot first;
  REQUIRE(collection->WriteSnapshots(&first).ok());
  CHECK(collection->Statistics().compactions == 0);
  REQUIRE(background.RunAll() == 1);
  CHECK(collection->Statistics().compactions == 1);
  CHECK(collection->Statistics().deadRows == 0);
  Collection::Snapshot second;
  REQUIRE(collection->WriteSnapshots(&second).ok());
  CHECK(second.sequence == first.sequence && second.bytes > 0 && second.bytes < first.bytes);
  CHECK(collection->Statistics().memory.vectorsInFile > 0);
  Collection::Snapshot third;
  REQUIRE(collection->WriteSnapshots(&third).ok());
  CHECK(third.bytes == 0);
  const auto loaded = Open(options.directory, kWide, 1);
  CHECK(loaded->Statistics().rows == 70 * kWideRows && loaded->Statistics().deadRows == 0);
}

}  // namespace
}  // namespace quarry
