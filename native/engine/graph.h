// A navigable small-world graph over the rows of a shard (Malkov and Yashunin, arXiv 1603.09320): the vector side.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/bitset.h"
#include "engine/block_array.h"
#include "engine/code_array.h"
#include "engine/graph_pool.h"
#include "engine/row_list.h"

namespace quarry {

// Working memory of one thread, used again for every search and insertion.
struct GraphScratch {
  Bitset visited;
  GraphPool pool;
  RowList unseen;
  RowList passed;                 // rows outside a filter, whose neighbours stand in for them
  std::vector<Near> met;          // of a search: rows compared on the way down to the ground
  std::vector<Near> results;      // accepted rows, nearest first
  std::vector<uint32_t> scanned;  // of a scan: rows to be compared next

  // Of an insertion: rows to compare with, as signed codes.
  std::vector<Near> candidates;
  AlignedBytes inserted;
  AlignedBytes centre;
  std::vector<AlignedBytes> kept;
};

class Graph {
 public:
  static constexpr uint32_t kLinksUpper = 16;    // M
  static constexpr uint32_t kLinksGround = 32;   // 2 M
  static constexpr uint32_t kBuildEffort = 200;  // efConstruction
  static constexpr uint32_t kLevelMax = 15;
  // A filter is dense where one row in kDenseShare matches: then the rows that do not are compared like the others.
  // Where not one in kSparseShare does, the neighbours of neighbours lead nowhere.
  static constexpr uint32_t kDenseShare = 3;
  static constexpr uint32_t kSparseShare = 20;

  // A row of `codes` is written before it is inserted.
  explicit Graph(const CodeArray& codes) : codes_(codes) {}

  // Makes rows [0, rows) insertable. One caller at a time; their codes may be written later, before Insert.
  void Reserve(uint32_t rows);

  // For loading, before any other call: so many rows will be there.
  void ReserveExactly(uint32_t rows) { ground_.ReserveExactly(rows); }

  // Links `row` into the graph. Any threads may insert different rows at once, while others search.
  void Insert(uint32_t row, GraphScratch* scratch);

  // What a search wants to be told and asked.
  struct Query {
    CodeView view;
    uint32_t effort;  // rows kept while searching (ef), at least the number wanted
    uint64_t distancesMax;
  };
  // kBudget: distancesMax are computed, or the rows around the query are nearly all not accepted.
  enum class Outcome { kDone, kBudget, kStopped };
  // So many rows may be passed through at most, of those that one search keeps in view: they are kept sorted.
  static constexpr size_t PassedMax(uint32_t effort) { return std::min(64 * size_t{effort}, size_t{16384}); }
  // Leaves up to `effort` accepted rows, nearest first, in scratch->results. `accept(row)` decides what may be a
  // result; rows that may not are still passed through. `stop()` is asked every hundred distances or two.
  template <class Accept, class Stop>
  Outcome Search(const Query& query, GraphScratch* scratch, const Accept& accept, const Stop& stop) const;
  // A filter, as a search of the graph sees it.
  struct Filter {
    const Bitset& matching;
    float share;     // of all rows that match
    bool scattered;  // what Scattered answers
  };
  // Whether the rows that match, that share of all, lie among the others as if drawn by lot, and leave no region out:
  // then about the same share matches wherever a query leads. Judged by the neighbours of some rows of any kind. False
  // where too few match to say so; nothing while too few rows are linked.
  std::optional<bool> Scattered(const Bitset& matching, float share) const;
  // The same for a filter; a result matches and is visible. Where many rows around the query match, the search goes on
  // as above; where few do, rows that do not are never compared, their neighbours stand in for them; kBudget where next
  // to none do, as no way leads to those that do. Unless the filter is scattered, the rows nearest to the query decide.
  template <class Visible, class Stop>
  Outcome SearchMatching(const Query& query, const Filter& filter, GraphScratch* scratch, const Visible& visible,
                         const Stop& stop) const;

  // For snapshots: a copy of the row's links at `level`, without those to rows at or above `rows`.
  uint32_t CopyLinks(uint32_t row, uint32_t level, uint32_t rows, uint32_t* links) const;
  uint32_t LevelOf(uint32_t row) const { return levels_[row].load(std::memory_order_acquire); }
  bool Inserted(uint32_t row) const { return inserted_[row].load(std::memory_order_acquire) != 0; }
  // For loading, while nobody else uses the graph: puts a row in place as it was, and its links of an upper level.
  void RestoreRow(uint32_t row, uint32_t level);
  void RestoreLinks(uint32_t row, uint32_t level, const uint32_t* links, uint32_t count);
  // Calls fill(links, bytes) for the ground links of rows [0, rows), run by run, until it answers false. A row has
  // kLinksGround u32: the rows it is linked to, each plus one, then zeros.
  template <class Fill>
  void ForGroundRuns(uint32_t rows, const Fill& fill) {
    ground_.ForRuns(rows, [&](size_t, Link* links, size_t count) {
      return fill(static_cast<void*>(links), ground_.BytesOf(count));
    });
  }
  // Whether the ground links of rows [0, rows) are such lists, of rows below `rows`.
  bool CheckGround(uint32_t rows) const;

  size_t Bytes(uint32_t rows) const;

 private:
  using Link = std::atomic<uint32_t>;  // row + 1; zero ends the list
  static_assert(sizeof(Link) == sizeof(uint32_t) && Link::is_always_lock_free, "files hold them as they are");
  static constexpr size_t kLocks = 4096;
  static constexpr uint32_t kCopyShare = 4;
  // One that is not scattered is looked at through so many nearest rows of any kind, through more when none of them
  // passes.
  static constexpr uint32_t kProbes[] = {16, 48};
  // On the level above the ground so many rows are kept in view. One alone leads to the wrong region now and then, and a
  // search that keeps few rows in view stays there: of 1,000 questions to 100,000 rows ten found none of their 10 nearest
  // with an effort of 16. With four ways two to four did, with six two, at half a microsecond more.
  static constexpr uint32_t kWaysDown = 4;
  // So many rows are compared at once where they are there, for each row kept in view and at most: the memory that they
  // lie in answers meanwhile, and what they find is worth an effort that is higher by one.
  static constexpr size_t kTogetherPerEffort = 8;
  static constexpr size_t kTogetherMax = 96;
  // Highest level and the row it is entered by, in one word, so that nobody sees half a change: level << 32 | row.
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  class RowLock;
  class Counter;

  Link* LinksOf(uint32_t row, uint32_t level) const;
  static uint32_t LinksMax(uint32_t level) { return level == 0 ? kLinksGround : kLinksUpper; }
  static uint32_t LevelFor(uint32_t row);
  void ReserveUpper(uint32_t row, uint32_t level);
  // Moves to the nearest of the neighbours at an upper level, if one is nearer than the place itself.
  bool Approach(const CodeView& query, uint32_t level, Near* place) const;
  // Walks greedily from `start` down the levels (from, to], and returns the nearest row found.
  Near Descend(const CodeView& query, Near start, uint32_t from, uint32_t to) const;
  // Finds rows by which the ground is entered, leaves them in scratch->met and marks them as visited; kWaysDown
  // rows are kept in view on the level above it. False when the graph is empty.
  bool DescendToGround(const CodeView& query, GraphScratch* scratch) const;
  // Which of these rows a search begins with: all, or those that it accepts and the nearest.
  enum class Entrance { kAll, kAccepted };
  // Descends, and puts them into the pool.
  template <class Accept>
  bool Enter(const Query& query, Entrance entrance, GraphScratch* scratch, const Accept& accept) const;
  // Goes on from the rows in the pool: `collect(row)` leaves what to compare next in scratch->unseen.
  template <class Collect, class Accept, class Stop>
  Outcome Walk(const Query& query, GraphScratch* scratch, const Collect& collect, const Accept& accept,
               const Stop& stop) const;
  // The two ways of going on: over all rows, and over those that match alone.
  template <class Accept, class Stop>
  Outcome WalkAll(const Query& query, GraphScratch* scratch, const Accept& accept, const Stop& stop) const;
  template <class Visible, class Stop>
  Outcome WalkMatching(const Query& query, const Bitset& matching, GraphScratch* scratch, const Visible& visible,
                       const Stop& stop) const;
  // Calls visit(neighbour) for those neighbours of `row` that are among the first `rows` rows.
  template <class Visit>
  void ForLinks(uint32_t row, uint32_t level, size_t rows, const Visit& visit) const;
  // Leaves in scratch->unseen what `collect(row)` adds for the best rows of the pool that were not looked at yet: for one,
  // and for more as long as that is less than is compared at once. False when there is no such row.
  template <class Collect>
  static bool NextRows(GraphScratch* scratch, const Collect& collect);
  // Collects the neighbours of `row` that were not visited, and marks them.
  void CollectUnseen(uint32_t row, uint32_t level, GraphScratch* scratch) const;
  // The same on the ground, but only those that match; behind one that does not, its neighbours that do.
  void CollectMatching(uint32_t row, const Bitset& matching, GraphScratch* scratch) const;
  // The rows nearest to `query` at `level`, kBuildEffort at most, nearest first, in scratch->candidates.
  void SearchLevel(const CodeView& query, uint32_t self, Near start, uint32_t level, GraphScratch* scratch) const;
  // Keeps at most `count` of scratch->candidates, none nearer to a kept one than to the centre, whose score with itself
  // is `self`. Copies of the centre stand in nobody's way: they come last and fill what room is left, or one place in
  // kCopyShare, so that they keep each other findable.
  void Diversify(uint32_t count, int32_t self, GraphScratch* scratch) const;
  void SetLinks(uint32_t row, uint32_t level, const std::vector<Near>& links);
  void AddLink(uint32_t row, uint32_t level, uint32_t target, GraphScratch* scratch);
  void PrefetchLinks(uint32_t row) const;

  const CodeArray& codes_;
  BlockArray<Link> ground_{kLinksGround};
  BlockArray<Link> upper_{kLinksUpper};
  BlockArray<std::atomic<uint32_t>> upperStart_;  // first row of upper_ that belongs to the row, for level 1
  BlockArray<std::atomic<uint8_t>> levels_;
  BlockArray<std::atomic<uint8_t>> inserted_;
  std::atomic<uint32_t> rows_{0};  // rows reserved; stored before any of them can be linked to
  std::atomic<uint64_t> entry_{kEmpty};
  std::atomic_flag upperLock_ = ATOMIC_FLAG_INIT;
  uint32_t upperUsed_ = 0;                       // guarded by upperLock_
  mutable std::atomic_flag locks_[kLocks] = {};  // a row's links are written under locks_[row % kLocks]
};

}  // namespace quarry

#include "engine/graph_search.h"
