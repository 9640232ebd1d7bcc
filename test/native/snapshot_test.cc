#include "engine/snapshot.h"

#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "check.h"
#include "engine/collection.h"
#include "engine/file.h"
#include "engine/snapshot_layout.h"
#include "samples.h"
#include "snapshot_fixture.h"

namespace quarry {
namespace {

using test::Open;
using test::ReadFile;
using test::WriteFile;

constexpr uint32_t kDimensions = 8;

// Documents of a few rows, some removed, one left staged.
void Fill(const std::shared_ptr<Collection>& collection, uint32_t shards, uint64_t documents) {
  test::ClusteredVectors cloud(kDimensions, 5, 11);
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

using Results = std::vector<std::tuple<double, uint32_t, float, float>>;
Results SearchAll(const std::shared_ptr<Collection>& collection, bool filtered) {
  SearchRequest request;
  request.vector = test::ClusteredVectors(kDimensions, 5, 12).Next();
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
  REQUIRE(Search(collection->GetReadSnapshot(), request, &hits).ok());
  Results results;
  for (size_t i = 0; i < hits.version.size(); i++) {
    results.emplace_back(hits.version[i], hits.chunk[i], hits.similarity[i], hits.lexical[i]);
  }
  std::sort(results.begin(), results.end());
  return results;
}

TEST("a collection returns the same results after its snapshot is loaded, and accepts changes") {
  for (const uint32_t shards : {1U, 8U}) {
    const test::TemporaryFolder folder;
    const std::string directory = folder.path() + "/c";
    auto collection = Open(directory, kDimensions, shards);
    CHECK(collection->openResults()[0].state == ShardState::kFresh && collection->openResults()[0].sequence == -1);
    Fill(collection, shards, 3000);
    Collection::Snapshot snapshot;
    REQUIRE(collection->WriteSnapshots(&snapshot).ok());
    CHECK(snapshot.sequence == 2999 && snapshot.bytes > 0);
    Collection::Snapshot again;
    REQUIRE(collection->WriteSnapshots(&again).ok());
    CHECK(again.sequence == 2999 && again.bytes == 0);
    const auto loaded = Open(directory, kDimensions, shards);
    for (const ShardOpenResult& opening : loaded->openResults()) {
      CHECK(opening.state == ShardState::kLoaded && opening.sequence == 2999 && opening.reason.empty());
    }
    CHECK(SearchAll(loaded, false) == SearchAll(collection, false));
    CHECK(SearchAll(loaded, true) == SearchAll(collection, true));
    CHECK(loaded->Statistics().rows == collection->Statistics().rows);
    CHECK(loaded->Statistics().documents == collection->Statistics().documents);
    // A snapshot does not contain documents that are only staged.
    CHECK(loaded->Commit({3000, 3000 % shards, 3000, std::nullopt}).code() == StatusCode::kUnstaged);
    REQUIRE(loaded->Commit({3000, 1 % shards, std::nullopt, 1}).ok());
    CHECK(loaded->Statistics().documents == collection->Statistics().documents - 1);
  }
}

// The example of native/FORMAT.md: a change of the format must update both, and the format version.
struct Repeated {
  const char* hex;
  size_t times;
};
constexpr Repeated kExample[] = {{"5159534841524431050000000200000000000000010000000500000000000000"
                                  "0200000001000000200000001000000010000000010000004000000000000000"
                                  "200100000000000010000000000000000406b1d8000000003001000000000000"
                                  "08000000000000007ce215c30100000038010000000000000200000000000000"
                                  "d27761f1020000004001000000000000800000000000000016cc88ad03000000"
                                  "c00100000000000080000000000000000d2fc157040000004002000000000000"
                                  "00010000000000008bfc6e6d0500000040030000000000000000000000000000"
                                  "000000000600000040030000000000001500000000000000dc530cf107000000"
                                  "5803000000000000380000000000000087a173cb080000000000000030ad5b60"
                                  "0700000000000000020000000100000002000000010000000000000000000000"
                                  "9a99193fcdcc4c3f",
                                  1},
                                 {"00", 58},
                                 {"803f", 1},
                                 {"00", 60},
                                 {"fe6e", 1},
                                 {"80", 62},
                                 {"dada", 1},
                                 {"80", 62},
                                 {"02", 1},
                                 {"00", 127},
                                 {"01", 1},
                                 {"00", 127},
                                 {"05000000636f6c6f720300000072656401000000000000000200000014405e3f"
                                  "0005010002000000efcdab896745230100000000000000000000000001000000"
                                  "01000000000000000000000000000000",
                                  1}};

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
  std::string example;
  for (const Repeated& part : kExample) {
    for (size_t i = 0; i < part.times; i++) example += part.hex;
  }
  CHECK(hex == example);
}

TEST("a snapshot with any byte changed, removed or added is reported as damaged") {
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
  const std::vector<char> original = ReadFile(path);
  REQUIRE(original.size() > 1000);
  const auto read = [&] {
    std::shared_ptr<Shard> shard;
    int64_t sequence = 0;
    return ReadShardSnapshot(path, {kDimensions, 0, 1}, &shard, &sequence);
  };
  CHECK(read().ok());
  {
    // In place: writing the whole file for each byte would take most of the time of all tests of the engine.
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto write = [&](size_t i, char byte) {
      file.seekp(static_cast<std::streamoff>(i)).put(byte).flush();
      REQUIRE(file.good());
    };
    for (size_t i = 0; i < original.size(); i++) {
      write(i, static_cast<char>(original[i] ^ (1 << (i % 8))));
      const Status status = read();
      CHECK(status.code() == StatusCode::kDamaged && status.message().starts_with(path + " "));
      write(i, original[i]);
    }
    CHECK(read().ok());
  }
  for (size_t length = 0; length < original.size(); length += 1 + length / 40) {
    WriteFile(path, {original.begin(), original.begin() + static_cast<std::ptrdiff_t>(length)});
    const Status status = read();
    CHECK(status.code() == StatusCode::kDamaged && status.message().starts_with(path + " "));
  }
  std::vector<char> longer = original;
  longer.push_back(0);
  WriteFile(path, longer);
  CHECK(read().code() == StatusCode::kDamaged);
  const auto collection = Open(directory, kDimensions, 1);
  CHECK(collection->openResults()[0].state == ShardState::kDamaged && collection->openResults()[0].sequence == -1);
  CHECK(SearchAll(collection, false).empty());
}

TEST("the reason of a damaged snapshot names the section") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  const auto collection = Open(directory, kDimensions, 1);
  Fill(collection, 1, 600);
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  const std::string path = directory + "/shard-00.quarry";
  const std::vector<char> original = ReadFile(path);
  SnapshotHeader header;
  std::memcpy(&header, original.data(), sizeof header);
  for (const SectionEntry& section : header.sections) {
    REQUIRE(section.length > 0);
    std::vector<char> damaged = original;
    damaged[section.offset + section.length / 2] ^= 0x10;
    WriteFile(path, damaged);
    const auto opened = Open(directory, kDimensions, 1)->openResults();
    CHECK(opened[0].state == ShardState::kDamaged);
    CHECK(opened[0].reason.find(kSectionNames[section.kind]) != std::string::npos);
  }
}

TEST("a snapshot of an older or newer format is damaged, and the reason names both formats") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  Fill(Open(directory, kDimensions, 1), 1, 1);
  const std::string path = directory + "/shard-00.quarry";
  for (const uint32_t format : {1U, kSnapshotFormat - 1, kSnapshotFormat + 1}) {
    SnapshotHeader header{};
    header.magic = kSnapshotMagic;
    header.format = format;
    std::vector<char> bytes(4096);
    std::memcpy(bytes.data(), &header, sizeof header);
    WriteFile(path, bytes);
    const auto opened = Open(directory, kDimensions, 1)->openResults();
    CHECK(opened[0].state == ShardState::kDamaged);
    CHECK(opened[0].reason.find("format " + std::to_string(format)) != std::string::npos);
    CHECK(opened[0].reason.find("format " + std::to_string(kSnapshotFormat)) != std::string::npos);
  }
}

TEST("a snapshot of other dimensions, another shard or another shard count is damaged; a missing one is missing") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  auto collection = Open(directory, kDimensions, 8);
  Fill(collection, 8, 20);
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  CHECK(Open(directory, 16, 8)->openResults()[0].state == ShardState::kDamaged);
  CHECK(Open(directory, kDimensions, 1)->openResults()[0].state == ShardState::kDamaged);
  std::filesystem::rename(directory + "/shard-01.quarry", directory + "/shard-02.quarry");
  const auto opened = Open(directory, kDimensions, 8)->openResults();
  CHECK(opened[0].state == ShardState::kLoaded);
  CHECK(opened[1].state == ShardState::kMissing);
  CHECK(opened[2].state == ShardState::kDamaged);
}

TEST("a snapshot that the system cannot read is damaged, and the reason has the file and the system error") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  auto collection = Open(directory, kDimensions, 2);
  Fill(collection, 2, 20);
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  const std::string path = directory + "/shard-01.quarry";
  std::filesystem::remove(path);
  std::filesystem::create_symlink("shard-01.quarry", path);  // no user, not even root, can resolve it
  const auto loaded = Open(directory, kDimensions, 2);
  const auto& opened = loaded->openResults();
  CHECK(opened[0].state == ShardState::kLoaded);
  CHECK(opened[1].state == ShardState::kDamaged);
  CHECK(opened[1].reason == "open " + path + ": " + std::generic_category().message(ELOOP));
  // The next snapshot replaces the link.
  REQUIRE(loaded->WriteSnapshots(&snapshot).ok());
  CHECK(Open(directory, kDimensions, 2)->openResults()[1].state == ShardState::kLoaded);
}

TEST("a snapshot that cannot be opened for lack of descriptors is not reported as damaged") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  auto collection = Open(directory, kDimensions, 2);
  Fill(collection, 2, 20);
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  ReadableFile file;
  const Status status = file.Open(directory + "/shard-00.quarry");
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(status.code() == StatusCode::kIo);
  CHECK(status.message() == "open " + directory + "/shard-00.quarry: " + std::generic_category().message(EMFILE));
}

TEST("a snapshot holds the commits before its start, regardless of changes before it is written") {
  for (const uint32_t shards : {1U, 8U}) {
    const test::TemporaryFolder folder;
    const std::string directory = folder.path() + "/c";
    auto collection = Open(directory, kDimensions, shards);
    Fill(collection, shards, 400);
    const auto before = SearchAll(collection, false);
    const Collection::PendingSnapshot pending = collection->BeginSnapshot();
    for (uint64_t i = 0; i < 390; i++) {
      REQUIRE(collection->Commit({400 + i, static_cast<uint32_t>(i % shards), std::nullopt, i}).ok());
    }
    Collection::Snapshot snapshot;
    REQUIRE(collection->WriteSnapshots(pending, &snapshot).ok());
    CHECK(snapshot.sequence == 399);
    CHECK(SearchAll(Open(directory, kDimensions, shards), false) == before);
    Collection::Snapshot newer;
    REQUIRE(collection->WriteSnapshots(&newer).ok());
    CHECK(newer.sequence == 789);
    // Writing an older snapshot later must not revert newer changes.
    REQUIRE(collection->WriteSnapshots(pending, &snapshot).ok());
    CHECK(SearchAll(Open(directory, kDimensions, shards), false) == SearchAll(collection, false));
  }
}

TEST("a snapshot interrupted before the rename leaves the previous file valid and no temporary file") {
  const test::TemporaryFolder folder;
  const std::string directory = folder.path() + "/c";
  auto collection = Open(directory, kDimensions, 1);
  Fill(collection, 1, 20);
  Collection::Snapshot snapshot;
  REQUIRE(collection->WriteSnapshots(&snapshot).ok());
  WriteFile(directory + "/shard-00.quarry.tmp7", {'x'});
  const auto again = Open(directory, kDimensions, 1);
  CHECK(again->openResults()[0].state == ShardState::kLoaded && again->openResults()[0].sequence == 19);
  CHECK(!std::filesystem::exists(directory + "/shard-00.quarry.tmp7"));
  REQUIRE(again->Drop().ok());
  CHECK(!std::filesystem::exists(directory));
}

}  // namespace
}  // namespace quarry
