#include "engine/lexical_scan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/best_rows.h"
#include "engine/bm25.h"
#include "engine/posting_cursor.h"

namespace quarry {
namespace {

// With more rows, the totals exceed a near CPU cache; with more postings, bounds save work: among 21,157 rows of
// Wikipedia, a query with 16,000 to 24,000 postings took 95 us in a scan and 135 us with bounds, one with more than
// 32,000 took 153 and 130 us.
constexpr uint32_t kScannedRowsMax = 1 << 16;
constexpr uint64_t kScannedPostingsMax = 1 << 15;

class LexicalScan {
 public:
  explicit LexicalScan(const LexicalQuery& query)
      : view_(query.view),
        shard_(view_.shard()),
        rows_(shard_.Rows()),
        bm25_(query.readSnapshot),
        scratch_(ThreadScratch()) {
    scratch_.totals.Reserve(rows_);
    scratch_.gains.Reserve(rows_);
  }
  LexicalScan(const LexicalScan&) = delete;
  LexicalScan& operator=(const LexicalScan&) = delete;
  ~LexicalScan() {
    scratch_.totals.Clear();
    scratch_.gains.Clear();
  }

  void AddWords(const TermGroups& groups, const std::vector<float>& idfs) {
    PrefetchLists(shard_.postings(), groups);
    for (size_t i = 0; i < groups.size(); i++) AddWord(groups[i], idfs[i]);
  }

  float ScoreOf(uint32_t row) const { return scratch_.totals.values[row]; }

  void FindBest(ScoreFloor* floor, BestRows* best) const {
    const uint32_t* const rows = scratch_.totals.rows.data();
    const float* const totals = scratch_.totals.values.data();
    float scoreMin = floor->Get();
    for (uint32_t i = 0, count = scratch_.totals.count; i < count; i++) {
      const uint32_t row = rows[i];
      if (totals[row] < scoreMin || !view_.IsVisible(row)) continue;
      if (view_.IsFiltered() && !view_.Matching().Has(row)) continue;
      best->Offer(row, totals[row]);
      scoreMin = std::max(scoreMin, best->MinCompetitiveScore());
    }
    floor->Raise(best->MinCompetitiveScore());
  }

 private:
  // Values of rows. All are 0 between two searches.
  struct RowValues {
    void Reserve(uint32_t rowsMax) {
      if (values.size() >= rowsMax) return;
      rows.resize(size_t{rowsMax} + 1);
      values.resize(rowsMax);
    }
    void Clear() {
      for (uint32_t i = 0; i < count; i++) values[rows[i]] = 0;
      count = 0;
    }
    // Replaces the value of each of `size` rows by combine(value, gain). The rows are distinct, and no value
    // decreases. Local copies: otherwise the compiler stores the count in each step. New rows are noted without a
    // branch, which the processor would often predict wrongly.
    template <class Combine>
    void Update(const uint32_t* changed, const float* gains, uint32_t size, Combine combine) {
      float* const all = values.data();
      uint32_t* const noted = rows.data();
      uint32_t next = count;
      for (uint32_t i = 0; i < size; i++) {
        const uint32_t row = changed[i];
        const float value = all[row];
        const float updated = combine(value, gains[i]);
        noted[next] = row;
        next += static_cast<uint32_t>(value <= 0) & static_cast<uint32_t>(updated > 0);
        all[row] = updated;
      }
      count = next;
    }

    std::vector<float> values;   // by row
    std::vector<uint32_t> rows;  // the first `count`: rows with a value above 0; one more may be written
    uint32_t count = 0;
  };

  // Working memory of one thread.
  struct Scratch {
    RowValues totals;
    RowValues gains;  // of the current word
    PostingCursor first;
    PostingCursor other;
  };
  static Scratch& ThreadScratch() {
    thread_local Scratch scratch;
    return scratch;
  }

  // Of the alternatives of a word only the best counts in a row. Most words have one list, whose gains need no
  // comparison.
  void AddWord(const std::vector<QueryTerm>& terms, float idf) {
    const QueryTerm* first = nullptr;
    bool compared = false;
    for (const QueryTerm& term : terms) {
      if (first == nullptr) {
        if (shard_.postings().Open(term.hash, &scratch_.first)) first = &term;
      } else if (shard_.postings().Open(term.hash, &scratch_.other)) {
        if (!compared) RaiseGains(&scratch_.first, first->weight, idf);
        RaiseGains(&scratch_.other, term.weight, idf);
        compared = true;
      }
    }
    if (compared) return AddGains();
    if (first != nullptr) AddToTotals(&scratch_.first, first->weight, idf);
  }

  void AddToTotals(PostingCursor* cursor, float weight, float idf) {
    ForEachBlock(cursor, weight, idf, [&](const uint32_t* rows, const float* gains, uint32_t size) {
      scratch_.totals.Update(rows, gains, size, [](float total, float gain) { return total + gain; });
    });
  }

  void RaiseGains(PostingCursor* cursor, float weight, float idf) {
    ForEachBlock(cursor, weight, idf, [&](const uint32_t* rows, const float* gains, uint32_t size) {
      scratch_.gains.Update(rows, gains, size, [](float best, float gain) { return std::max(best, gain); });
    });
  }

  void AddGains() {
    RowValues& gains = scratch_.gains;
    for (uint32_t i = 0; i < gains.count; i++) {
      const uint32_t row = gains.rows[i];
      scratch_.totals.Update(&row, &gains.values[row], 1, [](float total, float gain) { return total + gain; });
    }
    gains.Clear();
  }

  // Calls visit(rows, gains, size) for the postings of each block. Computes the gains of a block in one loop, which
  // the compiler vectorizes.
  template <class Visit>
  void ForEachBlock(PostingCursor* cursor, float weight, float idf, Visit visit) {
    if (weight <= 0 || idf <= 0) return;
    for (; !cursor->AtEnd(); cursor->NextBlock()) {
      const uint32_t* const rows = cursor->Rows();
      const uint32_t* const counts = cursor->Counts();
      // Rows added after the search began are left out.
      const uint32_t size = rows[cursor->Size() - 1] < rows_ ? cursor->Size() : CountBelow(rows, cursor->Size());
      uint32_t lengths[kBlockPostings];
      float gains[kBlockPostings];
      LoadLengths(rows, size, lengths);
      for (uint32_t i = 0; i < size; i++) {
        gains[i] = bm25_.Gain(weight, FrequencyOfCounts(counts[i]), lengths[i]) * idf;
      }
      visit(rows, gains, size);
      if (size < cursor->Size()) return;
    }
  }

  uint32_t CountBelow(const uint32_t* rows, uint32_t size) const {
    return static_cast<uint32_t>(std::lower_bound(rows, rows + size, rows_) - rows);
  }

  // Looks up each run of contiguous rows once.
  void LoadLengths(const uint32_t* rows, uint32_t size, uint32_t* lengths) const {
    constexpr uint32_t kRun = BlockArray<RowInfo>::kContiguousRows;
    for (uint32_t i = 0; i < size;) {
      const uint32_t start = rows[i] - rows[i] % kRun;
      const RowInfo* const info = &shard_.Info(start);
      for (; i < size && rows[i] - start < kRun; i++) lengths[i] = info[rows[i] - start].bodyLength;
    }
  }

  const ShardView& view_;
  const Shard& shard_;
  const uint32_t rows_;
  const Bm25 bm25_;
  Scratch& scratch_;
};

}  // namespace

bool IsScanApplicable(const Shard& shard, const TermGroups& groups) {
  if (shard.Rows() > kScannedRowsMax) return false;
  uint64_t postings = 0;
  for (const auto& group : groups) {
    for (const QueryTerm& term : group) postings += shard.postings().Count(term.hash);
  }
  return postings <= kScannedPostingsMax;
}

void ScanPostings(const LexicalQuery& query, ScoreFloor* floor, std::vector<ScoredChunk>* best, LexicalScores* near) {
  LexicalScan scan(query);
  scan.AddWords(query.groups, query.idfs);
  for (auto& [entry, score] : *near) {
    if (entry.shard == query.view.number()) score = scan.ScoreOf(entry.row);
  }
  BestRows found(query.view, query.request.lexicalCandidates);
  if (query.request.lexicalCandidates > 0) scan.FindBest(floor, &found);
  found.AddTo(best);
}

}  // namespace quarry
