#include "engine/max_score_search.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>

#include "engine/best_rows.h"
#include "engine/bm25.h"
#include "engine/posting_cursor.h"

namespace quarry {
namespace {

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

class MaxScoreSearch {
 public:
  explicit MaxScoreSearch(const LexicalQuery& query)
      : view_(query.view), shard_(view_.shard()), request_(query.request), bm25_(query.readSnapshot) {
    const Postings& postings = shard_.postings();
    PrefetchLists(postings, query.groups);
    for (size_t i = 0; i < query.groups.size(); i++) {
      Word& word = words_.emplace_back();
      word.idf = query.idfs[i];
      for (const QueryTerm& term : query.groups[i]) {
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

Status SearchByMaxScore(const LexicalQuery& query, ScoreFloor* floor, std::vector<ScoredChunk>* best,
                        LexicalScores* near) {
  MaxScoreSearch search(query);
  std::vector<std::pair<uint32_t, float*>> rows;
  for (auto& [entry, score] : *near) {
    if (entry.shard == query.view.number()) rows.emplace_back(entry.row, &score);
  }
  search.ScoreRows(std::move(rows));
  if (query.request.lexicalCandidates == 0) return query.request.cancellation.Check();
  BestRows found(query.view, query.request.lexicalCandidates);
  Status status = search.FindBest(floor, &found);
  found.AddTo(best);
  return status;
}

}  // namespace quarry
