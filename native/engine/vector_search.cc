#include "engine/vector_search.h"

#include <algorithm>
#include <utility>

#include "engine/kernels.h"

namespace quarry {
namespace {

constexpr uint32_t kStopEvery = 1024;  // scanned rows between two looks at the clock

// Working memory of one thread.
GraphScratch& ThreadScratch() {
  thread_local GraphScratch scratch;
  return scratch;
}

class VectorSearch {
 public:
  VectorSearch(const ShardView& view, const SearchRequest& request, NearRows* near)
      : view_(view), shard_(view.shard()), request_(request), near_(near) {}

  Status Find(const float* query) {
    const bool filtered = view_.filtered();
    const uint64_t rows = shard_.Rows();
    const uint64_t matching = view_.Candidates();
    if (matching == 0) return {};
    const uint32_t effort =
        std::max(request_.effort != 0 ? request_.effort : kDefaultEffort, request_.vectorCandidates);
    if (ScanIsBetter(matching, rows, effort)) return Scan(query);
    near_->strategy = filtered ? Strategy::kFilteredGraph : Strategy::kGraph;
    Status stopped;
    const auto stop = [&] {
      stopped = request_.patience.Check();
      return !stopped.ok();
    };
    // Where matching rows lie far from the query the graph costs more than expected: then the scan takes over.
    const Graph::Query ask{query, effort, request_.scanning == Scanning::kNever ? UINT64_MAX : matching / 2};
    GraphScratch& scratch = ThreadScratch();
    const auto outcome = filtered ? shard_.graph().Search(
                                        ask, &scratch, [&](uint32_t row) { return view_.Matching().Has(row); }, stop)
                                  : shard_.graph().Search(
                                        ask, &scratch, [&](uint32_t row) { return view_.Visible(row); }, stop);
    if (outcome == Graph::Outcome::kStopped) return stopped;
    const bool tooFew = filtered && scratch.results.size() < std::min<uint64_t>(request_.vectorCandidates, matching);
    if (outcome == Graph::Outcome::kBudget || tooFew) return Scan(query);
    auto& results = scratch.results;
    std::sort(results.begin(), results.end(), NearerThan);
    if (results.size() > request_.vectorCandidates) results.resize(request_.vectorCandidates);
    for (const Near& near : results) near_->rows.push_back(view_.Identify(near.row, near.similarity));
    return {};
  }

 private:
  // What the graph would cost grows with rows / matching, what the scan costs with matching.
  bool ScanIsBetter(uint64_t matching, uint64_t rows, uint64_t effort) const {
    if (request_.scanning != Scanning::kByCost) return request_.scanning == Scanning::kAlways;
    return matching <= kScanRowsMax || matching * matching <= kScannedRowsPerResult * effort * rows;
  }

  Status Scan(const float* query) {
    const bool filtered = view_.filtered();
    near_->strategy = filtered ? Strategy::kFilteredScan : Strategy::kScan;
    const auto dot = BestKernels().dot;
    BestHeap best(request_.vectorCandidates);
    Status stopped;
    uint32_t scanned = 0;
    const auto visit = [&](uint32_t row) {
      const float similarity = dot(query, shard_.Vector(row), shard_.stride());
      if (best.WouldTake(similarity)) best.Offer(view_.Identify(row, similarity));
      if (++scanned % kStopEvery == 0) stopped = request_.patience.Check();
      return stopped.ok();
    };
    if (filtered) {
      view_.Matching().ForEach([&](size_t row) { return visit(static_cast<uint32_t>(row)); });
    } else {
      for (uint32_t row = 0, rows = shard_.Rows(); row < rows; row++) {
        if (view_.Visible(row) && !visit(row)) break;
      }
    }
    near_->rows = std::move(best.entries());
    return stopped;
  }

  const ShardView& view_;
  const Shard& shard_;
  const SearchRequest& request_;
  NearRows* const near_;
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

Status FindNear(const ShardView& view, const SearchRequest& request, const float* query, NearRows* near) {
  if (query == nullptr || request.vectorCandidates == 0) return {};
  return VectorSearch(view, request, near).Find(query);
}

}  // namespace quarry
