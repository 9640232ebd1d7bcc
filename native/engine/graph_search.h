// Search templates of graph.h. They are templates so that callbacks are inlined.
#pragma once

#include <algorithm>

#include "engine/graph.h"

namespace quarry {

// Counts the distances of a search and decides when it must end.
class Graph::DistanceCounter {
 public:
  explicit DistanceCounter(uint64_t max) : max_(max) {}

  // Adds `distances`. Returns true if the search must end, with the reason in *outcome.
  template <class Stop>
  bool Spend(uint64_t distances, const Stop& stop, Outcome* outcome) {
    spent_ += distances;
    if (spent_ < nextCheck_) return false;
    nextCheck_ = spent_ + kCheckEvery;
    *outcome = stop() ? Outcome::kStopped : spent_ > max_ ? Outcome::kBudget : Outcome::kDone;
    return *outcome != Outcome::kDone;
  }

 private:
  // A few microseconds of work. Reading the clock costs about two distances: a smaller interval would slow
  // every search, and deadlines do not need more precision.
  static constexpr uint64_t kCheckEvery = 128;

  const uint64_t max_;
  uint64_t spent_ = 0;
  uint64_t nextCheck_ = kCheckEvery;
};

inline Graph::Link* Graph::LinksOf(uint32_t row, uint32_t level) const {
  if (level == 0) return layer0_.Row(row);
  return upper_.Row(upperStart_[row].load(std::memory_order_acquire) + level - 1);
}

inline void Graph::PrefetchLinks(uint32_t row) const {
  const auto* const links = reinterpret_cast<const char*>(layer0_.Row(row));
  __builtin_prefetch(links);
  __builtin_prefetch(links + 64);
}

template <class Visit>
void Graph::ForLinks(uint32_t row, uint32_t level, size_t rows, const Visit& visit) const {
  const Link* const links = LinksOf(row, level);
  for (uint32_t i = 0; i < LinksMax(level); i++) {
    const uint32_t link = links[i].load(std::memory_order_acquire);
    if (link == 0) return;
    if (link <= rows) visit(link - 1);
  }
}

inline void Graph::CollectUnvisited(uint32_t row, uint32_t level, GraphScratch* scratch) const {
  RowList& unvisited = scratch->unvisited;
  unvisited.ReserveMore(LinksMax(level));
  ForLinks(row, level, scratch->visited.size(),
           [&](uint32_t near) { unvisited.AddIf(!scratch->visited.TestAndAdd(near), near); });
}

inline void Graph::CollectMatching(uint32_t row, const Bitset& matching, GraphScratch* scratch) const {
  // A row has about a thousand neighbors of neighbors; this many matching ones are enough to continue.
  constexpr size_t kEnough = 96;
  RowList& unvisited = scratch->unvisited;
  RowList& rejected = scratch->rejected;
  rejected.Clear();
  unvisited.ReserveMore(kLinksLayer0);
  rejected.ReserveMore(kLinksLayer0);
  const size_t rows = scratch->visited.size();
  ForLinks(row, 0, rows, [&](uint32_t near) {
    const bool fresh = !scratch->visited.TestAndAdd(near);
    const bool match = matching.Has(near);
    unvisited.AddIf(fresh & match, near);
    rejected.AddIf(fresh & !match, near);
  });
  for (const uint32_t via : rejected.rows()) PrefetchLinks(via);
  for (const uint32_t via : rejected.rows()) {
    if (unvisited.size() >= kEnough) return;
    unvisited.ReserveMore(kLinksLayer0);
    // Rows that do not match may be traversed later: mark only matching ones as visited.
    ForLinks(via, 0, rows, [&](uint32_t near) {
      const bool match = matching.Has(near);
      unvisited.AddIf(!scratch->visited.TestAndAddIf(match, near) & match, near);
    });
  }
}

template <class Collect>
bool Graph::NextBatch(GraphScratch* scratch, const Collect& collect) {
  scratch->unvisited.Clear();
  const size_t batchRows = std::min(kBatchMax, kBatchPerEf * scratch->pool.ef());
  uint32_t row;
  if (!scratch->pool.Next(&row)) return false;
  do {
    collect(row);
  } while (scratch->unvisited.size() < batchRows && scratch->pool.Next(&row));
  return true;
}

template <class Collect, class Accept, class Stop>
Graph::Outcome Graph::Walk(const Query& query, GraphScratch* scratch, const Collect& collect, const Accept& accept,
                           const Stop& stop) const {
  CandidatePool& pool = scratch->pool;
  DistanceCounter counter(query.distancesMax);
  const size_t rejectedMax = RejectedMax(query.ef);
  Outcome outcome = Outcome::kDone;
  while (NextBatch(scratch, collect)) {
    codes_.Compare(query.view, scratch->unvisited.rows(), [&](Neighbor near) {
      if (!pool.IsCompetitive(near.score)) return;
      pool.Add(near, accept(near.row));
      PrefetchLinks(near.row);
    });
    if (counter.Spend(scratch->unvisited.size(), stop, &outcome)) return outcome;
    if (pool.rejected() > rejectedMax) return Outcome::kBudget;
  }
  pool.CopyAccepted(&scratch->results);
  return Outcome::kDone;
}

template <class Accept, class Stop>
Graph::Outcome Graph::WalkAll(const Query& query, GraphScratch* scratch, const Accept& accept, const Stop& stop) const {
  return Walk(
      query, scratch, [&](uint32_t row) { CollectUnvisited(row, 0, scratch); }, accept, stop);
}

template <class Visible, class Stop>
Graph::Outcome Graph::WalkMatching(const Query& query, const Bitset& matching, GraphScratch* scratch,
                                   const Visible& visible, const Stop& stop) const {
  return Walk(
      query, scratch, [&](uint32_t row) { CollectMatching(row, matching, scratch); }, visible, stop);
}

template <class Accept>
bool Graph::SeedPool(const Query& query, SeedPolicy seedPolicy, GraphScratch* scratch, const Accept& accept) const {
  scratch->results.clear();
  if (!DescendToLayer0(query.view, scratch)) return false;
  CandidatePool& pool = scratch->pool;
  pool.Reset(query.ef);
  const auto nearer = [](const Neighbor& left, const Neighbor& right) { return left.score < right.score; };
  const auto nearest = std::max_element(scratch->entryPoints.begin(), scratch->entryPoints.end(), nearer);
  std::iter_swap(scratch->entryPoints.begin(), nearest);
  for (const Neighbor& near : scratch->entryPoints) {
    if (!pool.IsCompetitive(near.score)) continue;
    const bool accepted = accept(near.row);
    if (!accepted && seedPolicy == SeedPolicy::kAccepted && near.row != scratch->entryPoints.front().row) continue;
    pool.Add(near, accepted);
    PrefetchLinks(near.row);
  }
  return true;
}

template <class Accept, class Stop>
Graph::Outcome Graph::Search(const Query& query, GraphScratch* scratch, const Accept& accept, const Stop& stop) const {
  if (!SeedPool(query, SeedPolicy::kAll, scratch, accept)) return Outcome::kDone;
  return WalkAll(query, scratch, accept, stop);
}

template <class Visible, class Stop>
Graph::Outcome Graph::SearchMatching(const Query& query, const Filter& filter, GraphScratch* scratch,
                                     const Visible& visible, const Stop& stop) const {
  const auto any = [](uint32_t) { return true; };
  const auto accept = [&](uint32_t row) { return filter.matching.Has(row) && visible(row); };
  if (filter.uncorrelated) {
    const bool dense = filter.share * kDenseDivisor >= 1;
    const SeedPolicy seedPolicy = dense ? SeedPolicy::kAll : SeedPolicy::kAccepted;
    if (!SeedPool(query, seedPolicy, scratch, accept)) return Outcome::kDone;
    return dense ? WalkAll(query, scratch, accept, stop) : WalkMatching(query, filter.matching, scratch, visible, stop);
  }
  size_t passing = 0;
  for (const uint32_t ef : kProbeEfs) {
    const Outcome probed = Search({query.view, ef, query.distancesMax}, scratch, any, stop);
    if (probed != Outcome::kDone) return probed;
    passing = static_cast<size_t>(std::count_if(scratch->results.begin(), scratch->results.end(),
                                                [&](const Neighbor& near) { return accept(near.row); }));
    if (passing > 0) break;
  }
  if (passing == 0) return Outcome::kBudget;
  CandidatePool& pool = scratch->pool;
  scratch->visited.Reset(scratch->visited.size());
  pool.Reset(query.ef);
  const bool dense = passing * kDenseDivisor >= scratch->results.size();
  for (const Neighbor& near : scratch->results) {
    const bool accepted = accept(near.row);
    if (!accepted && !dense) continue;
    scratch->visited.Add(near.row);
    if (pool.IsCompetitive(near.score)) pool.Add(near, accepted);
  }
  return dense ? WalkAll(query, scratch, accept, stop) : WalkMatching(query, filter.matching, scratch, visible, stop);
}

}  // namespace quarry
