// Runs all operations concurrently; intended for the sanitizers.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "engine/calibration.h"
#include "engine/collection.h"
#include "engine/registry.h"
#include "engine/version_list.h"
#include "samples.h"

namespace quarry {
namespace {

using test::Random;
using test::RandomBelow;

constexpr uint32_t kDimensions = 16;
constexpr uint32_t kShards = 2;
constexpr uint32_t kPaths = 60;  // documents; each is overwritten repeatedly

// All rows of a document carry its path and version, so that mixed results are detected.
class Load {
 public:
  Load() {
    const BackgroundScheduler background = [this](std::function<void()> job) {
      const std::lock_guard lock(backgroundMutex_);
      jobs_.push_back(std::move(job));
      return true;
    };
    REQUIRE(Collection::Open({"load", kDimensions, kShards, folder_.path() + "/c"}, background, &collection_).ok());
  }

  void Run(std::chrono::milliseconds duration) {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 2; i++) threads.emplace_back([this, i] { Write(i); });
    for (uint64_t i = 0; i < 2; i++) threads.emplace_back([this, i] { Search(100 + i); });
    threads.emplace_back([this] { Maintain(); });
    std::this_thread::sleep_for(duration);
    stop_ = true;
    for (auto& thread : threads) thread.join();
    CHECK(searches_ > 0 && commits_ > 0);
    CHECK(CountVersions(collection_->GetReadSnapshot(), nullptr) == present_.size());
    collection_->Close();
    RunJobs();
    std::printf("# %zu commits, %zu searches, %zu compactions, %zu snapshots\n", commits_.load(), searches_.load(),
                compactions_.load(), snapshots_.load());
  }

 private:
  // Writer i owns the paths congruent to i modulo 2, because only one job writes a document at a time.
  void Write(uint64_t number) {
    Random random(number);
    test::ClusteredVectors cloud(kDimensions, 8, number);
    std::vector<uint64_t> current(kPaths, 0);
    while (!stop_) {
      const uint32_t path = RandomBelow(&random, kPaths / 2) * 2 + static_cast<uint32_t>(number);
      const uint32_t shard = path % 4 < 2 ? 0 : 1;
      const uint64_t version = ++versions_ * 1000 + path;
      const uint32_t rows = 1 + RandomBelow(&random, 12);
      std::vector<std::vector<float>> vectors;
      for (uint32_t i = 0; i < rows; i++) vectors.push_back(cloud.Next());
      const std::vector<test::RowTerms> terms(rows, test::RowTerms{{1, {1, 0}}, {1000 + path, {2, 0}}});
      const auto input = test::MakeDocument(version, vectors, terms,
                                            {{"path", {std::to_string(path)}}, {"list:rows", {std::to_string(rows)}}});
      Status staged = test::Stage(collection_, shard, input);
      // A compaction must run first. The compacting thread stops with `stop_`, so a writer must not wait after that.
      for (; staged.code() == StatusCode::kBusy && !stop_; staged = test::Stage(collection_, shard, input)) {
        std::this_thread::yield();
      }
      if (staged.code() == StatusCode::kBusy) break;
      CHECK(staged.ok());
      const uint32_t choice = RandomBelow(&random, 10);
      if (choice == 0) {
        CHECK(collection_->Discard(shard, version).ok());
        continue;
      }
      const std::lock_guard lock(commitMutex_);
      const std::optional<uint64_t> old = current[path] == 0 ? std::nullopt : std::optional(current[path]);
      const std::optional<uint64_t> added = choice == 1 ? std::nullopt : std::optional(version);
      CHECK(collection_->Commit({++sequence_, shard, added, old}).ok());
      if (!added.has_value()) CHECK(collection_->Discard(shard, version).ok());
      if (old.has_value()) present_.erase(*old);
      if (added.has_value()) present_.insert(version);
      current[path] = added.value_or(0);
      commits_++;
    }
  }

  void Search(uint64_t seed) {
    Random random(seed);
    test::ClusteredVectors cloud(kDimensions, 8, seed);
    while (!stop_) {
      const ReadSnapshot readSnapshot = collection_->GetReadSnapshot();
      SearchRequest request;
      request.vector = cloud.Next();
      request.terms = {{1, 1, 0}, {1000 + RandomBelow(&random, kPaths), 1, 1}};
      request.vectorCandidates = 1 + RandomBelow(&random, 5000);
      request.lexicalCandidates = RandomBelow(&random, 50);
      // The shards are small enough to be scanned always; this forces the use of their graphs.
      if (RandomBelow(&random, 2) == 0) {
        request.scanMode = ScanMode::kNever;
        request.vectorCandidates = 1 + RandomBelow(&random, 20);
      }
      if (RandomBelow(&random, 2) == 0) {
        const auto bytes = test::StepBytes(FilterOperator::kGreater, "path", {"3"});
        FilterProgram program;
        REQUIRE(FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
        request.filter = program;
      }
      const SearchHits hits = Find(readSnapshot, request, RandomBelow(&random, 2) == 0);
      std::map<uint64_t, uint64_t> versionOf;
      for (const double hit : hits.version) {
        const auto version = static_cast<uint64_t>(hit);
        const auto [known, fresh] = versionOf.emplace(version % 1000, version);
        CHECK(fresh || known->second == version);  // no result mixes two versions of a path
      }
      std::vector<double> listed;
      CHECK(ListVersions(readSnapshot, nullptr, CancellationToken(), 1000, &listed).ok());
      CHECK(listed.size() <= kPaths);
      searches_++;
    }
  }

  // Searches on this thread alone, or together with idle threads of the pool.
  static SearchHits Find(const ReadSnapshot& readSnapshot, const SearchRequest& request, bool alone) {
    SearchHits hits;
    if (alone) {
      CHECK(quarry::Search(readSnapshot, request, &hits).ok());
      return hits;
    }
    const auto search = CollectionSearch::New();
    search->request() = request;
    search->Begin(readSnapshot);
    const auto ended = std::make_shared<std::promise<Status>>();
    REQUIRE(Registry::Instance().Search(search, [ended](Status status) { ended->set_value(std::move(status)); }).ok());
    CHECK(ended->get_future().get().ok());
    return search->hits();
  }

  void Maintain() {
    while (!stop_) {
      Calibration(collection_, 0.9).Step();
      compactions_ += RunJobs();
      Collection::Snapshot snapshot;
      CHECK(collection_->WriteSnapshots(&snapshot).ok());
      snapshots_++;
      CHECK(collection_->Statistics().documents <= kPaths);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  size_t RunJobs() {
    std::deque<std::function<void()>> jobs;
    {
      const std::lock_guard lock(backgroundMutex_);
      jobs.swap(jobs_);
    }
    for (const auto& job : jobs) job();
    return jobs.size();
  }

  const test::TemporaryFolder folder_;
  std::shared_ptr<Collection> collection_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> versions_{0};
  std::atomic<size_t> commits_{0};
  std::atomic<size_t> searches_{0};
  std::atomic<size_t> compactions_{0};
  std::atomic<size_t> snapshots_{0};
  std::mutex commitMutex_;
  uint64_t sequence_ = 0;       // guarded by commitMutex_
  std::set<uint64_t> present_;  // guarded by commitMutex_
  std::mutex backgroundMutex_;
  std::deque<std::function<void()>> jobs_;  // guarded by backgroundMutex_
};

CONCURRENT_TEST("searches stay consistent while documents are written, removed, compacted and snapshotted") {
  const char* seconds = std::getenv("QUARRY_LOAD_SECONDS");
  Load().Run(std::chrono::milliseconds(seconds == nullptr ? 2000 : std::atoi(seconds) * 1000));
}

}  // namespace
}  // namespace quarry
