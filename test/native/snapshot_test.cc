#include "engine/snapshot.h"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "check.h"
#include "engine/collection.h"
#include "samples.h"

namespace quarry {
namespace {

constexpr uint32_t kDimensions = 8;

std::shared_ptr<Collection> Open(const std::string& directory, uint32_t dimensions, uint32_t shards) {
  std::shared_ptr<Collection> collection;
  // No compactions here: a background that is always full.
  const Background full = [](const std::function<void()>&) { return false; };
  REQUIRE(Collection::Open({"test", dimensions, shards, directory}, full, &collection).ok());
  return collection;
}

// Documents of a few rows, some removed, one left staged.
void Fill(const std::shared_ptr<Collection>& collection, uint32_t shards, uint64_t documents) {
  test::Cloud cloud(kDimensions, 5, 11);
  test::Random random(11);
  for (uint64_t version = 1; version <= documents; version++) {
    std::vector<std::vector<float>> vectors;
    std::vector<test::RowTerms> terms;
    for (uint64_t row = 0; row < version % 4; row++) {
      vectors.push_back(cloud.Next());
      terms.push_back({{version % 7, {static_cast<uint16_t>(version), 0}}, {100 + version, {1, 3}}});
    }
    const auto input =
        test::MakeDocument(version, vectors, terms, {{"mod", {std::to_string(version % 3)}}, {"list:all", {"a", "b"}}});
    const auto shard = static_cast<uint32_t>(version % shards);
    REQUIRE(test::Stage(collection, shard, input).ok());
    if (version == documents) continue;
    REQUIRE(collection->Commit({version, shard, version, std::nullopt}).ok());
    if (version % 9 == 0) REQUIRE(collection->Commit({version, shard, std::nullopt, version}).ok());
  }
}

using Answer = std::vector<std::tuple<double, uint32_t, float, float>>;
Answer Ask(const std::shared_ptr<Collection>& collection, bool filtered) {
  SearchRequest request;
  request.vector = test::Cloud(kDimensions, 5, 12).Next();
  request.terms = {{3, 1, 0}, {104, 1, 1}};
  request.vectorCandidates = 1000;
  request.lexicalCandidates = 1000;
  if (filtered) {
    const auto bytes = test::StepBytes(FilterOperator::kNotEqual, "mod", {"1"});
    FilterProgram program;
    REQUIRE(FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
    request.filter = program;
  }
  SearchHits hits;
  REQUIRE(Search(collection->Now(), request, &hits).ok());
  Answer answer;
  for (size_t i = 0; i < hits.version.size(); i++) {
    answer.emplace_back(hits.version[i], hits.chunk[i], hits.similarity[i], hits.lexical[i]);
  }
  std::sort(answer.begin(), answer.end());
  return answer;
}

std::vector<char> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
void WriteFile(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST("a collection answers the same after its snapshot is loaded, and can go on") {
  for (const uint32_t shards : {1U, 8U}) {
    const test::TemporaryFolder folder;
    const std::string directory = folder.path() + "/c";
    auto collection = Open(directory, kDimensions, shards);
    CHECK(collection->opened()[0].state == ShardState::kFresh && collection->opened()[0].sequence == -1);
    Fill(collection, shards, 3000);
    Collection::Snapshot snapshot;
    REQUIRE(collection->WriteSnapshots(&snapshot).ok());
    CHECK(snapshot.sequence == 2999 && snapshot.bytes > 0);
    Collection::Snapshot again;
    REQUIRE(collection->WriteSnapshots(&again).ok());
    CHECK(again.sequence == 2999 && again.bytes == 0);
    const auto loaded = Open(directory, kDimensions, shards);
    for (const ShardOpening& opening : loaded->opened()) {
      CHECK(opening.state == ShardState::kLoaded && opening.sequence == 2999 && opening.reason.empty());
    }
    CHECK(Ask(loaded, false) == Ask(collection, false));
    CHECK(Ask(loaded, true) == Ask(collection, true));
    CHECK(loaded->Statistics().rows == collection->Statistics().rows);
    CHECK(loaded->Statistics().documents == collection->Statistics().documents);
    // What was only staged is not in a snapshot.
    CHECK(loaded->Commit({3000, 3000 % shards, 3000, std::nullopt}).code() == Code::kUnstaged);
    REQUIRE(loaded->Commit({3000, 1 % shards, std::nullopt, 1}).ok());
    CHECK(loaded->Statistics().documents == collection->Statistics().documents - 1);
  }
}

// The worked example of native/FORMAT.md: whoever changes the format changes both, and the format's number.
constexpr const char* kExample =
    "51595348415244310200000002000000"
    "00000000010000000500000000000000"
    "02000000010000002000000010000000"
    "10000000000000000406b1d800000000"
    "08000000000000007ce215c301000000"
    "10000000000000001e4342cb02000000"
    "0c000000000000009556564f03000000"
    "00000000000000000000000004000000"
    "1500000000000000dc530cf105000000"
    "380000000000000087a173cb06000000"
    "00000000fa3df68e0700000000000000"
    "02000000010000000200000001000000"
    "9a99193fcdcc4c3f0000803f00000000"
    "00010100000000010000000005000000"
    "636f6c6f720300000072656401000000"
    "000200000014405e3f00050100020000"
    "00efcdab896745230100000000000000"
    "00000000000100000001000000000000"
    "000000000000000000";

TEST("the bytes of a snapshot are those of the example in FORMAT.md") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  const auto collection = Open(directory, 2, 1);
  const std::vector<test::RowTerms> terms = {{{0x0123456789abcdef, {2, 1}}}, {{0x0123456789abcdef, {1, 0}}}};
  const auto input = test::MakeDocument(7, {{0.6F, 0.8F}, {1, 0}}, terms, {{"color", {"red"}}});
  REQUIRE(test::Stage(collection, 0, input).ok());
  REQUIRE(collection->Commit({5, 0, 7, std::nullopt}).ok());
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  std::string hex;
  for (const char byte : ReadFile(directory + "/shard-00.quarry")) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    hex += digits;
  }
  CHECK(hex == kExample);
}

TEST("a snapshot with any byte changed, cut off or added is reported as damaged") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  Fill(Open(directory, kDimensions, 1), 1, 1);
  {
    const auto collection = Open(directory, kDimensions, 1);
    Fill(collection, 1, 20);
    Collection::Snapshot snapshot;
    REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  }
  const std::string path = directory + "/shard-00.quarry";
  const std::vector<char> whole = ReadFile(path);
  REQUIRE(whole.size() > 1000);
  const auto read = [&] {
    std::shared_ptr<Shard> shard;
    int64_t sequence = 0;
    return ReadSnapshot(path, {kDimensions, 0, 1}, &shard, &sequence);
  };
  CHECK(read().ok());
  for (size_t i = 0; i < whole.size(); i++) {
    std::vector<char> damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    WriteFile(path, damaged);
    const Status status = read();
    CHECK(status.code() == Code::kDamaged && !status.message().empty());
  }
  for (size_t length = 0; length < whole.size(); length += 1 + length / 40) {
    WriteFile(path, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    CHECK(read().code() == Code::kDamaged);
  }
  std::vector<char> longer = whole;
  longer.push_back(0);
  WriteFile(path, longer);
  CHECK(read().code() == Code::kDamaged);
  const auto collection = Open(directory, kDimensions, 1);
  CHECK(collection->opened()[0].state == ShardState::kDamaged && collection->opened()[0].sequence == -1);
  CHECK(Ask(collection, false).empty());
}

TEST("a snapshot of other dimensions, another shard or another shard count is damaged, a missing one missing") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  auto collection = Open(directory, kDimensions, 8);
  Fill(collection, 8, 20);
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  CHECK(Open(directory, 16, 8)->opened()[0].state == ShardState::kDamaged);
  CHECK(Open(directory, kDimensions, 1)->opened()[0].state == ShardState::kDamaged);
  std::filesystem::rename(directory + "/shard-01.quarry", directory + "/shard-02.quarry");
  const auto opened = Open(directory, kDimensions, 8)->opened();
  CHECK(opened[0].state == ShardState::kLoaded);
  CHECK(opened[1].state == ShardState::kMissing);
  CHECK(opened[2].state == ShardState::kDamaged);
}

TEST("a snapshot holds what was committed when it began, whatever changes before it is written") {
  for (const uint32_t shards : {1U, 8U}) {
    const test::TemporaryFolder folder;
    const std::string directory = folder.path() + "/c";
    auto collection = Open(directory, kDimensions, shards);
    Fill(collection, shards, 400);
    const auto before = Ask(collection, false);
    const Collection::SnapshotMoment moment = collection->BeginSnapshot();
    for (uint64_t i = 0; i < 390; i++) {
      REQUIRE(collection->Commit({400 + i, static_cast<uint32_t>(i % shards), std::nullopt, i}).ok());
    }
    Collection::Snapshot snapshot;
    REQUIRE(collection->WriteSnapshots(moment, &snapshot).ok());
    CHECK(snapshot.sequence == 399);
    CHECK(Ask(Open(directory, kDimensions, shards), false) == before);
    Collection::Snapshot newer;
    REQUIRE(collection->WriteSnapshots(&newer).ok());
    CHECK(newer.sequence == 789);
    // Written late, an older moment takes nothing back.
    REQUIRE(collection->WriteSnapshots(moment, &snapshot).ok());
    CHECK(Ask(Open(directory, kDimensions, shards), false) == Ask(collection, false));
  }
}

TEST("a snapshot interrupted before its name leaves the one before in force and no rest behind") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  auto collection = Open(directory, kDimensions, 1);
  Fill(collection, 1, 20);
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  WriteFile(directory + "/shard-00.quarry.tmp7", {'x'});
  const auto again = Open(directory, kDimensions, 1);
  CHECK(again->opened()[0].state == ShardState::kLoaded && again->opened()[0].sequence == 19);
  CHECK(!std::filesystem::exists(directory + "/shard-00.quarry.tmp7"));
  REQUIRE(again->Drop().ok());
  CHECK(!std::filesystem::exists(directory));
}

}  // namespace
}  // namespace quarry
