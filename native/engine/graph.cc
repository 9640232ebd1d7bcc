#include "engine/graph.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "engine/splitmix64.h"

namespace quarry {
namespace {

// Orders nearest first. Among duplicates the newest comes first, because its link list still has free entries.
bool NearerOrNewer(const Neighbor& left, const Neighbor& right) {
  return left.score != right.score ? left.score > right.score : left.row > right.row;
}

}  // namespace

class Graph::SpinLock {
 public:
  explicit SpinLock(std::atomic_flag* flag) : flag_(flag) {
    while (flag_->test_and_set(std::memory_order_acquire)) {
      // Locks are held for a few hundred nanoseconds; yielding matters only if the owner was preempted.
      while (flag_->test(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  ~SpinLock() { flag_->clear(std::memory_order_release); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  std::atomic_flag* const flag_;
};

class Graph::RowLock : public SpinLock {
 public:
  RowLock(const Graph& graph, uint32_t row) : SpinLock(&graph.locks_[row % kLocks]) {}
};

void Graph::Reserve(uint32_t rows) {
  layer0_.Reserve(rows);
  upperStart_.Reserve(rows);
  levels_.Reserve(rows);
  inserted_.Reserve(rows);
  rows_.store(rows, std::memory_order_release);
}

uint32_t Graph::LevelFor(uint32_t row) {
  const double uniform = static_cast<double>((SplitMix64(row) >> 11) + 1) * 0x1p-53;  // (0, 1]
  const double level = -std::log(uniform) / std::log(static_cast<double>(kLinksUpper));
  return std::min(kLevelMax, static_cast<uint32_t>(level));
}

void Graph::ReserveUpper(uint32_t row, uint32_t level) {
  if (level > 0) {
    const SpinLock lock(&upperLock_);
    upper_.Reserve(size_t{upperUsed_} + level);
    upperStart_[row].store(upperUsed_, std::memory_order_release);
    upperUsed_ += level;
  }
  levels_[row].store(static_cast<uint8_t>(level), std::memory_order_release);
}

bool Graph::GreedyStep(const CodeView& query, uint32_t level, Neighbor* current) const {
  uint32_t rows[kLinksUpper];
  const uint8_t* codes[kLinksUpper];
  int32_t scores[kLinksUpper];
  size_t count = 0;
  ForLinks(current->row, level, CandidatePool::kRowsEnd, [&](uint32_t near) {
    rows[count] = near;
    codes[count++] = codes_.Prefetch(near);
    __builtin_prefetch(upperStart_.Row(near));
  });
  codes_.codec().Scores(query, codes, count, scores);
  bool moved = false;
  for (size_t i = 0; i < count; i++) {
    if (scores[i] <= current->score) continue;
    *current = {scores[i], rows[i]};
    moved = true;
  }
  return moved;
}

Neighbor Graph::Descend(const CodeView& query, Neighbor start, uint32_t from, uint32_t to) const {
  for (uint32_t level = from; level > to; level--) {
    while (GreedyStep(query, level, &start)) continue;
  }
  return start;
}

bool Graph::DescendToLayer0(const CodeView& query, GraphScratch* scratch) const {
  const uint64_t entry = entry_.load(std::memory_order_acquire);
  if (entry == kEmpty) return false;
  const auto first = static_cast<uint32_t>(entry);
  const auto top = static_cast<uint32_t>(entry >> 32);
  const Neighbor start = Descend(query, {codes_.Score(query, first), first}, top, std::min(top, 1U));
  // Load after the descent, so that the size covers every row found so far; rows that appear later are skipped.
  scratch->visited.Reset(rows_.load(std::memory_order_acquire));
  scratch->visited.Add(start.row);
  scratch->entryPoints.assign(1, start);
  if (top == 0) return true;
  CandidatePool& pool = scratch->pool;
  pool.Reset(kLayer1BeamWidth);
  pool.Add(start, true);
  for (uint32_t row; pool.Next(&row);) {
    scratch->unvisited.Clear();
    CollectUnvisited(row, 1, scratch);
    codes_.Compare(query, scratch->unvisited.rows(), [&](Neighbor near) {
      scratch->entryPoints.push_back(near);
      if (!pool.IsCompetitive(near.score)) return;
      pool.Add(near, true);
      __builtin_prefetch(upperStart_.Row(near.row));
    });
  }
  return true;
}

std::optional<bool> Graph::IsUncorrelated(const Bitset& matching, float share) const {
  constexpr size_t kSamples = 128;
  constexpr size_t kLinksMin = 4 * kSamples;
  // Normalized excess correlation, from 0 (random) to 1 (all or none match), of two neighbors of one row both
  // matching.
  constexpr float kExcessMax = 0.03F;
  if (share * kSparseDivisor < 1) return false;
  const size_t rows = std::min<size_t>(matching.size(), rows_.load(std::memory_order_acquire));
  if (rows == 0) return std::nullopt;
  const auto sample = [&](size_t i) { return static_cast<uint32_t>(rows * i / kSamples); };
  for (size_t i = 0; i < kSamples; i++) PrefetchLinks(sample(i));
  size_t links = 0;
  size_t pairs = 0;
  float excess = 0;
  const float variance = share * (1 - share);
  for (size_t i = 0; i < kSamples; i++) {
    uint32_t all = 0;
    uint32_t same = 0;
    ForLinks(sample(i), 0, rows, [&](uint32_t near) {
      all++;
      same += matching.Has(near) ? 1 : 0;
    });
    const float deviation = static_cast<float>(same) - share * static_cast<float>(all);
    excess += deviation * deviation - variance * static_cast<float>(all);
    links += all;
    pairs += size_t{all} * (all > 0 ? all - 1 : 0);
  }
  if (links < kLinksMin) return std::nullopt;
  return excess <= kExcessMax * variance * static_cast<float>(pairs);
}

void Graph::SearchLevel(const CodeView& query, uint32_t self, Neighbor start, uint32_t level,
                        GraphScratch* scratch) const {
  CandidatePool& pool = scratch->pool;
  pool.Reset(kEfConstruction);
  scratch->visited.Reset(rows_.load(std::memory_order_acquire));
  scratch->visited.Add(start.row);
  scratch->visited.Add(self);
  pool.Add(start, true);
  while (NextBatch(scratch, [&](uint32_t row) { CollectUnvisited(row, level, scratch); })) {
    codes_.Compare(query, scratch->unvisited.rows(), [&](Neighbor near) {
      if (!pool.IsCompetitive(near.score)) return;
      pool.Add(near, true);
      if (level == 0) PrefetchLinks(near.row);
    });
  }
  pool.CopyAccepted(&scratch->candidates);
  std::sort(scratch->candidates.begin(), scratch->candidates.end(), NearerOrNewer);
}

void Graph::Diversify(uint32_t count, int32_t self, GraphScratch* scratch) const {
  auto& candidates = scratch->candidates;
  const auto isDuplicate = [self](const Neighbor& candidate) { return candidate.score == self; };
  const auto duplicatesMax = static_cast<ptrdiff_t>(count / kDuplicateDivisor);
  const auto reserved = std::min(std::count_if(candidates.begin(), candidates.end(), isDuplicate), duplicatesMax);
  const uint32_t othersMax = count - static_cast<uint32_t>(reserved);
  CodeView kept[kLinksLayer0];
  std::vector<Neighbor> duplicates;
  uint32_t size = 0;
  for (size_t i = 0; i < candidates.size() && size < othersMax; i++) {
    const Neighbor candidate = candidates[i];
    if (isDuplicate(candidate)) {
      duplicates.push_back(candidate);
      continue;
    }
    bool near = false;
    for (uint32_t k = 0; k < size && !near; k++) near = codes_.Score(kept[k], candidate.row) > candidate.score;
    if (near) continue;
    kept[size] = codes_.codec().Center(codes_.Row(candidate.row), scratch->kept[size].As<int8_t>());
    candidates[size++] = candidate;
  }
  candidates.resize(size);
  for (size_t i = 0; i < duplicates.size() && candidates.size() < count; i++) candidates.push_back(duplicates[i]);
}

void Graph::SetLinks(uint32_t row, uint32_t level, const std::vector<Neighbor>& links) {
  Link* const target = LinksOf(row, level);
  const RowLock lock(*this, row);
  for (size_t i = 0; i < links.size(); i++) target[i].store(links[i].row + 1, std::memory_order_release);
}

void Graph::AddLink(uint32_t row, uint32_t level, uint32_t target, GraphScratch* scratch) {
  Link* const links = LinksOf(row, level);
  const uint32_t max = LinksMax(level);
  const RowLock lock(*this, row);
  uint32_t present = 0;
  while (present < max) {
    const uint32_t link = links[present].load(std::memory_order_relaxed);
    if (link == 0) break;
    if (link == target + 1) return;
    present++;
  }
  if (present < max) {
    links[present].store(target + 1, std::memory_order_release);
    return;
  }
  const CodeView center = codes_.codec().Center(codes_.Row(row), scratch->center.As<int8_t>());
  auto& candidates = scratch->candidates;
  candidates.assign(1, {codes_.Score(center, target), target});
  for (uint32_t i = 0; i < max; i++) {
    const uint32_t other = links[i].load(std::memory_order_relaxed) - 1;
    candidates.push_back({codes_.Score(center, other), other});
  }
  std::sort(candidates.begin(), candidates.end(), NearerOrNewer);
  Diversify(max, codes_.Score(center, row), scratch);
  // A reader may see a mixture of the old and the new list. Each entry is a whole link, so every link it sees
  // belongs to one of them.
  for (uint32_t i = 0; i < max; i++) {
    links[i].store(i < candidates.size() ? candidates[i].row + 1 : 0, std::memory_order_release);
  }
}

void Graph::Insert(uint32_t row, GraphScratch* scratch) {
  const uint32_t level = LevelFor(row);
  ReserveUpper(row, level);
  const uint64_t own = uint64_t{level} << 32 | row;
  uint64_t entry = kEmpty;
  if (entry_.compare_exchange_strong(entry, own, std::memory_order_acq_rel)) {
    inserted_[row].store(1, std::memory_order_release);
    return;
  }
  scratch->inserted.Grow(codes_.codec().stride());
  scratch->center.Grow(codes_.codec().stride());
  scratch->kept.resize(kLinksLayer0);
  for (AlignedBytes& bytes : scratch->kept) bytes.Grow(codes_.codec().stride());
  const CodeView query = codes_.codec().Center(codes_.Row(row), scratch->inserted.As<int8_t>());
  const int32_t self = codes_.Score(query, row);
  const auto top = static_cast<uint32_t>(entry >> 32);
  const auto first = static_cast<uint32_t>(entry);
  Neighbor start = Descend(query, {codes_.Score(query, first), first}, top, std::min(level, top));
  std::vector<std::vector<Neighbor>> neighbors(std::min(level, top) + 1);
  for (uint32_t at = std::min(level, top) + 1; at-- > 0;) {
    SearchLevel(query, row, start, at, scratch);
    start = scratch->candidates.front();
    Diversify(kLinksUpper, self, scratch);
    neighbors[at] = scratch->candidates;
  }
  // Store all forward links before the first back link makes the row reachable on any level.
  for (uint32_t at = 0; at < neighbors.size(); at++) SetLinks(row, at, neighbors[at]);
  for (uint32_t at = 0; at < neighbors.size(); at++) {
    for (const Neighbor& neighbor : neighbors[at]) AddLink(neighbor.row, at, row, scratch);
  }
  inserted_[row].store(1, std::memory_order_release);
  while (level > static_cast<uint32_t>(entry >> 32) &&
         !entry_.compare_exchange_weak(entry, own, std::memory_order_acq_rel)) {
  }
}

uint32_t Graph::CopyLinks(uint32_t row, uint32_t level, uint32_t rows, uint32_t* links) const {
  const Link* const from = LinksOf(row, level);
  const RowLock lock(*this, row);
  uint32_t count = 0;
  for (uint32_t i = 0; i < LinksMax(level); i++) {
    const uint32_t link = from[i].load(std::memory_order_relaxed);
    if (link == 0) break;
    if (link - 1 < rows) links[count++] = link - 1;
  }
  return count;
}

void Graph::RestoreRow(uint32_t row, uint32_t level) {
  ReserveUpper(row, level);
  inserted_[row].store(1, std::memory_order_release);
  const uint64_t entry = entry_.load(std::memory_order_relaxed);
  if (entry == kEmpty || level > static_cast<uint32_t>(entry >> 32)) {
    entry_.store(uint64_t{level} << 32 | row, std::memory_order_release);
  }
}

void Graph::RestoreLinks(uint32_t row, uint32_t level, const uint32_t* links, uint32_t count) {
  Link* const target = LinksOf(row, level);
  for (uint32_t i = 0; i < count; i++) target[i].store(links[i] + 1, std::memory_order_release);
}

bool Graph::CheckLayer0(uint32_t rows) const {
  return layer0_.ForRuns(rows, [rows](size_t, const Link* links, size_t count) {
    bool good = true;
    for (size_t list = 0; list < count; list++, links += kLinksLayer0) {
      uint32_t before = 1;
      for (uint32_t i = 0; i < kLinksLayer0; i++) {
        const uint32_t link = links[i].load(std::memory_order_relaxed);
        good &= link <= rows && (before != 0 || link == 0);
        before = link;
      }
    }
    return good;
  });
}

size_t Graph::Bytes(uint32_t rows) const {
  // One row in kLinksUpper has an upper level, so the upper lists number 1 / (kLinksUpper - 1) of the rows.
  return layer0_.BytesOf(rows) + upper_.BytesOf(rows / (kLinksUpper - 1)) + upperStart_.BytesOf(rows) +
         levels_.BytesOf(rows) + inserted_.BytesOf(rows);
}

}  // namespace quarry
