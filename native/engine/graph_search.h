// The search of graph.h, which is a template so that its questions cost no call.
#pragma once

#include <algorithm>

#include "engine/graph.h"

namespace quarry {

inline bool FartherOnTop(const Near& left, const Near& right) { return NearerThan(left, right); }
inline bool NearerOnTop(const Near& left, const Near& right) { return NearerThan(right, left); }

inline void Graph::Prefetch(uint32_t row) const {
  const auto* bytes = reinterpret_cast<const char*>(vectors_.Row(row));
  for (size_t i = 0; i < stride_ * sizeof(float); i += 64) __builtin_prefetch(bytes + i);
}

inline Graph::Link* Graph::LinksOf(uint32_t row, uint32_t level) const {
  if (level == 0) return ground_.Row(row);
  return upper_.Row(upperStart_[row].load(std::memory_order_acquire) + level - 1);
}

template <class Accept, class Stop>
Graph::Outcome Graph::Search(const Query& query, GraphScratch* scratch, const Accept& accept, const Stop& stop) const {
  constexpr uint32_t kStopEvery = 32;
  scratch->frontier.clear();
  scratch->results.clear();
  const uint64_t entry = entry_.load(std::memory_order_acquire);
  if (entry == kEmpty) return Outcome::kDone;
  const auto first = static_cast<uint32_t>(entry);
  const Near start =
      Descend(query.vector, {Similarity(query.vector, first), first}, static_cast<uint32_t>(entry >> 32), 0);
  // Loaded after the descent, so that it covers every row met so far; rows that appear later are skipped.
  const uint32_t rows = rows_.load(std::memory_order_acquire);
  auto& frontier = scratch->frontier;
  auto& results = scratch->results;
  scratch->visited.Reset(rows);
  scratch->visited.Add(start.row);
  frontier.push_back(start);
  if (accept(start.row)) results.push_back(start);
  uint64_t distances = 0;
  uint64_t nextStop = kStopEvery;
  while (!frontier.empty()) {
    std::pop_heap(frontier.begin(), frontier.end(), NearerOnTop);
    const Near current = frontier.back();
    frontier.pop_back();
    if (results.size() >= query.effort && current.similarity < results.front().similarity) break;
    auto& unseen = scratch->unseen;
    unseen.clear();
    const Link* links = LinksOf(current.row, 0);
    for (uint32_t i = 0; i < kLinksGround; i++) {
      const uint32_t link = links[i].load(std::memory_order_acquire);
      if (link == 0) break;
      if (link - 1 < rows && !scratch->visited.TestAndAdd(link - 1)) {
        unseen.push_back(link - 1);
        Prefetch(link - 1);
      }
    }
    for (const uint32_t row : unseen) {
      const Near near{Similarity(query.vector, row), row};
      if (results.size() >= query.effort && near.similarity <= results.front().similarity) continue;
      frontier.push_back(near);
      std::push_heap(frontier.begin(), frontier.end(), NearerOnTop);
      if (!accept(row)) continue;
      results.push_back(near);
      std::push_heap(results.begin(), results.end(), FartherOnTop);
      if (results.size() > query.effort) {
        std::pop_heap(results.begin(), results.end(), FartherOnTop);
        results.pop_back();
      }
    }
    distances += unseen.size();
    if (distances >= nextStop) {
      if (stop()) return Outcome::kStopped;
      if (distances > query.distancesMax) return Outcome::kBudget;
      nextStop = distances + kStopEvery;
    }
  }
  return Outcome::kDone;
}

}  // namespace quarry
