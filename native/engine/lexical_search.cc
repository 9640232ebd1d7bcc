#include "engine/lexical_search.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "engine/lexical_scan.h"
#include "engine/max_score_search.h"
#include "engine/posting_cursor.h"
#include "engine/row_count_cache.h"

namespace quarry {
namespace {

constexpr uint32_t kCheckEveryBlocks = 64;  // blocks counted between two deadline checks

// Cursors of one thread, which are large: allocating them for each rare word took 2 us.
class CursorPool {
 public:
  // Opens the lists of the terms. The cursors are valid until the next call.
  std::span<const std::unique_ptr<PostingCursor>> OpenAll(const Postings& postings,
                                                          const std::vector<uint64_t>& hashes) {
    size_t open = 0;
    for (const uint64_t hash : hashes) {
      if (open == cursors_.size()) cursors_.push_back(std::make_unique<PostingCursor>());
      open += postings.Open(hash, cursors_[open].get()) ? 1 : 0;
    }
    return {cursors_.data(), open};
  }
  static CursorPool& OfThread() {
    thread_local CursorPool pool;
    return pool;
  }

 private:
  std::vector<std::unique_ptr<PostingCursor>> cursors_;
};
using Cursors = std::span<const std::unique_ptr<PostingCursor>>;

// Counts the visible rows that contain at least one of the terms.
Status CountRows(const ShardView& view, const CancellationToken& cancellation, Cursors cursors, uint64_t* count) {
  Bitset counted(cursors.size() > 1 ? view.shard().Rows() : 0);
  uint32_t blocks = 0;
  for (const auto& opened : cursors) {
    PostingCursor& cursor = *opened;
    for (; !cursor.AtEnd(); cursor.NextBlock()) {
      if (++blocks % kCheckEveryBlocks == 0) {
        if (Status status = cancellation.Check(); !status.ok()) return status;
      }
      const uint32_t* rows = cursor.Rows();
      for (uint32_t i = 0, size = cursor.Size(); i < size; i++) {
        // Rows added after the set was created are not visible at its epoch.
        if (!view.IsVisible(rows[i])) continue;
        *count += cursors.size() == 1 || !counted.TestAndAdd(rows[i]) ? 1 : 0;
      }
    }
  }
  return {};
}

// Returns the number of rows of the document that contain a term. Documents must be passed in ascending row order.
uint64_t RowsOf(const RowCountCache::Change& document, Cursors cursors) {
  uint64_t count = 0;
  uint32_t counts = 0;
  for (uint32_t row = document.firstRow; row < document.firstRow + document.rowCount; row++) {
    bool any = false;
    for (const auto& cursor : cursors) any = cursor->Find(row, &counts) || any;
    count += any ? 1 : 0;
  }
  return count;
}

}  // namespace

Status LexicalSearch::Count(const TermGroups& groups) {
  PrefetchLists(view_.shard().postings(), groups);
  for (const auto& group : groups) {
    std::vector<uint64_t> hashes;
    for (const QueryTerm& term : group) hashes.push_back(term.hash);
    std::sort(hashes.begin(), hashes.end());
    hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
    if (Status status = CountGroup(hashes, &counts_.emplace_back()); !status.ok()) return status;
  }
  return {};
}

Status LexicalSearch::CountGroup(const std::vector<uint64_t>& hashes, uint64_t* count) const {
  const Shard& shard = view_.shard();
  RowCountCache::CachedCount cached;
  const bool isCached = shard.rowCountCache().Lookup(hashes, readSnapshot_.epoch, &cached);
  *count = cached.count;
  if (isCached && cached.since.empty()) return {};
  const Cursors cursors = CursorPool::OfThread().OpenAll(shard.postings(), hashes);
  uint64_t postings = 0;
  for (const auto& cursor : cursors) postings += cursor->Count();
  if (isCached) {
    uint64_t rows = 0;
    for (size_t i = 0; i < cached.since.size(); i++) {
      const RowCountCache::Change& change = cached.since[i];
      // A document that was added and removed in between has two changes.
      if (i == 0 || cached.since[i - 1].firstRow != change.firstRow) rows = RowsOf(change, cursors);
      *count += change.added ? rows : -rows;
    }
  } else if (Status status = CountRows(view_, request_.cancellation, cursors, count); !status.ok()) {
    return status;
  }
  if (postings > kBlockPostings) shard.rowCountCache().Insert(hashes, readSnapshot_.epoch, *count);
  return {};
}

Status LexicalSearch::Score(const TermGroups& groups, const std::vector<float>& idfs, ScoreFloor* floor,
                            std::vector<ScoredChunk>* best, LexicalScores* near) const {
  const LexicalQuery query{view_, readSnapshot_, request_, groups, idfs};
  const bool scans = request_.postingScanMode == ScanMode::kAuto ? IsScanApplicable(view_.shard(), groups)
                                                                 : request_.postingScanMode == ScanMode::kAlways;
  if (!scans) return SearchByMaxScore(query, floor, best, near);
  ScanPostings(query, floor, best, near);
  return {};
}

}  // namespace quarry
