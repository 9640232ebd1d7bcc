#include "engine/graph.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace quarry {
namespace {

class SpinLock {
 public:
  explicit SpinLock(std::atomic_flag* flag) : flag_(flag) {
    while (flag_->test_and_set(std::memory_order_acquire)) {
      // Held for a few hundred nanoseconds; yielding matters only when its owner was put to sleep.
      while (flag_->test(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  ~SpinLock() { flag_->clear(std::memory_order_release); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  std::atomic_flag* const flag_;
};

// Steele, Lea and Flood's splitmix64: a well-mixed number for every row, the same in every run.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

// Nearest first; of copies the newest, whose lists of links still have room.
bool NearerOrNewer(const Near& left, const Near& right) {
  return left.similarity != right.similarity ? left.similarity > right.similarity : left.row > right.row;
}

}  // namespace

class Graph::RowLock : public SpinLock {
 public:
  RowLock(const Graph& graph, uint32_t row) : SpinLock(&graph.locks_[row % kLocks]) {}
};

Graph::Graph(const BlockArray<float>& vectors, size_t stride)
    : vectors_(vectors), stride_(stride), dot_(BestKernels().dot) {}

void Graph::Reserve(uint32_t rows) {
  ground_.Reserve(rows);
  upperStart_.Reserve(rows);
  levels_.Reserve(rows);
  inserted_.Reserve(rows);
  rows_.store(rows, std::memory_order_release);
}

uint32_t Graph::LevelFor(uint32_t row) {
  const double uniform = static_cast<double>((Mix(row) >> 11) + 1) * 0x1p-53;  // (0, 1]
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

Near Graph::Descend(const float* query, Near start, uint32_t from, uint32_t to) const {
  for (uint32_t level = from; level > to; level--) {
    for (bool moved = true; moved;) {
      moved = false;
      const Link* links = LinksOf(start.row, level);
      for (uint32_t i = 0; i < kLinksUpper; i++) {
        const uint32_t link = links[i].load(std::memory_order_acquire);
        if (link == 0) break;
        const float similarity = Similarity(query, link - 1);
        if (similarity > start.similarity) {
          start = {similarity, link - 1};
          moved = true;
        }
      }
    }
  }
  return start;
}

std::vector<Near> Graph::SearchLevel(const float* query, uint32_t self, Near start, uint32_t level,
                                     GraphScratch* scratch) const {
  auto& frontier = scratch->frontier;
  auto& results = scratch->results;
  const uint32_t rows = rows_.load(std::memory_order_acquire);
  scratch->visited.Reset(rows);
  scratch->visited.Add(start.row);
  scratch->visited.Add(self);
  frontier.assign(1, start);
  results.assign(1, start);
  while (!frontier.empty()) {
    std::pop_heap(frontier.begin(), frontier.end(), NearerOnTop);
    const Near current = frontier.back();
    frontier.pop_back();
    if (results.size() >= kBuildEffort && current.similarity < results.front().similarity) break;
    auto& unseen = scratch->unseen;
    unseen.clear();
    const Link* links = LinksOf(current.row, level);
    for (uint32_t i = 0; i < LinksMax(level); i++) {
      const uint32_t link = links[i].load(std::memory_order_acquire);
      if (link == 0) break;
      if (link - 1 < rows && !scratch->visited.TestAndAdd(link - 1)) {
        unseen.push_back(link - 1);
        Prefetch(link - 1);
      }
    }
    for (const uint32_t row : unseen) {
      const Near near{Similarity(query, row), row};
      if (results.size() >= kBuildEffort && near.similarity <= results.front().similarity) continue;
      frontier.push_back(near);
      std::push_heap(frontier.begin(), frontier.end(), NearerOnTop);
      results.push_back(near);
      std::push_heap(results.begin(), results.end(), FartherOnTop);
      if (results.size() > kBuildEffort) {
        std::pop_heap(results.begin(), results.end(), FartherOnTop);
        results.pop_back();
      }
    }
  }
  std::vector<Near> nearest = results;
  std::sort(nearest.begin(), nearest.end(), NearerOrNewer);
  return nearest;
}

void Graph::Diversify(std::vector<Near>* candidates, uint32_t count) const {
  std::vector<Near> kept;
  std::vector<Near> copies;
  kept.reserve(count);
  for (const Near& candidate : *candidates) {
    if (kept.size() >= count) break;
    const float* vector = vectors_.Row(candidate.row);
    bool near = false;
    bool copy = false;
    for (const Near& other : kept) {
      const float similarity = Similarity(vector, other.row);
      near = near || similarity > candidate.similarity;
      copy = copy || similarity == candidate.similarity;
      if (near) break;
    }
    if (near) continue;
    (copy ? copies : kept).push_back(candidate);
  }
  for (size_t i = 0; i < copies.size() && kept.size() < count; i++) kept.push_back(copies[i]);
  *candidates = std::move(kept);
}

void Graph::SetLinks(uint32_t row, uint32_t level, const std::vector<Near>& links) {
  Link* const target = LinksOf(row, level);
  const RowLock lock(*this, row);
  for (size_t i = 0; i < links.size(); i++) target[i].store(links[i].row + 1, std::memory_order_release);
}

void Graph::AddLink(uint32_t row, uint32_t level, uint32_t target) {
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
  const float* vector = vectors_.Row(row);
  std::vector<Near> candidates;
  candidates.reserve(max + 1);
  candidates.push_back({Similarity(vector, target), target});
  for (uint32_t i = 0; i < max; i++) {
    const uint32_t other = links[i].load(std::memory_order_relaxed) - 1;
    candidates.push_back({Similarity(vector, other), other});
  }
  std::sort(candidates.begin(), candidates.end(), NearerOrNewer);
  Diversify(&candidates, max);
  // A reader may meet a mixture of the old and the new list; each entry is a whole link, so it only sees both.
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
  const float* vector = vectors_.Row(row);
  const auto top = static_cast<uint32_t>(entry >> 32);
  const auto first = static_cast<uint32_t>(entry);
  Near start = Descend(vector, {Similarity(vector, first), first}, top, std::min(level, top));
  std::vector<std::vector<Near>> neighbours(std::min(level, top) + 1);
  for (uint32_t at = std::min(level, top) + 1; at-- > 0;) {
    std::vector<Near> nearest = SearchLevel(vector, row, start, at, scratch);
    start = nearest.front();
    Diversify(&nearest, kLinksUpper);
    neighbours[at] = std::move(nearest);
  }
  // All forward links stand before the first link back makes the row reachable on any level.
  for (uint32_t at = 0; at < neighbours.size(); at++) SetLinks(row, at, neighbours[at]);
  for (uint32_t at = 0; at < neighbours.size(); at++) {
    for (const Near& neighbour : neighbours[at]) AddLink(neighbour.row, at, row);
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

size_t Graph::Bytes(uint32_t rows) const {
  // One row in kLinksUpper has an upper level, so the upper lists are a share of 1 / (kLinksUpper - 1) of the rows.
  return ground_.BytesOf(rows) + upper_.BytesOf(rows / (kLinksUpper - 1)) + upperStart_.BytesOf(rows) +
         levels_.BytesOf(rows) + inserted_.BytesOf(rows);
}

}  // namespace quarry
