#include "engine/vector_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>

namespace quarry {
namespace {

constexpr size_t kScanStep = 1024;    // minimum number of rows scanned between two deadline checks
constexpr uint32_t kWordsMax = 1024;  // maximum number of words of 64 rows scanned between two deadline checks
// A graph search that has computed this many distances per kept candidate is considered lost. It still continues
// until the distances have taken half the time of a scan; with a filter, for which it may never succeed, an eighth.
constexpr uint64_t kDistancesPerEffortMax = 64;
constexpr uint64_t kScanPart = 4;
constexpr uint64_t kFilteredScanPart = 16;

// CPU cost of finding the nearest rows in one shard, in microseconds, measured with rows of 384 dimensions.
constexpr float kScannedRow = 0.0105F;  // one row compared by its codes, in row order
constexpr float kWalkStart = 5;         // descent to layer 0 of the graph
constexpr float kWalkedEffort = 0.23F;  // per candidate kept (ef)
constexpr float kSparseEffort = 1.2F;   // per candidate kept, if neighbors of neighbors are searched for matching rows

float ScanCost(uint64_t rows) { return kScannedRow * static_cast<float>(rows); }
float WalkCost(uint32_t effort, bool sparse) {
  return kWalkStart + (sparse ? kSparseEffort : kWalkedEffort) * static_cast<float>(effort);
}

constexpr auto kNearerByCodes = [](Near left, Near right) { return left.score > right.score; };

// Working memory of one thread.
GraphScratch& ThreadScratch() {
  thread_local GraphScratch scratch;
  return scratch;
}

class VectorSearch {
 public:
  VectorSearch(const ShardView& view, const SearchRequest& request, const NearQuery& query, const Breadth& breadth,
               NearRows* near)
      : view_(view),
        shard_(view.shard()),
        request_(request),
        query_(query),
        effort_(breadth.effort),
        proposed_(breadth.proposed),
        near_(near),
        scratch_(ThreadScratch()) {}

  Status Find() {
    const uint64_t matching = view_.Candidates();
    near_->complete = matching <= proposed_;
    if (matching == 0) return {};
    if (matching <= kExactRowsMax ? request_.scanning != Scanning::kNever : request_.scanning == Scanning::kAlways) {
      return ScanExactly();
    }
    if (ScanIsBetter(matching)) return ScanCodes();
    return Walk(matching);
  }

 private:
  bool ScanIsBetter(uint64_t matching) const {
    if (request_.scanning == Scanning::kNever) return false;
    const bool sparse = view_.filtered() && matching * Graph::kDenseShare < shard_.Rows();
    if (ScanCost(matching) <= WalkCost(effort_, sparse)) return true;
    return view_.filtered() && (matching <= kScanRowsMax || matching * Graph::kSparseShare <= shard_.Rows());
  }

  // A distance takes twice as long as a scanned row.
  uint64_t DistancesMax(uint64_t matching) const {
    return std::max(kDistancesPerEffortMax * effort_, matching / (view_.filtered() ? kFilteredScanPart : kScanPart));
  }

  Status Walk(uint64_t matching) {
    const bool filtered = view_.filtered();
    near_->effort = effort_;
    near_->strategy = filtered ? Strategy::kFilteredGraph : Strategy::kGraph;
    Status stopped;
    const auto stop = [&] {
      stopped = request_.patience.Check();
      return !stopped.ok();
    };
    const bool unbounded = request_.scanning == Scanning::kNever;
    const Graph::Query ask{query_.coded().view(), effort_, unbounded ? UINT64_MAX : DistancesMax(matching)};
    const Graph& graph = shard_.graph();
    const auto visible = [&](uint32_t row) { return view_.Visible(row); };
    const auto share = static_cast<float>(matching) / static_cast<float>(shard_.Rows());
    const auto outcome =
        filtered ? graph.SearchMatching(ask, {view_.Matching(), share, view_.Scattered()}, &scratch_, visible, stop)
                 : graph.Search(ask, &scratch_, visible, stop);
    if (outcome == Graph::Outcome::kStopped) return stopped;
    // If matching rows lie far from the query, the graph search does not reach them, or only at a high cost.
    const bool tooFew = filtered && scratch_.results.size() < std::min<uint64_t>(effort_, matching);
    if (outcome == Graph::Outcome::kBudget || tooFew) return ScanCodes();
    for (size_t i = 0; i < std::min<size_t>(proposed_, scratch_.results.size()); i++) Propose(scratch_.results[i]);
    return {};
  }

  void Propose(const Near& near) {
    near_->rows.push_back({shard_.codes().codec().Similarity(near.score), near.row, view_.number()});
  }

  // Calls visit(rows) for all rows that may be in the result, about kScanStep at a time.
  template <class Visit>
  Status ForEachStep(const Visit& visit) {
    near_->effort = 0;
    near_->strategy = view_.filtered() ? Strategy::kFilteredScan : Strategy::kScan;
    scratch_.scanned.resize(kScanStep + 64);
    uint32_t* const rows = scratch_.scanned.data();
    Status stopped;
    for (uint32_t word = 0, end = (shard_.Rows() + 63) / 64; word < end && stopped.ok();) {
      const size_t count = view_.List(&word, std::min(end, word + kWordsMax), kScanStep, rows);
      visit(std::span<const uint32_t>(rows, count));
      if (word < end) stopped = request_.patience.Check();
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
      shard_.codes().Compare(query_.coded().view(), rows, [&](Near near) {
        if (near.score <= bound) return;
        kept.push_back(near);
        if (kept.size() >= 2 * size_t{proposed_}) cut();
      });
    });
    cut();
    for (const Near& near : kept) Propose(near);
    return status;
  }

  // Returns the same rows as comparing every row by its exact cosine: codes only exclude rows that cannot be
  // among the nearest.
  Status ScanExactly() {
    auto& best = near_->rows;  // a heap, farthest on top
    const auto nearer = [](const NearRow& left, const NearRow& right) {
      return left.similarity != right.similarity ? left.similarity > right.similarity : left.row < right.row;
    };
    auto& scored = scratch_.results;
    return ForEachStep([&](std::span<const uint32_t> rows) {
      scored.clear();
      shard_.codes().Compare(query_.coded().view(), rows, [&](Near near) { scored.push_back(near); });
      if (scored.size() > proposed_) {
        // Process likely candidates first: then more of the remaining rows can be excluded.
        std::nth_element(scored.begin(), scored.begin() + proposed_, scored.end(), kNearerByCodes);
      }
      const float error = query_.ErrorMax(shard_.codes());
      for (const auto [score, row] : scored) {
        if (best.size() == proposed_) {
          if (shard_.codes().codec().Similarity(score) + error < best.front().similarity) continue;
        }
        const NearRow near{query_.Similarity(shard_, row), row, view_.number()};
        if (best.size() == proposed_) {
          if (!nearer(near, best.front())) continue;
          std::pop_heap(best.begin(), best.end(), nearer);
          best.pop_back();
        }
        best.push_back(near);
        std::push_heap(best.begin(), best.end(), nearer);
      }
    });
  }

  const ShardView& view_;
  const Shard& shard_;
  const SearchRequest& request_;
  const NearQuery& query_;
  const uint32_t effort_;
  const uint32_t proposed_;
  NearRows* const near_;
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

void NearQuery::Set(const std::vector<float>& vector, const Codec& codec) {
  const size_t padded = PaddedDimensions(vector.size());
  exact_.Grow(padded * sizeof(float));
  std::copy(vector.begin(), vector.end(), exact_.As<float>());
  std::fill(exact_.As<float>() + vector.size(), exact_.As<float>() + padded, 0.0F);
  codec.Query(vector.data(), &coded_);
  squares_ = codec.Squares(coded_.view());
}

Status FindNear(const ShardView& view, const SearchRequest& request, const NearQuery& query, const Breadth& breadth,
                NearRows* near) {
  near->Clear();
  return VectorSearch(view, request, query, breadth, near).Find();
}

float NearCost(const Shard& shard, const SearchRequest& request, const Breadth& breadth) {
  // Cost of evaluating a filter, per row.
  constexpr float kFilteredRow = 0.002F;
  const bool filtered = request.filter.has_value();
  const float width = static_cast<float>(shard.dimensions()) / 384;
  const auto expected =
      filtered ? shard.filterRows().Expect(shard, *request.filter) : FilterRows::Expected{shard.Rows(), 0};
  // Upper bound of a scan; a walk costs as much if few rows match.
  const float near = std::min(WalkCost(breadth.effort, filtered), ScanCost(expected.matching)) * width;
  return near + kFilteredRow * static_cast<float>(expected.unseen);
}

void ChooseNearest(const Moment& moment, const NearQuery& query, uint32_t wanted, std::vector<NearRow>* proposed,
                   std::vector<Scored>* nearest) {
  const auto nearer = [](const NearRow& left, const NearRow& right) { return left.similarity > right.similarity; };
  const auto shardOf = [&](const NearRow& near) -> const Shard& { return *(*moment.shards)[near.shard]; };
  const size_t compared = std::min<size_t>(ProposedRows(wanted), proposed->size());
  std::partial_sort(proposed->begin(), proposed->begin() + static_cast<std::ptrdiff_t>(compared), proposed->end(),
                    nearer);
  proposed->resize(compared);
  constexpr size_t kAhead = 6;  // number of vectors being prefetched
  for (size_t i = 0; i < std::min(kAhead, compared); i++) shardOf((*proposed)[i]).PrefetchVector((*proposed)[i].row);
  for (const NearRow& near : *proposed) shardOf(near).PrefetchFacts(near.row);
  size_t done = 0;
  const auto compareUntil = [&](size_t end) {
    for (; done < end; done++) {
      if (done + kAhead < end) shardOf((*proposed)[done + kAhead]).PrefetchVector((*proposed)[done + kAhead].row);
      NearRow& near = (*proposed)[done];
      shardOf(near).PrefetchDocument(near.row);
      near.similarity = query.Similarity(shardOf(near), near.row);
    }
  };
  compareUntil(std::min<size_t>(wanted, compared));
  // Drop rows that are certainly farther than all of these.
  float farthest = 1;
  for (size_t i = 0; i < done; i++) farthest = std::min(farthest, (*proposed)[i].similarity);
  const auto rest = proposed->begin() + static_cast<std::ptrdiff_t>(done);
  const auto tooFar = [&](const NearRow& near) {
    return !query.MayReach(farthest, near.similarity, shardOf(near).codes(), near.row);
  };
  proposed->erase(std::remove_if(rest, proposed->end(), tooFar), proposed->end());
  compareUntil(proposed->size());
  std::sort(proposed->begin(), proposed->end(), nearer);
  // Ties are ordered by version and chunk, so look up all rows with equal similarity.
  nearest->clear();
  for (const NearRow& near : *proposed) {
    if (nearest->size() >= wanted && near.similarity < nearest->back().score) break;
    nearest->push_back(Identify(shardOf(near), near.shard, near.row, near.similarity));
  }
  KeepBest(nearest, wanted);
}

}  // namespace quarry
