#include "engine/vector_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>

namespace quarry {
namespace {

constexpr size_t kScanStep = 1024;    // scanned rows, at least, between two looks at the clock
constexpr uint32_t kWordsMax = 1024;  // and words of 64 rows, at most
// A graph search that has computed so many distances per kept row has lost its way. It goes on nevertheless until it has
// computed as many as take half as long as a scan would; with a filter, where it may never arrive, an eighth.
constexpr uint64_t kDistancesPerEffortMax = 64;
constexpr uint64_t kScanPart = 4;
constexpr uint64_t kFilteredScanPart = 16;

// What it takes of a processor to find near rows in one shard, in microseconds, measured with rows of 384 dimensions.
constexpr float kScannedRow = 0.0105F;  // compared by its codes, rows in order
constexpr float kWalkStart = 5;         // down to the ground of the graph
constexpr float kWalkedEffort = 0.23F;  // for each row kept in view
constexpr float kSparseEffort = 1.2F;   // the same where neighbours of neighbours are looked through for matching rows

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
    // Where matching rows lie far from the query the graph does not get there, or only at a price.
    const bool tooFew = filtered && scratch_.results.size() < std::min<uint64_t>(effort_, matching);
    if (outcome == Graph::Outcome::kBudget || tooFew) return ScanCodes();
    for (size_t i = 0; i < std::min<size_t>(proposed_, scratch_.results.size()); i++) Propose(scratch_.results[i]);
    return {};
  }

  void Propose(const Near& near) {
    near_->rows.push_back({shard_.codes().codec().Similarity(near.score), near.row, view_.number()});
  }

  // Calls visit(rows) for all rows that may be in the answer, about kScanStep at a time.
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
    // The nearest so far and some that came since; now and then the farthest of them go.
    auto& kept = scratch_.results;
    kept.clear();
    int32_t bound = std::numeric_limits<int32_t>::min();  // of what came, only what is nearer can be proposed
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

  // Finds what comparing every row by its cosine would: codes only tell which rows cannot be among the nearest.
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
        // The likely ones first: the more of the rest is certainly farther.
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
  // Of evaluating a filter, for each row.
  constexpr float kFilteredRow = 0.002F;
  const bool filtered = request.filter.has_value();
  const float width = static_cast<float>(shard.dimensions()) / 384;
  const auto expected =
      filtered ? shard.filterRows().Expect(shard, *request.filter) : FilterRows::Expected{shard.Rows(), 0};
  // A scan takes as much as this at most; a walk takes it where few rows match.
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
  constexpr size_t kAhead = 6;  // vectors on their way from memory
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
  // What is certainly farther than all of these cannot be among the nearest.
  float farthest = 1;
  for (size_t i = 0; i < done; i++) farthest = std::min(farthest, (*proposed)[i].similarity);
  const auto rest = proposed->begin() + static_cast<std::ptrdiff_t>(done);
  const auto tooFar = [&](const NearRow& near) {
    return !query.MayReach(farthest, near.similarity, shardOf(near).codes(), near.row);
  };
  proposed->erase(std::remove_if(rest, proposed->end(), tooFar), proposed->end());
  compareUntil(proposed->size());
  std::sort(proposed->begin(), proposed->end(), nearer);
  // Of equally near rows the version and the chunk decide, so all of them are looked up.
  nearest->clear();
  for (const NearRow& near : *proposed) {
    if (nearest->size() >= wanted && near.similarity < nearest->back().score) break;
    nearest->push_back(Identify(shardOf(near), near.shard, near.row, near.similarity));
  }
  KeepBest(nearest, wanted);
}

}  // namespace quarry
