#include "engine/search.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <numeric>

namespace quarry {
namespace {

using Clock = Patience::Clock;

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
class Spares {
 public:
  static Spares& Instance() {
    static Spares* const instance = new Spares();
    return *instance;
  }
  // Returns null if the pool is empty.
  CollectionSearch* Take() {
    const std::lock_guard lock(mutex_);
    if (spares_.empty()) return nullptr;
    CollectionSearch* const spare = spares_.back();
    spares_.pop_back();
    return spare;
  }
  // Returns false if the pool is full.
  bool Give(CollectionSearch* search) {
    const std::lock_guard lock(mutex_);
    if (spares_.size() == kSparesMax) return false;
    spares_.push_back(search);
    return true;
  }

 private:
  static constexpr size_t kSparesMax = 64;
  Spares() { spares_.reserve(kSparesMax); }
  std::mutex mutex_;
  std::vector<CollectionSearch*> spares_;  // guarded by mutex_
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
  CollectionSearch* search = Spares::Instance().Take();
  if (search == nullptr) search = new CollectionSearch();
  return std::shared_ptr<CollectionSearch>(search, [](CollectionSearch* ended) {
    if (!ended->Clear() || !Spares::Instance().Give(ended)) delete ended;
  });
}

bool CollectionSearch::Clear() {
  // Searches with many candidates hold much memory.
  constexpr uint32_t kCandidatesMax = 4096;
  if (request_.vectorCandidates > kCandidatesMax || request_.lexicalCandidates > kCandidatesMax) return false;
  for (Part& part : parts_) {
    part.lexical.reset();
    part.view.reset();
    part.best.clear();
    part.near.clear();
    part.ms = 0;
  }
  moment_ = {};
  request_.vector.clear();
  request_.terms.clear();
  request_.filter.reset();
  request_.effort = 0;
  request_.scanning = Scanning::kByCost;
  request_.patience = {};
  best_.clear();
  nearest_.clear();
  status_ = {};
  hits_.Clear();
  nextTicket_.store(0, std::memory_order_relaxed);
  endTicket_.store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  return true;
}

void CollectionSearch::Begin(Moment moment) {
  moment_ = std::move(moment);
  if (parts_.size() < ShardCount()) parts_.resize(ShardCount());
  cost_ = kWordCost * static_cast<float>(request_.terms.size() * ShardCount());
  for (size_t i = 0; i < ShardCount(); i++) {
    parts_[i].breadth = UsualBreadth();
    if (HasVector()) cost_ += NearCost(*(*moment_.shards)[i], request_, parts_[i].breadth);
  }
}

float CollectionSearch::CostMax() const {
  if (request_.terms.empty()) return cost_;
  return cost_ + static_cast<float>(PostingsMax()) * kPostingCost + static_cast<float>(ShardCount()) * kScoreCost;
}

uint64_t CollectionSearch::PostingsMax() const {
  // If counting would take too long, assume every word in every row.
  if (request_.terms.size() * ShardCount() > kCountedMax) return request_.terms.size() * moment_.rows;
  for (const auto& shard : *moment_.shards) {
    for (const QueryTerm& term : request_.terms) shard->postings().FetchSlot(term.hash);
  }
  uint64_t postings = 0;
  for (const auto& shard : *moment_.shards) {
    for (const QueryTerm& term : request_.terms) postings += shard->postings().Count(term.hash);
  }
  return postings;
}

CollectionSearch::Progress CollectionSearch::Start() {
  try {
    if (!request_.vector.empty()) query_.Set(request_.vector, moment_.shards->front()->codes().codec());
    groups_ = GroupTerms(request_.terms);
    shards_.resize(ShardCount());
    std::iota(shards_.begin(), shards_.end(), 0);
    return StartTurn(Turn::kFind);
  } catch (const std::bad_alloc&) {
    Fail({Code::kMemory, "there is no memory for this search"});
    return Progress::kDone;
  }
}

CollectionSearch::Progress CollectionSearch::Help() {
  auto start = Clock::now();
  for (Ticket ticket = 0; Take(&ticket);) {
    const uint32_t shard = shards_[ticket - firstTicket_];
    if (!failed_.load(std::memory_order_relaxed)) {
      if (Status status = Work(shard, start); !status.ok()) Fail(std::move(status));
    }
    const auto end = Clock::now();
    parts_[shard].ms += std::chrono::duration<float, std::milli>(end - start).count();
    start = end;
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) return Advance();
  }
  return Progress::kNothing;
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

Status CollectionSearch::Work(uint32_t shard, Patience::Clock::time_point now) {
  if (Status status = request_.patience.Check(now); !status.ok()) return status;
  try {
    Part& part = parts_[shard];
    switch (turn_) {
      case Turn::kFind: return Find(shard);
      case Turn::kWiden: return FindNear(*part.view, request_, query_, part.breadth, &part.proposed);
      case Turn::kScore: return part.lexical->Score(groups_, rarities_, &*floor_, &part.best, &part.near);
    }
  } catch (const std::bad_alloc&) {
    return {Code::kMemory, "there is no memory for this search"};
  }
  return {};
}

Status CollectionSearch::Find(uint32_t shard) {
  Part& part = parts_[shard];
  part.view.emplace(shard, moment_);
  if (Status status = part.view->Match(request_); !status.ok()) return status;
  part.proposed.Clear();
  if (HasVector()) {
    if (Status status = FindNear(*part.view, request_, query_, part.breadth, &part.proposed); !status.ok()) {
      return status;
    }
  }
  if (groups_.empty()) return {};
  part.lexical.emplace(*part.view, moment_, request_);
  return part.lexical->Count(groups_);
}

void CollectionSearch::Fail(Status status) {
  if (!failed_.exchange(true, std::memory_order_relaxed)) status_ = std::move(status);
}

CollectionSearch::Progress CollectionSearch::Advance() {
  if (failed_.load(std::memory_order_relaxed)) return Progress::kDone;
  try {
    if (NextTurn()) return Progress::kTurn;
    Merge();
    CheckVectors();
  } catch (const std::bad_alloc&) {
    Fail({Code::kMemory, "there is no memory for this search"});
  }
  return Progress::kDone;
}

bool CollectionSearch::NextTurn() {
  if (turn_ == Turn::kScore) return false;
  if (HasVector()) {
    ChooseNear();
    if (turn_ == Turn::kFind && ChooseWider()) {
      StartTurn(Turn::kWiden);
      return true;
    }
    for (const Scored& entry : nearest_) parts_[entry.shard].near.emplace_back(entry, 0.0F);
  }
  if (groups_.empty()) return false;
  Weigh();
  shards_.resize(ShardCount());
  std::iota(shards_.begin(), shards_.end(), 0);
  StartTurn(Turn::kScore);
  return true;
}

CollectionSearch::Progress CollectionSearch::StartTurn(Turn turn) {
  turn_ = turn;
  firstTicket_ = nextTicket_.load(std::memory_order_relaxed);
  const auto count = static_cast<Ticket>(shards_.size());
  unfinished_.store(count, std::memory_order_relaxed);
  endTicket_.store(static_cast<Ticket>(firstTicket_ + count), std::memory_order_release);
  return Progress::kTurn;
}

Breadth CollectionSearch::UsualBreadth() const {
  const uint32_t wanted = request_.vectorCandidates;
  // A filter lengthens the path through a graph by an unmeasured amount, so the conservative defaults apply.
  const Efforts efforts = request_.filter.has_value() ? DefaultEfforts(ShardCount()) : moment_.efforts;
  const uint32_t effort = request_.effort != 0 ? std::max(request_.effort, ShareOf(wanted, ShardCount()))
                                               : EffortFor(efforts, wanted, ShardCount());
  const uint32_t all = ProposedRows(wanted);
  return {effort, std::min(all, std::max(effort, ShareOf(all, ShardCount())))};
}

Breadth CollectionSearch::WidestBreadth() const {
  const uint32_t wanted = request_.vectorCandidates;
  return {std::max(2 * UsualBreadth().effort, wanted + wanted / 4), ProposedRows(wanted)};
}

void CollectionSearch::ChooseNear() {
  proposed_.clear();
  for (size_t i = 0; i < ShardCount(); i++) {
    const auto& rows = parts_[i].proposed.rows;
    proposed_.insert(proposed_.end(), rows.begin(), rows.end());
  }
  ChooseNearest(moment_, query_, request_.vectorCandidates, &proposed_, &nearest_);
}

bool CollectionSearch::ChooseWider() {
  if (ShardCount() == 1 || request_.effort != 0) return false;
  uint32_t chosen[kShardsMax] = {};
  for (const Scored& entry : nearest_) chosen[entry.shard]++;
  shards_.clear();
  cost_ = 0;
  for (uint32_t i = 0; i < ShardCount(); i++) {
    Part& part = parts_[i];
    const auto kept = static_cast<uint32_t>(part.proposed.rows.size());
    if (part.proposed.complete || chosen[i] * kFullDenominator <= kept * kFullNumerator) continue;
    part.breadth = WidestBreadth();
    cost_ += NearCost(part.view->shard(), request_, part.breadth);
    shards_.push_back(i);
  }
  return !shards_.empty();
}

void CollectionSearch::CheckVectors() {
  if (request_.vector.empty()) return;
  for (uint32_t i = 0; i < ShardCount(); i++) {
    if (!(*moment_.shards)[i]->VectorsLost()) continue;
    return Fail({Code::kDamaged, "the vectors of shard " + std::to_string(i) + " cannot be read from its file"});
  }
}

void CollectionSearch::Weigh() {
  rarities_.clear();
  cost_ = kScoreCost * static_cast<float>(ShardCount());
  for (size_t group = 0; group < groups_.size(); group++) {
    uint64_t with = 0;
    for (size_t i = 0; i < ShardCount(); i++) with += parts_[i].lexical->RowsWith(group);
    rarities_.push_back(Rarity(moment_.rows, with));
    cost_ += kPostingCost * static_cast<float>(with) + kWordCost * static_cast<float>(ShardCount());
  }
  floor_.emplace();
}

void CollectionSearch::Merge() {
  seen_.clear();
  const auto key = [](const Scored& entry) { return uint64_t{entry.shard} << 32 | entry.row; };
  for (size_t i = 0; i < ShardCount(); i++) {
    for (const auto& [entry, lexical] : parts_[i].near) {
      Add(entry, entry.score, lexical);
      seen_.push_back(key(entry));
    }
    best_.insert(best_.end(), parts_[i].best.begin(), parts_[i].best.end());
  }
  KeepBest(&best_, request_.lexicalCandidates);
  std::sort(seen_.begin(), seen_.end());
  const auto rest = std::remove_if(best_.begin(), best_.end(), [&](const Scored& entry) {
    return std::binary_search(seen_.begin(), seen_.end(), key(entry));
  });
  best_.erase(rest, best_.end());
  for (size_t i = 0; i < best_.size(); i++) {
    const auto shardOf = [&](const Scored& entry) -> const Shard& { return *(*moment_.shards)[entry.shard]; };
    if (i + 1 < best_.size() && !request_.vector.empty()) shardOf(best_[i + 1]).PrefetchVector(best_[i + 1].row);
    Add(best_[i], !request_.vector.empty() ? query_.Similarity(shardOf(best_[i]), best_[i].row) : 0, best_[i].score);
  }
  hits_.calibrated = moment_.efforts.calibrated && request_.effort == 0 && !request_.filter.has_value();
  uint32_t candidates[kShardsMax] = {};
  for (const uint16_t shard : hits_.shard) candidates[shard]++;
  for (uint32_t i = 0; i < ShardCount(); i++) {
    const NearRows& near = parts_[i].proposed;
    hits_.shards.push_back({i, near.strategy, near.effort, candidates[i], parts_[i].ms});
  }
}

void CollectionSearch::Add(const Scored& entry, float similarity, float lexical) {
  hits_.version.push_back(entry.version);
  hits_.chunk.push_back(entry.chunk);
  hits_.shard.push_back(static_cast<uint16_t>(entry.shard));
  hits_.similarity.push_back(similarity);
  hits_.lexical.push_back(lexical);
}

Status Search(const Moment& moment, const SearchRequest& request, SearchHits* hits) {
  const std::shared_ptr<CollectionSearch> search = CollectionSearch::New();
  search->request() = request;
  search->Begin(moment);
  search->Run();
  if (search->status().ok()) *hits = search->hits();
  return search->status();
}

}  // namespace quarry
