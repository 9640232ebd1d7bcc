#include "engine/search.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <numeric>
#include <utility>

#include "engine/bm25.h"
#include "engine/mutex.h"

namespace quarry {
namespace {

using Clock = CancellationToken::Clock;

// If more than three quarters of the rows a shard kept are among the nearest, the shard may contain more of them.
constexpr uint32_t kFullNumerator = 3;
constexpr uint32_t kFullDenominator = 4;

// Measured costs in microseconds: a term lookup in a shard, a posting, a shard's lexical phase.
constexpr float kWordCost = 0.5F;
constexpr float kPostingCost = 0.001F;
constexpr float kScoreCost = 2;
// Maximum number of lists counted to estimate the cost of a search.
constexpr size_t kCountedMax = 64;

// Pool of finished searches, reused with their working memory.
class CollectionSearchPool {
 public:
  static CollectionSearchPool& Instance() {
    static CollectionSearchPool* const instance = new CollectionSearchPool();
    return *instance;
  }
  // Returns null if the pool is empty.
  CollectionSearch* Take() {
    const MutexLock lock(mutex_);
    if (searches_.empty()) return nullptr;
    CollectionSearch* const search = searches_.back();
    searches_.pop_back();
    return search;
  }
  // Returns false if the pool is full.
  bool Put(CollectionSearch* search) {
    const MutexLock lock(mutex_);
    if (searches_.size() == kPooledMax) return false;
    searches_.push_back(search);
    return true;
  }

 private:
  static constexpr size_t kPooledMax = 64;
  CollectionSearchPool() { searches_.reserve(kPooledMax); }
  Mutex mutex_;
  std::vector<CollectionSearch*> searches_ GUARDED_BY(mutex_);
};

}  // namespace

void SearchHits::Clear() {
  version.clear();
  chunk.clear();
  shard.clear();
  similarity.clear();
  lexical.clear();
  shards.clear();
  calibrated = false;
}

std::shared_ptr<CollectionSearch> CollectionSearch::New() {
  CollectionSearch* search = CollectionSearchPool::Instance().Take();
  if (search == nullptr) search = new CollectionSearch();
  return std::shared_ptr<CollectionSearch>(search, [](CollectionSearch* ended) {
    if (!ended->Clear() || !CollectionSearchPool::Instance().Put(ended)) delete ended;
  });
}

bool CollectionSearch::Clear() {
  // Searches with many candidates hold much memory.
  constexpr uint32_t kCandidatesMax = 4096;
  if (request_.vectorCandidates > kCandidatesMax || request_.lexicalCandidates > kCandidatesMax) return false;
  for (ShardWork& work : shardWork_) {
    work.lexical.reset();
    work.view.reset();
    work.best.clear();
    work.near.clear();
    work.ms = 0;
  }
  readSnapshot_ = {};
  request_.vector.clear();
  request_.terms.clear();
  request_.filter.reset();
  request_.ef = 0;
  request_.scanMode = ScanMode::kAuto;
  request_.postingScanMode = ScanMode::kAuto;
  request_.cancellation = {};
  best_.clear();
  nearest_.clear();
  status_ = {};
  hits_.Clear();
  nextTicket_.store(0, std::memory_order_relaxed);
  endTicket_.store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  return true;
}

void CollectionSearch::Begin(ReadSnapshot readSnapshot) {
  readSnapshot_ = std::move(readSnapshot);
  if (shardWork_.size() < ShardCount()) shardWork_.resize(ShardCount());
  cost_ = kWordCost * static_cast<float>(request_.terms.size() * ShardCount());
  for (size_t i = 0; i < ShardCount(); i++) {
    shardWork_[i].breadth = DefaultBreadth();
    if (HasVector()) cost_ += NeighborSearchCost(*(*readSnapshot_.shards)[i], request_, shardWork_[i].breadth);
  }
}

float CollectionSearch::CostMax() const {
  if (request_.terms.empty()) return cost_;
  return cost_ + static_cast<float>(PostingsMax()) * kPostingCost + static_cast<float>(ShardCount()) * kScoreCost;
}

uint64_t CollectionSearch::PostingsMax() const {
  // If counting would take too long, assume every word in every row.
  if (request_.terms.size() * ShardCount() > kCountedMax) return request_.terms.size() * readSnapshot_.rows;
  for (const auto& shard : *readSnapshot_.shards) {
    for (const QueryTerm& term : request_.terms) shard->postings().PrefetchSlot(term.hash);
  }
  uint64_t postings = 0;
  for (const auto& shard : *readSnapshot_.shards) {
    for (const QueryTerm& term : request_.terms) postings += shard->postings().Count(term.hash);
  }
  return postings;
}

CollectionSearch::Progress CollectionSearch::Start() {
  try {
    if (!request_.vector.empty()) query_.Set(request_.vector, readSnapshot_.shards->front()->codes().codec());
    groups_ = GroupTerms(request_.terms);
    shards_.resize(ShardCount());
    std::iota(shards_.begin(), shards_.end(), 0);
    return StartPhase(Phase::kFind);
  } catch (const std::bad_alloc&) {
    Fail({StatusCode::kMemory, "out of memory during the search"});
    return Progress::kDone;
  }
}

CollectionSearch::Progress CollectionSearch::Help() {
  auto start = Clock::now();
  for (Ticket ticket = 0; Take(&ticket);) {
    const uint32_t shard = shards_[ticket - firstTicket_];
    if (!failed_.load(std::memory_order_relaxed)) {
      if (Status status = RunShard(shard, start); !status.ok()) Fail(std::move(status));
    }
    const auto end = Clock::now();
    shardWork_[shard].ms += std::chrono::duration<float, std::milli>(end - start).count();
    start = end;
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) return Advance();
  }
  return Progress::kIdle;
}

void CollectionSearch::Run() {
  for (Progress progress = Start(); progress != Progress::kDone; progress = Help()) {
  }
}

bool CollectionSearch::Take(Ticket* ticket) {
  Ticket next = nextTicket_.load(std::memory_order_relaxed);
  while (next < endTicket_.load(std::memory_order_acquire)) {
    if (nextTicket_.compare_exchange_weak(next, static_cast<Ticket>(next + 1), std::memory_order_relaxed)) {
      *ticket = next;
      return true;
    }
  }
  return false;
}

Status CollectionSearch::RunShard(uint32_t shard, CancellationToken::Clock::time_point now) {
  if (Status status = request_.cancellation.Check(now); !status.ok()) return status;
  try {
    ShardWork& work = shardWork_[shard];
    switch (phase_) {
      case Phase::kFind: return Find(shard);
      case Phase::kWiden: return FindNeighbors(*work.view, request_, query_, work.breadth, &work.proposed);
      case Phase::kScore: return work.lexical->Score(groups_, idfs_, &*floor_, &work.best, &work.near);
    }
  } catch (const std::bad_alloc&) {
    return {StatusCode::kMemory, "out of memory during the search"};
  }
  return {};
}

Status CollectionSearch::Find(uint32_t shard) {
  ShardWork& work = shardWork_[shard];
  work.view.emplace(shard, readSnapshot_);
  if (Status status = work.view->EvaluateFilter(request_); !status.ok()) return status;
  work.proposed.Clear();
  if (HasVector()) {
    if (Status status = FindNeighbors(*work.view, request_, query_, work.breadth, &work.proposed); !status.ok()) {
      return status;
    }
  }
  if (groups_.empty()) return {};
  work.lexical.emplace(*work.view, readSnapshot_, request_);
  return work.lexical->Count(groups_);
}

void CollectionSearch::Fail(Status status) {
  if (!failed_.exchange(true, std::memory_order_relaxed)) status_ = std::move(status);
}

CollectionSearch::Progress CollectionSearch::Advance() {
  if (failed_.load(std::memory_order_relaxed)) return Progress::kDone;
  try {
    if (NextPhase()) return Progress::kPhaseStarted;
    Merge();
    CheckVectors();
  } catch (const std::bad_alloc&) {
    Fail({StatusCode::kMemory, "out of memory during the search"});
  }
  return Progress::kDone;
}

bool CollectionSearch::NextPhase() {
  if (phase_ == Phase::kScore) return false;
  if (HasVector()) {
    SelectNearest();
    if (phase_ == Phase::kFind && SelectWiderShards()) {
      StartPhase(Phase::kWiden);
      return true;
    }
    for (const ScoredChunk& entry : nearest_) shardWork_[entry.shard].near.emplace_back(entry, 0.0F);
  }
  if (groups_.empty()) return false;
  ComputeIdfs();
  shards_.resize(ShardCount());
  std::iota(shards_.begin(), shards_.end(), 0);
  StartPhase(Phase::kScore);
  return true;
}

CollectionSearch::Progress CollectionSearch::StartPhase(Phase phase) {
  phase_ = phase;
  firstTicket_ = nextTicket_.load(std::memory_order_relaxed);
  const auto count = static_cast<Ticket>(shards_.size());
  unfinished_.store(count, std::memory_order_relaxed);
  endTicket_.store(static_cast<Ticket>(firstTicket_ + count), std::memory_order_release);
  return Progress::kPhaseStarted;
}

SearchBreadth CollectionSearch::DefaultBreadth() const {
  const uint32_t topK = request_.vectorCandidates;
  // A filter lengthens the path through a graph by an unmeasured amount, so the conservative defaults apply.
  const EfValues efValues = request_.filter.has_value() ? DefaultEfValues(ShardCount()) : readSnapshot_.efValues;
  const uint32_t ef = request_.ef != 0 ? std::max(request_.ef, RowsPerShardMax(topK, ShardCount()))
                                       : EfFor(efValues, topK, ShardCount());
  const uint32_t all = ProposedRows(topK);
  return {ef, std::min(all, std::max(ef, RowsPerShardMax(all, ShardCount())))};
}

SearchBreadth CollectionSearch::WidestBreadth() const {
  const uint32_t topK = request_.vectorCandidates;
  return {std::max(2 * DefaultBreadth().ef, topK + topK / 4), ProposedRows(topK)};
}

void CollectionSearch::SelectNearest() {
  proposed_.clear();
  for (size_t i = 0; i < ShardCount(); i++) {
    const auto& rows = shardWork_[i].proposed.rows;
    proposed_.insert(proposed_.end(), rows.begin(), rows.end());
  }
  RescoreNearest(readSnapshot_, query_, request_.vectorCandidates, &proposed_, &nearest_);
}

bool CollectionSearch::SelectWiderShards() {
  if (ShardCount() == 1 || request_.ef != 0) return false;
  uint32_t chosen[kShardsMax] = {};
  for (const ScoredChunk& entry : nearest_) chosen[entry.shard]++;
  shards_.clear();
  cost_ = 0;
  for (uint32_t i = 0; i < ShardCount(); i++) {
    ShardWork& work = shardWork_[i];
    const auto kept = static_cast<uint32_t>(work.proposed.rows.size());
    if (work.proposed.complete || chosen[i] * kFullDenominator <= kept * kFullNumerator) continue;
    work.breadth = WidestBreadth();
    cost_ += NeighborSearchCost(work.view->shard(), request_, work.breadth);
    shards_.push_back(i);
  }
  return !shards_.empty();
}

void CollectionSearch::CheckVectors() {
  if (request_.vector.empty()) return;
  for (uint32_t i = 0; i < ShardCount(); i++) {
    if (!(*readSnapshot_.shards)[i]->HasVectorReadFailed()) continue;
    return Fail(
        {StatusCode::kDamaged, "the vectors of shard " + std::to_string(i) + " cannot be read from their file"});
  }
}

void CollectionSearch::ComputeIdfs() {
  idfs_.clear();
  cost_ = kScoreCost * static_cast<float>(ShardCount());
  for (size_t group = 0; group < groups_.size(); group++) {
    uint64_t with = 0;
    for (size_t i = 0; i < ShardCount(); i++) with += shardWork_[i].lexical->RowsWith(group);
    idfs_.push_back(Idf(readSnapshot_.rows, with));
    cost_ += kPostingCost * static_cast<float>(with) + kWordCost * static_cast<float>(ShardCount());
  }
  floor_.emplace();
}

void CollectionSearch::Merge() {
  seen_.clear();
  const auto key = [](const ScoredChunk& entry) { return uint64_t{entry.shard} << 32 | entry.row; };
  for (size_t i = 0; i < ShardCount(); i++) {
    for (const auto& [entry, lexical] : shardWork_[i].near) {
      Add(entry, entry.score, lexical);
      seen_.push_back(key(entry));
    }
    best_.insert(best_.end(), shardWork_[i].best.begin(), shardWork_[i].best.end());
  }
  KeepBest(&best_, request_.lexicalCandidates);
  std::sort(seen_.begin(), seen_.end());
  const auto rest = std::remove_if(best_.begin(), best_.end(), [&](const ScoredChunk& entry) {
    return std::binary_search(seen_.begin(), seen_.end(), key(entry));
  });
  best_.erase(rest, best_.end());
  for (size_t i = 0; i < best_.size(); i++) {
    const auto shardOf = [&](const ScoredChunk& entry) -> const Shard& {
      return *(*readSnapshot_.shards)[entry.shard];
    };
    if (i + 1 < best_.size() && !request_.vector.empty()) shardOf(best_[i + 1]).PrefetchVector(best_[i + 1].row);
    Add(best_[i], !request_.vector.empty() ? query_.Similarity(shardOf(best_[i]), best_[i].row) : 0, best_[i].score);
  }
  hits_.calibrated = readSnapshot_.efValues.calibrated && request_.ef == 0 && !request_.filter.has_value();
  uint32_t candidates[kShardsMax] = {};
  for (const uint16_t shard : hits_.shard) candidates[shard]++;
  for (uint32_t i = 0; i < ShardCount(); i++) {
    const ShardNeighbors& near = shardWork_[i].proposed;
    hits_.shards.push_back({i, near.strategy, near.ef, candidates[i], shardWork_[i].ms});
  }
}

void CollectionSearch::Add(const ScoredChunk& entry, float similarity, float lexical) {
  hits_.version.push_back(entry.version);
  hits_.chunk.push_back(entry.chunk);
  hits_.shard.push_back(static_cast<uint16_t>(entry.shard));
  hits_.similarity.push_back(similarity);
  hits_.lexical.push_back(lexical);
}

Status Search(const ReadSnapshot& readSnapshot, const SearchRequest& request, SearchHits* hits) {
  const std::shared_ptr<CollectionSearch> search = CollectionSearch::New();
  search->request() = request;
  search->Begin(readSnapshot);
  search->Run();
  if (search->status().ok()) *hits = search->hits();
  return search->status();
}

}  // namespace quarry
