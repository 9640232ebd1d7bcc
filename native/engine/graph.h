// Hierarchical navigable small-world (HNSW) graph over the rows of a shard (Malkov and Yashunin, arXiv 1603.09320).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/bitset.h"
#include "engine/block_array.h"
#include "engine/candidate_pool.h"
#include "engine/code_array.h"
#include "engine/row_list.h"

namespace quarry {

// Working memory of one thread, reused for every search and insertion.
struct GraphScratch {
  Bitset visited;
  CandidatePool pool;
  RowList unvisited;
  RowList rejected;                   // rows outside a filter, whose neighbors are scanned instead
  std::vector<Neighbor> entryPoints;  // search: rows compared during the descent to layer 0
  std::vector<Neighbor> results;      // search: accepted rows, nearest first
  std::vector<uint32_t> scanned;      // scan: rows to compare next

  // Insertion: rows to compare with, as signed codes.
  std::vector<Neighbor> candidates;
  AlignedBytes inserted;
  AlignedBytes center;
  std::vector<AlignedBytes> kept;
};

class Graph {
 public:
  static constexpr uint32_t kLinksUpper = 16;       // M
  static constexpr uint32_t kLinksLayer0 = 32;      // 2 M
  static constexpr uint32_t kEfConstruction = 200;  // efConstruction
  static constexpr uint32_t kLevelMax = 15;
  // A filter is dense if at least one row in kDenseDivisor matches: then rows that do not match are compared
  // like the others. If fewer than one row in kSparseDivisor match, even neighbors of neighbors rarely match.
  static constexpr uint32_t kDenseDivisor = 3;
  static constexpr uint32_t kSparseDivisor = 20;

  // The row in `codes` must be written before Insert.
  explicit Graph(const CodeArray& codes) : codes_(codes) {}

  // Makes rows [0, rows) insertable. One caller at a time. Their codes may be written later, before Insert.
  void Reserve(uint32_t rows);

  // For loading, before any other call: announces the final number of rows.
  void ReserveExactly(uint32_t rows) { layer0_.ReserveExactly(rows); }

  // Links `row` into the graph. Several threads may insert different rows concurrently, while others search.
  void Insert(uint32_t row, GraphScratch* scratch);

  // Parameters of a search.
  struct Query {
    CodeView view;
    uint32_t ef;  // candidates kept while searching (ef), at least the number of wanted rows
    uint64_t distancesMax;
  };
  // kBudget: distancesMax distances were computed, or almost no row around the query is accepted. kStopped:
  // `stop` returned true.
  enum class Outcome { kDone, kBudget, kStopped };
  // Maximum number of non-accepted rows that one search keeps in its pool: the pool is sorted, so its size
  // costs time.
  static constexpr size_t RejectedMax(uint32_t ef) { return std::min(64 * size_t{ef}, size_t{16384}); }
  // Leaves up to `ef` accepted rows, nearest first, in scratch->results. `accept(row)` decides which rows
  // may be results; other rows are still traversed. `stop()` is called about every hundred distances.
  template <class Accept, class Stop>
  Outcome Search(const Query& query, GraphScratch* scratch, const Accept& accept, const Stop& stop) const;
  // A filter as used by a graph search.
  struct Filter {
    const Bitset& matching;
    float share;        // fraction of all rows that match
    bool uncorrelated;  // result of IsUncorrelated
  };
  // Whether the matching rows, a fraction `share` of all, are distributed among the others as if drawn at random,
  // without gaps in any region: then about the same fraction matches around every query. Estimated from the neighbors
  // of a sample of rows. Returns false if too few rows match to decide, and nullopt while too few rows are linked.
  std::optional<bool> IsUncorrelated(const Bitset& matching, float share) const;
  // As Search, with a filter: a result must match and be visible. If many rows around the query match, the
  // search runs as above. If few do, rows that do not match are never compared; their neighbors are scanned
  // instead. Returns kBudget if almost none match, because no path leads to those that do. Unless the filter
  // is uncorrelated, the nearest rows to the query decide.
  template <class Visible, class Stop>
  Outcome SearchMatching(const Query& query, const Filter& filter, GraphScratch* scratch, const Visible& visible,
                         const Stop& stop) const;

  // For snapshots: copies the row's links at `level`, except those to rows at or above `rows`. Returns their number.
  uint32_t CopyLinks(uint32_t row, uint32_t level, uint32_t rows, uint32_t* links) const;
  uint32_t LevelOf(uint32_t row) const { return levels_[row].load(std::memory_order_acquire); }
  bool IsInserted(uint32_t row) const { return inserted_[row].load(std::memory_order_acquire) != 0; }
  // For loading, while no other thread uses the graph: restores a row with its level, and its links at an
  // upper level.
  void RestoreRow(uint32_t row, uint32_t level);
  void RestoreLinks(uint32_t row, uint32_t level, const uint32_t* links, uint32_t count);
  // Calls fill(links, bytes) for the layer 0 links of rows [0, rows), run by run, until it returns false. A
  // row has kLinksLayer0 u32: the linked rows, each plus one, then zeros.
  template <class Fill>
  void ForLayer0Runs(uint32_t rows, const Fill& fill) {
    layer0_.ForRuns(rows, [&](size_t, Link* links, size_t count) {
      return fill(static_cast<void*>(links), layer0_.BytesOf(count));
    });
  }
  // Whether the layer 0 links of rows [0, rows) are well-formed and refer only to rows below `rows`.
  bool CheckLayer0(uint32_t rows) const;

  size_t Bytes(uint32_t rows) const;

 private:
  using Link = std::atomic<uint32_t>;  // row + 1; zero ends the list
  static_assert(sizeof(Link) == sizeof(uint32_t) && Link::is_always_lock_free, "files hold them as they are");
  static constexpr size_t kLocks = 4096;
  static constexpr uint32_t kDuplicateDivisor = 4;
  // Numbers of nearest rows probed for a correlated filter: more are probed only if none of the
  // first matches.
  static constexpr uint32_t kProbeEfs[] = {16, 48};
  // Candidates kept on the level above layer 0. A single one occasionally leads to the wrong region, where a search
  // with a small ef stays: with ef 16, ten of 1,000 queries to 100,000 rows found none of their 10 nearest rows. With
  // four candidates two to four queries did, with six two, at a cost of half a microsecond more.
  static constexpr uint32_t kLayer1BeamWidth = 4;
  // Rows compared in one batch if available: per candidate kept, and at most. Batching hides memory latency,
  // and its extra results are worth one more in ef.
  static constexpr size_t kBatchPerEf = 8;
  static constexpr size_t kBatchMax = 96;
  // Highest level and its entry row in one word, so that readers never see a partial change: level << 32 | row.
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  class SpinLock;
  class RowLock;
  class DistanceCounter;

  Link* LinksOf(uint32_t row, uint32_t level) const;
  static uint32_t LinksMax(uint32_t level) { return level == 0 ? kLinksLayer0 : kLinksUpper; }
  static uint32_t LevelFor(uint32_t row);
  void ReserveUpper(uint32_t row, uint32_t level);
  // Moves `current` to the nearest of its neighbors at an upper level. Returns false if none is nearer.
  bool GreedyStep(const CodeView& query, uint32_t level, Neighbor* current) const;
  // Walks greedily from `start` down the levels (from, to] and returns the nearest row found.
  Neighbor Descend(const CodeView& query, Neighbor start, uint32_t from, uint32_t to) const;
  // Finds the entry rows of layer 0, leaves them in scratch->entryPoints and marks them as visited. Keeps kLayer1BeamWidth
  // candidates on the level above. Returns false if the graph is empty.
  bool DescendToLayer0(const CodeView& query, GraphScratch* scratch) const;
  // Entry rows with which a search begins: all, or the accepted ones and the nearest.
  enum class SeedPolicy { kAll, kAccepted };
  // Descends and adds the entry rows to the pool.
  template <class Accept>
  bool SeedPool(const Query& query, SeedPolicy seedPolicy, GraphScratch* scratch, const Accept& accept) const;
  // Continues from the rows in the pool. `collect(row)` leaves the rows to compare next in scratch->unvisited.
  template <class Collect, class Accept, class Stop>
  Outcome Walk(const Query& query, GraphScratch* scratch, const Collect& collect, const Accept& accept,
               const Stop& stop) const;
  // The two kinds of walk: over all rows, and over matching rows only.
  template <class Accept, class Stop>
  Outcome WalkAll(const Query& query, GraphScratch* scratch, const Accept& accept, const Stop& stop) const;
  template <class Visible, class Stop>
  Outcome WalkMatching(const Query& query, const Bitset& matching, GraphScratch* scratch, const Visible& visible,
                       const Stop& stop) const;
  // Calls visit(neighbor) for the neighbors of `row` among the first `rows` rows.
  template <class Visit>
  void ForLinks(uint32_t row, uint32_t level, size_t rows, const Visit& visit) const;
  // Calls `collect(row)` for the best unexpanded row of the pool, and for more until scratch->unvisited fills a
  // batch. Returns false if every row of the pool was expanded.
  template <class Collect>
  static bool NextBatch(GraphScratch* scratch, const Collect& collect);
  // Collects the unvisited neighbors of `row` and marks them as visited.
  void CollectUnvisited(uint32_t row, uint32_t level, GraphScratch* scratch) const;
  // As CollectUnvisited on layer 0, but only matching rows. For a neighbor that does not match, its matching neighbors.
  void CollectMatching(uint32_t row, const Bitset& matching, GraphScratch* scratch) const;
  // Leaves the rows nearest to `query` at `level`, at most kEfConstruction, nearest first, in scratch->candidates.
  void SearchLevel(const CodeView& query, uint32_t self, Neighbor start, uint32_t level, GraphScratch* scratch) const;
  // Keeps at most `count` of scratch->candidates such that none is nearer to a kept one than to the center,
  // whose score with itself is `self`. Duplicates of the center exclude no other candidate: they come last and
  // fill the free entries, or one entry in kDuplicateDivisor, so that duplicates stay reachable from each other.
  void Diversify(uint32_t count, int32_t self, GraphScratch* scratch) const;
  void SetLinks(uint32_t row, uint32_t level, const std::vector<Neighbor>& links);
  void AddLink(uint32_t row, uint32_t level, uint32_t target, GraphScratch* scratch);
  void PrefetchLinks(uint32_t row) const;

  const CodeArray& codes_;
  BlockArray<Link> layer0_{kLinksLayer0};
  BlockArray<Link> upper_{kLinksUpper};
  BlockArray<std::atomic<uint32_t>> upperStart_;  // first row of upper_ that belongs to the row, at level 1
  BlockArray<std::atomic<uint8_t>> levels_;
  BlockArray<std::atomic<uint8_t>> inserted_;
  std::atomic<uint32_t> rows_{0};  // rows reserved; stored before any link to them
  std::atomic<uint64_t> entry_{kEmpty};
  std::atomic_flag upperLock_ = ATOMIC_FLAG_INIT;
  uint32_t upperUsed_ = 0;                       // guarded by upperLock_
  mutable std::atomic_flag locks_[kLocks] = {};  // a row's links are written under locks_[row % kLocks]
};

}  // namespace quarry

#include "engine/graph_search.h"
