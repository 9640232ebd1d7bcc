// The searches of graph.h, which are templates so that their questions cost no call.
#pragma once

#include <algorithm>

#include "engine/graph.h"

namespace quarry {

// Counts the distances of a search and says when it has to end.
class Graph::Counter {
 public:
  explicit Counter(uint64_t max) : max_(max) {}

  // True when the search has to end, for the reason in *outcome.
  template <class Stop>
  bool Spend(uint64_t distances, const Stop& stop, Outcome* outcome) {
    spent_ += distances;
    if (spent_ < nextLook_) return false;
    nextLook_ = spent_ + kStopEvery;
    *outcome = stop() ? Outcome::kStopped : spent_ > max_ ? Outcome::kBudget : Outcome::kDone;
    return *outcome != Outcome::kDone;
  }

 private:
  static constexpr uint64_t kStopEvery = 128;

  const uint64_t max_;
  uint64_t spent_ = 0;
  uint64_t nextLook_ = kStopEvery;
};

inline Graph::Link* Graph::LinksOf(uint32_t row, uint32_t level) const {
  if (level == 0) return ground_.Row(row);
  return upper_.Row(upperStart_[row].load(std::memory_order_acquire) + level - 1);
}

inline void Graph::PrefetchLinks(uint32_t row) const {
  const auto* const links = reinterpret_cast<const char*>(ground_.Row(row));
  __builtin_prefetch(links);
  __builtin_prefetch(links + 64);
}

inline void Graph::CollectUnseen(uint32_t row, uint32_t level, GraphScratch* scratch) const {
  auto& unseen = scratch->unseen;
  unseen.clear();
  const Link* const links = LinksOf(row, level);
  for (uint32_t i = 0; i < LinksMax(level); i++) {
    const uint32_t link = links[i].load(std::memory_order_acquire);
    if (link == 0) break;
    // Rows that were appended after the search began are not in its set.
    if (link - 1 < scratch->visited.size() && !scratch->visited.TestAndAdd(link - 1)) unseen.push_back(link - 1);
  }
}

template <class Accept>
void Graph::CollectMatching(uint32_t row, GraphScratch* scratch, const Accept& accept) const {
  // A row has about a thousand neighbours of neighbours; so many of them are enough to go on.
  constexpr size_t kEnough = 96;
  auto& passed = scratch->passed;
  auto& unseen = scratch->unseen;
  CollectUnseen(row, 0, scratch);
  passed.clear();
  size_t kept = 0;
  for (const uint32_t near : unseen) {
    if (accept(near)) {
      unseen[kept++] = near;
    } else {
      passed.push_back(near);
      PrefetchLinks(near);
    }
  }
  unseen.resize(kept);
  for (const uint32_t via : passed) {
    if (unseen.size() >= kEnough) return;
    const Link* const links = LinksOf(via, 0);
    for (uint32_t i = 0; i < kLinksGround; i++) {
      const uint32_t link = links[i].load(std::memory_order_acquire);
      if (link == 0) break;
      const uint32_t near = link - 1;
      if (near < scratch->visited.size() && accept(near) && !scratch->visited.TestAndAdd(near)) unseen.push_back(near);
    }
  }
}

template <class Collect, class Accept, class Stop>
Graph::Outcome Graph::Walk(const Query& query, GraphScratch* scratch, const Collect& collect, const Accept& accept,
                           const Stop& stop) const {
  GraphPool& pool = scratch->pool;
  Counter counter(query.distancesMax);
  Outcome outcome = Outcome::kDone;
  for (uint32_t row; pool.Next(&row);) {
    collect(row);
    codes_.Compare(query.view, scratch->unseen, [&](Near near) {
      if (!pool.Wants(near.score)) return;
      pool.Add(near, accept(near.row));
      PrefetchLinks(near.row);
    });
    if (counter.Spend(scratch->unseen.size(), stop, &outcome)) return outcome;
  }
  pool.CopyAccepted(&scratch->results);
  return Outcome::kDone;
}

template <class Accept, class Stop>
Graph::Outcome Graph::Search(const Query& query, GraphScratch* scratch, const Accept& accept, const Stop& stop) const {
  scratch->results.clear();
  Near start;
  if (!Enter(query, scratch, &start)) return Outcome::kDone;
  scratch->pool.Add(start, accept(start.row));
  return Walk(
      query, scratch, [&](uint32_t row) { CollectUnseen(row, 0, scratch); }, accept, stop);
}

template <class Accept, class Stop>
Graph::Outcome Graph::SearchMatching(const Query& query, GraphScratch* scratch, const Accept& accept,
                                     const Stop& stop) const {
  const auto any = [](uint32_t) { return true; };
  size_t passing = 0;
  for (const uint32_t effort : kProbes) {
    const Outcome probed = Search({query.view, effort, query.distancesMax}, scratch, any, stop);
    if (probed != Outcome::kDone) return probed;
    passing = static_cast<size_t>(std::count_if(scratch->results.begin(), scratch->results.end(),
                                                [&](const Near& near) { return accept(near.row); }));
    if (passing > 0) break;
  }
  if (passing == 0) return Outcome::kBudget;
  GraphPool& pool = scratch->pool;
  scratch->visited.Reset(scratch->visited.size());
  pool.Reset(query.effort);
  const bool dense = passing * kDenseShare >= scratch->results.size();
  for (const Near& near : scratch->results) {
    const bool accepted = accept(near.row);
    if (!accepted && !dense) continue;
    scratch->visited.Add(near.row);
    if (pool.Wants(near.score)) pool.Add(near, accepted);
  }
  if (dense)
    return Walk(
        query, scratch, [&](uint32_t row) { CollectUnseen(row, 0, scratch); }, accept, stop);
  return Walk(
      query, scratch, [&](uint32_t row) { CollectMatching(row, scratch, accept); }, any, stop);
}

}  // namespace quarry
