#include "engine/vector_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace quarry {
namespace {

constexpr size_t kScanStep = 1024;    // minimum number of rows scanned between two deadline checks
constexpr uint32_t kWordsMax = 1024;  // maximum number of words of 64 rows scanned between two deadline checks
// A graph search that has computed this many distances per kept candidate is considered lost. It still continues
// until the distances have taken half the time of a scan; with a filter, for which it may never succeed, an eighth.
constexpr uint64_t kDistancesPerEfMax = 64;
constexpr uint64_t kScanDivisor = 4;
constexpr uint64_t kFilteredScanDivisor = 16;

// CPU cost of finding the nearest rows in one shard, in microseconds, measured with rows of 384 dimensions.
constexpr float kScanRowCost = 0.0105F;  // one row compared by its codes, in row order
constexpr float kWalkStartCost = 5;      // descent to layer 0 of the graph
constexpr float kWalkEfCost = 0.23F;     // per candidate kept (ef)
constexpr float kSparseWalkEfCost =
    1.2F;  // per candidate kept, if neighbors of neighbors are searched for matching rows

float ScanCost(uint64_t rows) { return kScanRowCost * static_cast<float>(rows); }
float WalkCost(uint32_t ef, bool sparse) {
  return kWalkStartCost + (sparse ? kSparseWalkEfCost : kWalkEfCost) * static_cast<float>(ef);
}

constexpr auto kNearerByCodes = [](Neighbor left, Neighbor right) { return left.score > right.score; };

// Working memory of one thread.
GraphScratch& ThreadScratch() {
  thread_local GraphScratch scratch;
  return scratch;
}

class VectorSearch {
 public:
  VectorSearch(const ShardView& view, const SearchRequest& request, const VectorQuery& query,
               const SearchBreadth& breadth, ShardNeighbors* near)
      : view_(view),
        shard_(view.shard()),
        request_(request),
        query_(query),
        ef_(breadth.ef),
        proposed_(breadth.proposed),
        neighbors_(near),
        scratch_(ThreadScratch()) {}

  Status Find() {
    const uint64_t matching = view_.CandidateCount();
    neighbors_->complete = matching <= proposed_;
    if (matching == 0) return {};
    if (matching <= kExactRowsMax ? request_.scanMode != ScanMode::kNever : request_.scanMode == ScanMode::kAlways) {
      return ScanExactly();
    }
    if (ScanIsBetter(matching)) return ScanCodes();
    return Walk(matching);
  }

 private:
  bool ScanIsBetter(uint64_t matching) const {
    if (request_.scanMode == ScanMode::kNever) return false;
    const bool sparse = view_.IsFiltered() && matching * Graph::kDenseDivisor < shard_.Rows();
    if (ScanCost(matching) <= WalkCost(ef_, sparse)) return true;
    return view_.IsFiltered() && (matching <= kScanRowsMax || matching * Graph::kSparseDivisor <= shard_.Rows());
  }

  // A distance takes twice as long as a scanned row.
  uint64_t DistancesMax(uint64_t matching) const {
    return std::max(kDistancesPerEfMax * ef_, matching / (view_.IsFiltered() ? kFilteredScanDivisor : kScanDivisor));
  }

  Status Walk(uint64_t matching) {
    const bool filtered = view_.IsFiltered();
    neighbors_->ef = ef_;
    neighbors_->strategy = filtered ? Strategy::kFilteredGraph : Strategy::kGraph;
    Status stopped;
    const auto stop = [&] {
      stopped = request_.cancellation.Check();
      return !stopped.ok();
    };
    const bool unbounded = request_.scanMode == ScanMode::kNever;
    const Graph::Query graphQuery{query_.encoded().view(), ef_, unbounded ? UINT64_MAX : DistancesMax(matching)};
    const Graph& graph = shard_.graph();
    const auto visible = [&](uint32_t row) { return view_.IsVisible(row); };
    const auto share = static_cast<float>(matching) / static_cast<float>(shard_.Rows());
    const auto outcome = filtered ? graph.SearchMatching(graphQuery, {view_.Matching(), share, view_.IsUncorrelated()},
                                                         &scratch_, visible, stop)
                                  : graph.Search(graphQuery, &scratch_, visible, stop);
    if (outcome == Graph::Outcome::kStopped) return stopped;
    // If matching rows lie far from the query, the graph search does not reach them, or only at a high cost.
    const bool tooFew = filtered && scratch_.results.size() < std::min<uint64_t>(ef_, matching);
    if (outcome == Graph::Outcome::kBudget || tooFew) return ScanCodes();
    for (size_t i = 0; i < std::min<size_t>(proposed_, scratch_.results.size()); i++) Propose(scratch_.results[i]);
    return {};
  }

  void Propose(const Neighbor& near) {
    neighbors_->rows.push_back({shard_.codes().codec().Similarity(near.score), near.row, view_.number()});
  }

  // Calls visit(rows) for all rows that may be in the result, about kScanStep at a time.
  template <class Visit>
  Status ForEachStep(const Visit& visit) {
    neighbors_->ef = 0;
    neighbors_->strategy = view_.IsFiltered() ? Strategy::kFilteredScan : Strategy::kScan;
    scratch_.scanned.resize(kScanStep + 64);
    uint32_t* const rows = scratch_.scanned.data();
    Status stopped;
    for (uint32_t word = 0, end = (shard_.Rows() + 63) / 64; word < end && stopped.ok();) {
      const size_t count = view_.List(&word, std::min(end, word + kWordsMax), kScanStep, rows);
      visit(std::span<const uint32_t>(rows, count));
      if (word < end) stopped = request_.cancellation.Check();
    }
    return stopped;
  }

  Status ScanCodes() {
    // The nearest rows so far plus newer candidates; the farthest are dropped periodically.
    auto& kept = scratch_.results;
    kept.clear();
    int32_t bound = std::numeric_limits<int32_t>::min();  // only rows with a higher score can still be proposed
    const auto cut = [&] {
      if (kept.size() < proposed_) return;
      const auto last = kept.begin() + proposed_ - 1;
      std::nth_element(kept.begin(), last, kept.end(), kNearerByCodes);
      bound = last->score;
      kept.resize(proposed_);
    };
    Status status = ForEachStep([&](std::span<const uint32_t> rows) {
      shard_.codes().Compare(query_.encoded().view(), rows, [&](Neighbor near) {
        if (near.score <= bound) return;
        kept.push_back(near);
        if (kept.size() >= 2 * size_t{proposed_}) cut();
      });
    });
    cut();
    for (const Neighbor& near : kept) Propose(near);
    return status;
  }

  // Returns the same rows as comparing every row by its exact cosine. The rows that are nearest by their codes are
  // compared first: their cosines then exclude nearly all others. Gain over doing so for each step of the scan: a third
  // of the CPU of a calibration on 12,000 abstracts.
  Status ScanExactly() {
    std::vector<Neighbor> scored;
    scored.reserve(view_.CandidateCount());
    const Status status = ForEachStep([&](std::span<const uint32_t> rows) {
      shard_.codes().Compare(query_.encoded().view(), rows, [&](Neighbor near) { scored.push_back(near); });
    });
    if (!status.ok()) return status;
    if (scored.size() > proposed_) {
      std::nth_element(scored.begin(), scored.begin() + proposed_, scored.end(), kNearerByCodes);
    }
    auto& best = neighbors_->rows;  // a heap, farthest on top
    const auto nearer = [](const ShardNeighbor& left, const ShardNeighbor& right) {
      return left.similarity != right.similarity ? left.similarity > right.similarity : left.row < right.row;
    };
    const float error = query_.ErrorMax(shard_.codes());
    for (const auto [score, row] : scored) {
      if (best.size() == proposed_) {
        if (shard_.codes().codec().Similarity(score) + error < best.front().similarity) continue;
      }
      const ShardNeighbor near{query_.Similarity(shard_, row), row, view_.number()};
      if (best.size() == proposed_) {
        if (!nearer(near, best.front())) continue;
        std::pop_heap(best.begin(), best.end(), nearer);
        best.pop_back();
      }
      best.push_back(near);
      std::push_heap(best.begin(), best.end(), nearer);
    }
    return {};
  }

  const ShardView& view_;
  const Shard& shard_;
  const SearchRequest& request_;
  const VectorQuery& query_;
  const uint32_t ef_;
  const uint32_t proposed_;
  ShardNeighbors* const neighbors_;
  GraphScratch& scratch_;
};

}  // namespace

const char* StrategyName(Strategy strategy) {
  switch (strategy) {
    case Strategy::kNone: return "none";
    case Strategy::kScan: return "scan";
    case Strategy::kGraph: return "graph";
    case Strategy::kFilteredScan: return "filtered-scan";
    case Strategy::kFilteredGraph: return "filtered-graph";
  }
  return "unknown";
}

void VectorQuery::Set(const std::vector<float>& vector, const Codec& codec) {
  const size_t padded = PaddedDimensions(vector.size());
  exact_.Grow(padded * sizeof(float));
  std::copy(vector.begin(), vector.end(), exact_.As<float>());
  std::fill(exact_.As<float>() + vector.size(), exact_.As<float>() + padded, 0.0F);
  codec.Query(vector.data(), &encoded_);
  squaredNorm_ = codec.SquaredNorm(encoded_.view());
}

Status FindNeighbors(const ShardView& view, const SearchRequest& request, const VectorQuery& query,
                     const SearchBreadth& breadth, ShardNeighbors* near) {
  near->Clear();
  return VectorSearch(view, request, query, breadth, near).Find();
}

float NeighborSearchCost(const Shard& shard, const SearchRequest& request, const SearchBreadth& breadth) {
  // Cost of evaluating a filter, per row.
  constexpr float kFilterRowCost = 0.002F;
  const bool filtered = request.filter.has_value();
  const float width = static_cast<float>(shard.dimensions()) / 384;
  const auto estimate =
      filtered ? shard.filterCache().EstimateCost(shard, *request.filter) : FilterCache::CostEstimate{shard.Rows(), 0};
  // Upper bound of a scan; a walk costs as much if few rows match.
  const float near = std::min(WalkCost(breadth.ef, filtered), ScanCost(estimate.matching)) * width;
  return near + kFilterRowCost * static_cast<float>(estimate.uncached);
}

void RescoreNearest(const ReadSnapshot& readSnapshot, const VectorQuery& query, uint32_t topK,
                    std::vector<ShardNeighbor>* proposed, std::vector<ScoredChunk>* nearest) {
  const auto nearer = [](const ShardNeighbor& left, const ShardNeighbor& right) {
    return left.similarity > right.similarity;
  };
  const auto shardOf = [&](const ShardNeighbor& near) -> const Shard& { return *(*readSnapshot.shards)[near.shard]; };
  const size_t compared = std::min<size_t>(ProposedRows(topK), proposed->size());
  std::partial_sort(proposed->begin(), proposed->begin() + static_cast<std::ptrdiff_t>(compared), proposed->end(),
                    nearer);
  proposed->resize(compared);
  constexpr size_t kAhead = 6;  // number of vectors being prefetched
  for (size_t i = 0; i < std::min(kAhead, compared); i++) shardOf((*proposed)[i]).PrefetchVector((*proposed)[i].row);
  for (const ShardNeighbor& near : *proposed) shardOf(near).PrefetchInfo(near.row);
  size_t done = 0;
  const auto compareUntil = [&](size_t end) {
    for (; done < end; done++) {
      if (done + kAhead < end) shardOf((*proposed)[done + kAhead]).PrefetchVector((*proposed)[done + kAhead].row);
      ShardNeighbor& near = (*proposed)[done];
      shardOf(near).PrefetchDocument(near.row);
      near.similarity = query.Similarity(shardOf(near), near.row);
    }
  };
  compareUntil(std::min<size_t>(topK, compared));
  // Drop rows that are certainly farther than all of these.
  float farthest = 1;
  for (size_t i = 0; i < done; i++) farthest = std::min(farthest, (*proposed)[i].similarity);
  const auto rest = proposed->begin() + static_cast<std::ptrdiff_t>(done);
  const auto tooFar = [&](const ShardNeighbor& near) {
    return !query.MayReach(farthest, near.similarity, shardOf(near).codes(), near.row);
  };
  proposed->erase(std::remove_if(rest, proposed->end(), tooFar), proposed->end());
  compareUntil(proposed->size());
  std::sort(proposed->begin(), proposed->end(), nearer);
  // Ties are ordered by version and chunk, so look up all rows with equal similarity.
  nearest->clear();
  for (const ShardNeighbor& near : *proposed) {
    if (nearest->size() >= topK && near.similarity < nearest->back().score) break;
    nearest->push_back(ToScoredChunk(shardOf(near), near.shard, near.row, near.similarity));
  }
  KeepBest(nearest, topK);
}

}  // namespace quarry
