#include "engine/lexical_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>

#include "engine/posting_cursor.h"
#include "engine/row_count_cache.h"

namespace quarry {
namespace {

constexpr uint32_t kCheckEveryBlocks = 64;   // blocks counted between two deadline checks
constexpr uint32_t kCheckEveryWindows = 16;  // windows of rows searched between two deadline checks
// A bound is computed in a different order than a score, so it may be lower by a few units in the last place.
constexpr float kBoundSlack = 1 + 1e-5F;

constexpr uint32_t kScanStep = 16;

// Whether at least one of kScanStep numbers is >= `threshold`. The compiler emits SSE2 or NEON.
bool AnyReaches(const float* numbers, float threshold) {
  using Floats = float __attribute__((vector_size(16)));
  using Flags = int32_t __attribute__((vector_size(16)));
  Flags any = {};
  for (uint32_t i = 0; i < kScanStep; i += 4) {
    Floats four;
    std::memcpy(&four, numbers + i, sizeof four);
    any |= four >= threshold;
  }
  uint64_t halves[2];
  std::memcpy(halves, &any, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

// Prefetches the lists of all terms, so that their memory latencies overlap.
void PrefetchLists(const Postings& postings, const LexicalSearch::Groups& groups) {
  for (const auto& group : groups) {
    for (const QueryTerm& term : group) postings.PrefetchSlot(term.hash);
  }
  for (const auto& group : groups) {
    for (const QueryTerm& term : group) postings.PrefetchList(term.hash);
  }
}

// Opens the lists of the terms and returns their total number of postings.
uint64_t OpenAll(const Postings& postings, const std::vector<uint64_t>& hashes, std::deque<PostingCursor>* cursors) {
  uint64_t count = 0;
  cursors->clear();
  for (const uint64_t hash : hashes) {
    if (postings.Open(hash, &cursors->emplace_back())) {
      count += cursors->back().Count();
    } else {
      cursors->pop_back();
    }
  }
  return count;
}

// Counts the visible rows that contain at least one of the terms.
Status CountRows(const ShardView& view, const CancellationToken& cancellation, std::deque<PostingCursor>* cursors,
                 uint64_t* count) {
  Bitset counted(cursors->size() > 1 ? view.shard().Rows() : 0);
  uint32_t blocks = 0;
  for (PostingCursor& cursor : *cursors) {
    for (; !cursor.AtEnd(); cursor.NextBlock()) {
      if (++blocks % kCheckEveryBlocks == 0) {
        if (Status status = cancellation.Check(); !status.ok()) return status;
      }
      const uint32_t* rows = cursor.Rows();
      for (uint32_t i = 0, size = cursor.Size(); i < size; i++) {
        // Rows added after the set was created are not visible at its epoch.
        if (!view.IsVisible(rows[i])) continue;
        *count += cursors->size() == 1 || !counted.TestAndAdd(rows[i]) ? 1 : 0;
      }
    }
  }
  return {};
}

// Returns the number of rows of the document that contain a term. Documents must be passed in ascending row order.
uint64_t RowsOf(const RowCountCache::Change& document, std::deque<PostingCursor>* cursors) {
  uint64_t count = 0;
  uint32_t counts = 0;
  for (uint32_t row = document.firstRow; row < document.firstRow + document.rowCount; row++) {
    bool any = false;
    for (PostingCursor& cursor : *cursors) any = cursor.Find(row, &counts) || any;
    count += any ? 1 : 0;
  }
  return count;
}

// BM25 with the collection statistics of one read snapshot.
class Bm25 {
 public:
  explicit Bm25(const ReadSnapshot& readSnapshot) {
    const float average = readSnapshot.rows == 0
                              ? 1
                              : static_cast<float>(readSnapshot.bodyLength) / static_cast<float>(readSnapshot.rows);
    perTerm_ = average > 0 ? kBm25LengthNorm / average : 0;
  }
  // Contribution of a term to a row's score, before the IDF factor. Every code path computes it here, and the
  // compiler may not contract its operations, so a row has one bit-exact score.
  float Gain(float weight, float frequency, uint32_t length) const {
    const float norm = kBm25Saturation * (1 - kBm25LengthNorm + perTerm_ * static_cast<float>(length));
    return weight * frequency * (kBm25Saturation + 1) / (frequency + norm);
  }
  // Upper bound, up to rounding, on the gain of every posting within the bounds.
  float GainMax(float weight, const GainBounds& bounds) const {
    if (bounds.frequencyMax == 0) return 0;
    const float normPerFrequency =
        kBm25Saturation * ((1 - kBm25LengthNorm) / bounds.FrequencyMax() + perTerm_ * bounds.LengthRatioMin());
    return weight * (kBm25Saturation + 1) / (1 + normPerFrequency);
  }

 private:
  float perTerm_;
};

// Keeps the best rows of a shard. Version and chunk of a row are looked up only to break ties and at the end,
// because most offered rows are not kept.
class BestRows {
 public:
  BestRows(const ShardView& view, size_t count) : view_(view), count_(count) {}

  void Offer(uint32_t row, float score) {
    const Entry entry{score, row};
    const auto better = [this](const Entry& left, const Entry& right) { return IsBetter(left, right); };
    if (full()) {
      if (!IsBetter(entry, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), better);
      heap_.pop_back();
    }
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), better);
  }
  bool IsCompetitive(float score) const { return count_ > 0 && (!full() || score >= heap_.front().score); }
  bool full() const { return heap_.size() >= count_; }
  // Minimum score that a further row must reach; 0 while any row is accepted.
  float MinCompetitiveScore() const { return count_ > 0 && full() ? heap_.front().score : 0; }

  // Appends the rows in unspecified order.
  void AddTo(std::vector<ScoredChunk>* best) const {
    for (const Entry& entry : heap_) view_.shard().PrefetchInfo(entry.row);
    for (const Entry& entry : heap_) view_.shard().PrefetchDocument(entry.row);
    for (const Entry& entry : heap_) best->push_back(view_.ToScoredChunk(entry.row, entry.score));
  }

 private:
  struct Entry {
    float score;
    uint32_t row;
  };
  bool IsBetter(const Entry& left, const Entry& right) const {
    if (left.score != right.score) return left.score > right.score;
    return quarry::IsBetter(view_.ToScoredChunk(left.row, left.score), view_.ToScoredChunk(right.row, right.score));
  }

  const ShardView& view_;
  const size_t count_;
  std::vector<Entry> heap_;  // the worst on top
};

// Scores all rows of a shard that contain a term, for queries with so few postings that pruning by bounds
// does not pay: each list is scanned once.
class SparseSearch {
 public:
  static bool IsApplicable(const Shard& shard, const LexicalSearch::Groups& groups) {
    if (shard.Rows() > kRowsMax) return false;
    uint64_t postings = 0;
    for (const auto& group : groups) {
      for (const QueryTerm& term : group) postings += shard.postings().Count(term.hash);
    }
    return postings <= kPostingsMax;
  }

  SparseSearch(const ShardView& view, const ReadSnapshot& readSnapshot)
      : view_(view), shard_(view.shard()), rows_(shard_.Rows()), bm25_(readSnapshot), scratch_(ThreadScratch()) {
    scratch_.rows.reserve(rows_);
    scratch_.added.reserve(rows_);
    if (scratch_.totals.size() >= rows_) return;
    scratch_.gains.resize(rows_);
    scratch_.totals.resize(rows_);
  }
  SparseSearch(const SparseSearch&) = delete;
  SparseSearch& operator=(const SparseSearch&) = delete;
  ~SparseSearch() {
    for (const uint32_t row : scratch_.rows) scratch_.totals[row] = 0;
    for (const uint32_t row : scratch_.added) scratch_.gains[row] = 0;
    scratch_.rows.clear();
    scratch_.added.clear();
  }

  void AddWords(const LexicalSearch::Groups& groups, const std::vector<float>& idfs) {
    PrefetchLists(shard_.postings(), groups);
    for (size_t i = 0; i < groups.size(); i++) AddWord(groups[i], idfs[i]);
  }

  float ScoreOf(uint32_t row) const { return scratch_.totals[row]; }

  void FindBest(ScoreFloor* floor, BestRows* best) const {
    const float minScore = floor->Get();
    for (const uint32_t row : scratch_.rows) {
      const float score = scratch_.totals[row];
      if (score < minScore || !best->IsCompetitive(score) || !view_.IsVisible(row)) continue;
      if (view_.IsFiltered() && !view_.Matching().Has(row)) continue;
      best->Offer(row, score);
    }
    floor->Raise(best->MinCompetitiveScore());
  }

 private:
  // With more rows, the totals exceed a near CPU cache; with more postings, bounds save work.
  static constexpr uint32_t kRowsMax = 1 << 16;
  static constexpr uint64_t kPostingsMax = 1 << 12;

  // Working memory of one thread. All numbers are 0 between two searches.
  struct Scratch {
    std::vector<float> totals;    // by row
    std::vector<float> gains;     // gains of the current word, by row
    std::vector<uint32_t> rows;   // rows with totals
    std::vector<uint32_t> added;  // rows with gains
    PostingCursor cursor;
  };
  static Scratch& ThreadScratch() {
    thread_local Scratch scratch;
    return scratch;
  }

  void AddWord(const std::vector<QueryTerm>& terms, float idf) {
    for (const QueryTerm& term : terms) {
      if (shard_.postings().Open(term.hash, &scratch_.cursor)) AddPostings(term.weight, idf);
    }
    for (const uint32_t row : scratch_.added) {
      if (scratch_.totals[row] == 0) scratch_.rows.push_back(row);
      scratch_.totals[row] += scratch_.gains[row];
      scratch_.gains[row] = 0;
    }
    scratch_.added.clear();
  }

  void AddPostings(float weight, float idf) {
    PostingCursor& cursor = scratch_.cursor;
    for (; !cursor.AtEnd(); cursor.NextBlock()) {
      const uint32_t* const rows = cursor.Rows();
      const uint32_t* const counts = cursor.Counts();
      const uint32_t size = cursor.Size();
      for (uint32_t i = 0; i < size; i++) {
        const uint32_t row = rows[i];
        if (row >= rows_) return;  // added after the search began
        const float gain = bm25_.Gain(weight, FrequencyOfCounts(counts[i]), shard_.Info(row).bodyLength) * idf;
        float& best = scratch_.gains[row];
        if (gain <= best) continue;
        if (best == 0) scratch_.added.push_back(row);
        best = gain;
      }
    }
  }

  const ShardView& view_;
  const Shard& shard_;
  const uint32_t rows_;
  const Bm25 bm25_;
  Scratch& scratch_;
};

// Finds the best rows of a shard in windows of consecutive rows. In each window, words whose gains together
// cannot lift a row to the required score (MaxScore: Turtle and Flood, 1995; here with the bounds of the
// blocks in the window) are looked up only for the rows that remain candidates after the other words.
class WindowSearch {
 public:
  WindowSearch(const ShardView& view, const ReadSnapshot& readSnapshot, const SearchRequest& request,
               const LexicalSearch::Groups& groups, const std::vector<float>& idfs)
      : view_(view), shard_(view.shard()), request_(request), bm25_(readSnapshot) {
    const Postings& postings = shard_.postings();
    PrefetchLists(postings, groups);
    for (size_t i = 0; i < groups.size(); i++) {
      Word& word = words_.emplace_back();
      word.idf = idfs[i];
      for (const QueryTerm& term : groups[i]) {
        Term& added = word.terms.emplace_back();
        added.weight = term.weight;
        if (!postings.Open(term.hash, &added.cursor)) word.terms.pop_back();
      }
    }
    totals_.resize(kWindowRows);
  }

  // `rows` may be in any order.
  void ScoreRows(std::vector<std::pair<uint32_t, float*>> rows) {
    std::sort(rows.begin(), rows.end());
    for (const auto& [row, score] : rows) {
      *score = 0;
      for (Word& word : words_) *score += GainOf(&word, row);
    }
    for (Word& word : words_) {
      for (Term& term : word.terms) term.cursor.Start();
    }
  }

  Status FindBest(ScoreFloor* floor, BestRows* best) {
    uint32_t windows = 0;
    const uint64_t rows = shard_.Rows();
    for (uint64_t start = 0; start < rows; start += kWindowRows) {
      if (++windows % kCheckEveryWindows == 0) {
        if (Status status = request_.cancellation.Check(); !status.ok()) return status;
      }
      if (!EnterWindow(static_cast<uint32_t>(start))) break;
      minCompetitiveScore_ = std::max(best->MinCompetitiveScore(), floor->Get());
      SearchWindow(best);
      floor->Raise(best->MinCompetitiveScore());
    }
    return {};
  }

 private:
  static constexpr uint32_t kWindowRows = BlockArray<RowInfo>::kContiguousRows;
  static constexpr uint32_t kMaskWords = kWindowRows / 64;
  // Up to this many candidate rows are looked up in every word; for more, whole windows are processed.
  static constexpr uint32_t kFewRows = 64;
  static constexpr uint32_t kFewBlocks = 3;
  // Looking up this many rows costs about as much as decoding a block.
  static constexpr uint32_t kLookedUpPerBlock = 4;

  struct Term {
    PostingCursor cursor;
    float weight = 0;
    GainBounds lastBounds;
    float lastBound = 0;  // maximum gain within lastBounds
  };
  struct Word {
    std::deque<Term> terms;
    float idf = 0;
    float bound = 0;           // maximum contribution to the score of a row in this window
    uint32_t blocks = 0;       // number of blocks that may have rows in this window
    std::vector<float> gains;  // by row in the window; valid for candidates once the word was added
  };

  // Moves to a window. Returns false if no list has rows in it or after it.
  bool EnterWindow(uint32_t start) {
    start_ = start;
    bool any = false;
    for (Word& word : words_) {
      word.bound = 0;
      word.blocks = 0;
      for (Term& term : word.terms) {
        term.cursor.Seek(start);
        any = any || !term.cursor.AtEnd();
        term.cursor.ForEachBoundsUpTo(start + kWindowRows - 1, [&](const GainBounds& bounds) {
          word.bound = std::max(word.bound, BoundOf(&term, bounds));
          word.blocks++;
        });
      }
      word.bound *= word.idf;
    }
    return any;
  }

  // Caches the last bound: blocks of rare terms span many windows.
  float BoundOf(Term* term, const GainBounds& bounds) const {
    if (!(bounds == term->lastBounds)) {
      term->lastBounds = bounds;
      term->lastBound = bm25_.GainMax(term->weight, bounds);
    }
    return term->lastBound;
  }

  // Whether a row with score `sum` so far can still reach the required score if the other words add at most `rest`.
  bool IsCompetitive(float sum, float rest) const { return (sum + rest) * kBoundSlack >= minCompetitiveScore_; }

  void SearchWindow(BestRows* best) {
    order_.clear();
    float rest = 0;
    for (Word& word : words_) {
      if (word.blocks == 0) continue;
      order_.push_back(&word);
      rest += word.bound;
    }
    if (order_.empty() || !IsCompetitive(0, rest)) return;
    std::sort(order_.begin(), order_.end(),
              [](const Word* left, const Word* right) { return left->bound > right->bound; });
    const uint32_t matching = view_.IsFiltered() ? LoadFilter() : kWindowRows;
    if (matching == 0) return;
    // Only rows that contain one of the first words can reach the required score.
    size_t first = 0;
    while (first < order_.size() && IsCompetitive(0, RestFrom(first))) first++;
    size_t next = 0;
    if (matching <= kFewRows) {
      SelectMatching();
    } else if (!SelectFew(first)) {
      std::fill(totals_.begin(), totals_.end(), 0.0F);
      for (; next < first; next++) AddDense(order_[next]);
      SelectFromTotals(RestFrom(next));
    }
    for (; next < order_.size() && !candidates_.empty(); next++) AddToCandidates(order_[next], RestFrom(next + 1));
    OfferCandidates(best);
  }

  // Upper bound on the total contribution of the words from order_[from] on.
  float RestFrom(size_t from) const {
    float rest = 0;
    for (; from < order_.size(); from++) rest += order_[from]->bound;
    return rest;
  }

  // Returns the number of rows of the window that match the filter.
  uint32_t LoadFilter() {
    int count = 0;
    for (uint32_t i = 0; i < kMaskWords; i++) {
      mask_[i] = view_.Matching().Word(start_ / 64 + i);
      count += std::popcount(mask_[i]);
    }
    return static_cast<uint32_t>(count);
  }
  bool Matches(uint32_t candidate) const {
    return !view_.IsFiltered() || (mask_[candidate / 64] >> candidate % 64 & 1) != 0;
  }

  // Takes all rows that match the filter as candidates.
  void SelectMatching() {
    candidates_.clear();
    for (uint32_t i = 0; i < kMaskWords; i++) {
      for (uint64_t word = mask_[i]; word != 0; word &= word - 1) {
        candidates_.push_back(i * 64 + static_cast<uint32_t>(std::countr_zero(word)));
        totals_[candidates_.back()] = 0;
      }
    }
  }

  // Takes the rows that contain one of the first words as candidates. Returns false if they are more than a few.
  bool SelectFew(size_t words) {
    candidates_.clear();
    for (size_t i = 0; i < words; i++) {
      if (order_[i]->blocks > kFewBlocks) return false;
    }
    const uint32_t end = start_ + kWindowRows;
    for (size_t i = 0; i < words; i++) {
      for (Term& term : order_[i]->terms) {
        const bool few = term.cursor.ForEachRowIn(start_, end, [&](uint32_t row) {
          if (Matches(row - start_)) candidates_.push_back(row - start_);
          return candidates_.size() <= kFewRows;
        });
        if (!few) return false;
      }
    }
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    for (const uint32_t candidate : candidates_) totals_[candidate] = 0;
    return true;
  }

  // Computes the gain of the word for every row of the window and adds it to the totals.
  void AddDense(Word* word) {
    word->gains.assign(kWindowRows, 0);
    for (Term& term : word->terms) AddPostings(&term, word);
    for (uint32_t i = 0; i < kWindowRows; i++) totals_[i] += word->gains[i];
  }

  void AddPostings(Term* term, Word* word) {
    const uint32_t end = start_ + kWindowRows;
    const RowInfo* info = &shard_.Info(start_);
    PostingCursor& cursor = term->cursor;
    for (; !cursor.AtEnd(); cursor.NextBlock()) {
      if (cursor.Before() != kBeforeFirst && cursor.Before() + 1 >= end) return;
      const uint32_t* const rows = cursor.Rows();
      const uint32_t size = cursor.Size();
      const uint32_t* const from = rows[0] >= start_ ? rows : std::lower_bound(rows, rows + size, start_);
      const uint32_t* const to = rows[size - 1] < end ? rows + size : std::lower_bound(from, rows + size, end);
      if (from != to) {
        const uint32_t* const counts = cursor.Counts() + (from - rows);
        const auto count = static_cast<uint32_t>(to - from);
        uint32_t lengths[kBlockPostings];
        float gains[kBlockPostings];
        for (uint32_t i = 0; i < count; i++) lengths[i] = info[from[i] - start_].bodyLength;
        for (uint32_t i = 0; i < count; i++) {
          gains[i] = bm25_.Gain(term->weight, FrequencyOfCounts(counts[i]), lengths[i]) * word->idf;
        }
        for (uint32_t i = 0; i < count; i++) {
          float& gain = word->gains[from[i] - start_];
          gain = std::max(gain, gains[i]);
        }
      }
      if (rows[size - 1] >= end - 1) return;
    }
  }

  // Returns the contribution of the word to the score of a row. Rows must not descend.
  float GainOf(Word* word, uint32_t row) {
    float best = 0;
    uint32_t counts = 0;
    for (Term& term : word->terms) {
      if (!term.cursor.Find(row, &counts)) continue;
      const float gain = bm25_.Gain(term.weight, FrequencyOfCounts(counts), shard_.Info(row).bodyLength);
      best = std::max(best, gain * word->idf);
    }
    return best;
  }

  // Minimum total of a row that can still reach the required score if the other words add at most `rest`.
  float MinCompetitiveTotal(float rest) const { return minCompetitiveScore_ / (kBoundSlack * kBoundSlack) - rest; }

  // Takes the rows whose totals can still reach the required score, and that match the filter, as candidates.
  void SelectFromTotals(float rest) {
    // A row without any gain is never a hit, however low the required score.
    const float minTotal = std::max(MinCompetitiveTotal(rest), std::numeric_limits<float>::denorm_min());
    const float* const totals = totals_.data();
    candidates_.resize(kWindowRows);
    uint32_t* const candidates = candidates_.data();
    size_t count = 0;
    for (uint32_t start = 0; start < kWindowRows; start += kScanStep) {
      if (!AnyReaches(totals + start, minTotal)) continue;
      for (uint32_t i = start; i < start + kScanStep; i++) {
        candidates[count] = i;
        count += totals[i] >= minTotal ? 1 : 0;
      }
    }
    candidates_.resize(count);
    if (view_.IsFiltered()) std::erase_if(candidates_, [this](uint32_t candidate) { return !Matches(candidate); });
  }

  // Adds the gain of the word to the totals of the candidates and drops those that cannot reach the required score.
  void AddToCandidates(Word* word, float rest) {
    if (candidates_.size() > kFewRows && candidates_.size() > size_t{word->blocks} * kLookedUpPerBlock) {
      AddDense(word);
    } else {
      word->gains.resize(kWindowRows);
      for (const uint32_t candidate : candidates_) {
        const float gain = GainOf(word, start_ + candidate);
        word->gains[candidate] = gain;
        totals_[candidate] += gain;
      }
    }
    const float minTotal = MinCompetitiveTotal(rest);
    const float* const totals = totals_.data();
    uint32_t* const candidates = candidates_.data();
    size_t kept = 0;
    for (size_t i = 0, count = candidates_.size(); i < count; i++) {
      const uint32_t candidate = candidates[i];
      candidates[kept] = candidate;
      kept += totals[candidate] >= minTotal ? 1 : 0;
    }
    candidates_.resize(kept);
  }

  void OfferCandidates(BestRows* best) {
    for (const uint32_t candidate : candidates_) {
      // Sum in the order of the words, so that the result does not depend on the processing order.
      float score = 0;
      for (const Word& word : words_) score += word.blocks == 0 ? 0 : word.gains[candidate];
      const uint32_t row = start_ + candidate;
      if (score <= 0 || score < minCompetitiveScore_ || !best->IsCompetitive(score) || !view_.IsVisible(row)) continue;
      best->Offer(row, score);
    }
  }

  const ShardView& view_;
  const Shard& shard_;
  const SearchRequest& request_;
  const Bm25 bm25_;
  std::deque<Word> words_;

  // State of the current window.
  uint32_t start_ = 0;
  float minCompetitiveScore_ = 0;     // required score; rows below it are dropped
  std::vector<Word*> order_;          // words that occur in the window, by descending bound
  std::vector<float> totals_;         // sums of the words added so far; valid for candidates
  std::vector<uint32_t> candidates_;  // ascending, relative to the start of the window
  uint64_t mask_[kMaskWords] = {};
};

}  // namespace

std::vector<std::vector<QueryTerm>> GroupTerms(std::vector<QueryTerm> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const QueryTerm& left, const QueryTerm& right) { return left.group < right.group; });
  std::vector<std::vector<QueryTerm>> groups;
  for (const QueryTerm& term : terms) {
    if (groups.empty() || groups.back().front().group != term.group) groups.emplace_back();
    groups.back().push_back(term);
  }
  return groups;
}

float Idf(uint64_t rows, uint64_t found) {
  const auto all = static_cast<double>(rows);
  const auto with = static_cast<double>(found);
  return static_cast<float>(std::log1p(std::max(0.0, all - with + 0.5) / (with + 0.5)));
}

Status LexicalSearch::Count(const Groups& groups) {
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
  std::deque<PostingCursor> cursors;
  const uint64_t postings = OpenAll(shard.postings(), hashes, &cursors);
  if (isCached) {
    uint64_t rows = 0;
    for (size_t i = 0; i < cached.since.size(); i++) {
      const RowCountCache::Change& change = cached.since[i];
      // A document that was added and removed in between has two changes.
      if (i == 0 || cached.since[i - 1].firstRow != change.firstRow) rows = RowsOf(change, &cursors);
      *count += change.added ? rows : -rows;
    }
  } else if (Status status = CountRows(view_, request_.cancellation, &cursors, count); !status.ok()) {
    return status;
  }
  if (postings > kBlockPostings) shard.rowCountCache().Insert(hashes, readSnapshot_.epoch, *count);
  return {};
}

Status LexicalSearch::Score(const Groups& groups, const std::vector<float>& idfs, ScoreFloor* floor,
                            std::vector<ScoredChunk>* best, std::vector<std::pair<ScoredChunk, float>>* near) const {
  if (!SparseSearch::IsApplicable(view_.shard(), groups)) return ScoreInWindows(groups, idfs, floor, best, near);
  SparseSearch search(view_, readSnapshot_);
  search.AddWords(groups, idfs);
  for (auto& [entry, score] : *near) {
    if (entry.shard == view_.number()) score = search.ScoreOf(entry.row);
  }
  BestRows found(view_, request_.lexicalCandidates);
  if (request_.lexicalCandidates > 0) search.FindBest(floor, &found);
  found.AddTo(best);
  return {};
}

Status LexicalSearch::ScoreInWindows(const Groups& groups, const std::vector<float>& idfs, ScoreFloor* floor,
                                     std::vector<ScoredChunk>* best,
                                     std::vector<std::pair<ScoredChunk, float>>* near) const {
  WindowSearch search(view_, readSnapshot_, request_, groups, idfs);
  std::vector<std::pair<uint32_t, float*>> rows;
  for (auto& [entry, score] : *near) {
    if (entry.shard == view_.number()) rows.emplace_back(entry.row, &score);
  }
  search.ScoreRows(std::move(rows));
  if (request_.lexicalCandidates == 0) return request_.cancellation.Check();
  BestRows found(view_, request_.lexicalCandidates);
  Status status = search.FindBest(floor, &found);
  found.AddTo(best);
  return status;
}

}  // namespace quarry
