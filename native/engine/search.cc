#include "engine/search.h"

#include <algorithm>
#include <cmath>

#include "engine/kernels.h"

namespace quarry {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kStopEvery = 1024;  // postings or scanned rows between two looks at the clock

// One visible row that holds a word of the query. `gain` is what the word adds to its score, without its rarity.
struct Match {
  uint32_t row;
  float gain;
};

struct Scored {
  float score;
  double version;
  uint32_t chunk;
  uint32_t row;
  uint32_t shard;
};
// Better first; equal scores in the order of version and chunk, which no shard count changes.
bool Better(const Scored& left, const Scored& right) {
  if (left.score != right.score) return left.score > right.score;
  if (left.version != right.version) return left.version < right.version;
  return left.chunk < right.chunk;
}

// Keeps the best `count` of the entries.
void KeepBest(std::vector<Scored>* entries, size_t count) {
  if (entries->size() <= count) return;
  std::nth_element(entries->begin(), entries->begin() + static_cast<std::ptrdiff_t>(count), entries->end(), Better);
  entries->resize(count);
}

// A bounded heap of the best entries, worst on top.
class BestHeap {
 public:
  explicit BestHeap(size_t count) : count_(count) {}
  void Offer(const Scored& entry) {
    if (count_ == 0) return;
    if (entries_.size() == count_) {
      if (!Better(entry, entries_.front())) return;
      std::pop_heap(entries_.begin(), entries_.end(), Better);
      entries_.pop_back();
    }
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), Better);
  }
  bool WouldTake(float score) const {
    return count_ > 0 && (entries_.size() < count_ || score >= entries_.front().score);
  }
  std::vector<Scored>& entries() { return entries_; }

 private:
  const size_t count_;
  std::vector<Scored> entries_;
};

// Working memory of one thread.
struct SearchScratch {
  GraphScratch graph;
  std::vector<float> scores;      // by row; all zero while `clean`
  std::vector<uint32_t> touched;  // rows whose score is not zero
  bool clean = true;              // false after a search that ran out of memory halfway
};
SearchScratch& ThreadScratch() {
  thread_local SearchScratch scratch;
  return scratch;
}

struct FilteredRows {
  Bitset rows;
  uint64_t count = 0;
};

// One shard's part of a search.
class ShardSearch {
 public:
  ShardSearch(uint32_t number, const Shard& shard, const Moment& moment, const SearchRequest& request)
      : number_(number), shard_(shard), moment_(moment), request_(request) {}

  // First pass: the filter, the nearest rows, and the rows that hold words of the query.
  Status Find(const float* query, const std::vector<std::vector<QueryTerm>>& groups) {
    const auto start = Clock::now();
    if (request_.filter.has_value()) EvaluateFilter();
    Status status = FindNear(query);
    if (status.ok()) status = FindMatches(groups);
    elapsed_ += Clock::now() - start;
    return status;
  }

  // Second pass: BM25 of every match. Keeps the best and gives each of `near` (rows of this shard) its score.
  Status Score(const std::vector<float>& rarities, std::vector<Scored>* lexical,
               std::vector<std::pair<Scored, float>>* near) {
    const auto start = Clock::now();
    SearchScratch& scratch = ThreadScratch();
    scratch.touched.clear();
    if (!scratch.clean) scratch.scores.clear();
    scratch.clean = false;
    if (scratch.scores.size() < shard_.Rows()) scratch.scores.resize(shard_.Rows());
    for (size_t group = 0; group < matches_.size(); group++) {
      for (const Match& match : matches_[group]) {
        float& score = scratch.scores[match.row];
        if (score == 0) scratch.touched.push_back(match.row);
        score += match.gain * rarities[group];
      }
    }
    for (auto& [entry, score] : *near) {
      if (entry.shard == number_) score = scratch.scores[entry.row];
    }
    BestHeap best(request_.lexicalCandidates);
    for (const uint32_t row : scratch.touched) {
      const float score = scratch.scores[row];
      scratch.scores[row] = 0;
      if (score > 0 && best.WouldTake(score) && Passes(row)) best.Offer(Identify(row, score));
    }
    scratch.clean = true;
    lexical->insert(lexical->end(), best.entries().begin(), best.entries().end());
    elapsed_ += Clock::now() - start;
    return request_.patience.Check();
  }

  const std::vector<Scored>& near() const { return near_; }
  // Visible rows that hold at least one alternative of the group.
  uint64_t RowsWith(size_t group) const { return matches_[group].size(); }
  ShardReport Report(uint32_t candidates) const {
    return {number_, strategy_, candidates, std::chrono::duration<float, std::milli>(elapsed_).count()};
  }

 private:
  bool Passes(uint32_t row) const { return !request_.filter.has_value() || filtered_.rows.Has(row); }

  Scored Identify(uint32_t row, float score) const {
    const DocumentSlot& document = shard_.Document(shard_.Facts(row).slot);
    return {score, static_cast<double>(document.version), row - document.firstRow, row, number_};
  }

  void EvaluateFilter() {
    const uint32_t slots = shard_.Slots();
    const Bitset matching = shard_.attributes().Evaluate(*request_.filter, slots);
    // Loaded after the slots, so that it covers the rows of all of them.
    filtered_.rows.Reset(shard_.Rows());
    matching.ForEach([&](size_t slot) {
      if (!shard_.SlotVisible(static_cast<uint32_t>(slot), moment_.epoch)) return true;
      const DocumentSlot& document = shard_.Document(static_cast<uint32_t>(slot));
      filtered_.rows.AddRange(document.firstRow, document.rowCount);
      filtered_.count += document.rowCount;
      return true;
    });
  }

  // What the graph would cost grows with rows / matching, what the scan costs with matching.
  bool ScanIsBetter(uint64_t matching, uint64_t rows, uint64_t effort) const {
    if (request_.scanning != Scanning::kByCost) return request_.scanning == Scanning::kAlways;
    return matching <= kScanRowsMax || matching * matching <= kScannedRowsPerResult * effort * rows;
  }

  Status FindNear(const float* query) {
    if (query == nullptr || request_.vectorCandidates == 0) return {};
    const bool filtered = request_.filter.has_value();
    const uint64_t rows = shard_.Rows();
    const uint64_t matching = filtered ? filtered_.count : rows;
    if (matching == 0) return {};
    const uint32_t effort =
        std::max(request_.effort != 0 ? request_.effort : kDefaultEffort, request_.vectorCandidates);
    if (ScanIsBetter(matching, rows, effort)) return Scan(query);
    strategy_ = filtered ? Strategy::kFilteredGraph : Strategy::kGraph;
    Status stopped;
    const auto stop = [&] {
      stopped = request_.patience.Check();
      return !stopped.ok();
    };
    // Where matching rows lie far from the query the graph costs more than expected: then the scan takes over.
    const Graph::Query ask{query, effort, request_.scanning == Scanning::kNever ? UINT64_MAX : matching / 2};
    GraphScratch& scratch = ThreadScratch().graph;
    const auto outcome =
        filtered ? shard_.graph().Search(
                       ask, &scratch, [&](uint32_t row) { return filtered_.rows.Has(row); }, stop)
                 : shard_.graph().Search(
                       ask, &scratch, [&](uint32_t row) { return shard_.RowVisible(row, moment_.epoch); }, stop);
    if (outcome == Graph::Outcome::kStopped) return stopped;
    const bool tooFew = filtered && scratch.results.size() < std::min<uint64_t>(request_.vectorCandidates, matching);
    if (outcome == Graph::Outcome::kBudget || tooFew) return Scan(query);
    auto& results = scratch.results;
    std::sort(results.begin(), results.end(), NearerThan);
    if (results.size() > request_.vectorCandidates) results.resize(request_.vectorCandidates);
    for (const Near& near : results) near_.push_back(Identify(near.row, near.similarity));
    return {};
  }

  Status Scan(const float* query) {
    const bool filtered = request_.filter.has_value();
    strategy_ = filtered ? Strategy::kFilteredScan : Strategy::kScan;
    const auto dot = BestKernels().dot;
    BestHeap best(request_.vectorCandidates);
    Status stopped;
    uint32_t scanned = 0;
    const auto visit = [&](uint32_t row) {
      const float similarity = dot(query, shard_.Vector(row), shard_.stride());
      if (best.WouldTake(similarity)) best.Offer(Identify(row, similarity));
      if (++scanned % kStopEvery == 0) stopped = request_.patience.Check();
      return stopped.ok();
    };
    if (filtered) {
      filtered_.rows.ForEach([&](size_t row) { return visit(static_cast<uint32_t>(row)); });
    } else {
      for (uint32_t row = 0, rows = shard_.Rows(); row < rows; row++) {
        if (shard_.RowVisible(row, moment_.epoch) && !visit(row)) break;
      }
    }
    near_ = std::move(best.entries());
    return stopped;
  }

  Status FindMatches(const std::vector<std::vector<QueryTerm>>& groups) {
    for (const auto& group : groups) {
      auto& matches = matches_.emplace_back();
      for (const QueryTerm& term : group) {
        const size_t before = matches.size();
        if (Status status = Decode(term, &matches); !status.ok()) return status;
        if (before > 0) MergeAlternatives(&matches, before);
      }
    }
    return {};
  }

  Status Decode(const QueryTerm& term, std::vector<Match>* matches) const {
    const float average =
        moment_.rows == 0 ? 1 : static_cast<float>(moment_.bodyLength) / static_cast<float>(moment_.rows);
    const float perTerm = average > 0 ? kBm25LengthNorm / average : 0;
    Status stopped;
    uint32_t decoded = 0;
    shard_.postings().ForEach(term.hash, [&](const Posting& posting) {
      if (++decoded % kStopEvery == 0) stopped = request_.patience.Check();
      if (!shard_.RowVisible(posting.row, moment_.epoch)) return stopped.ok();
      const float frequency = static_cast<float>(posting.body) + kPrefixWeight * static_cast<float>(posting.prefix);
      const float length = static_cast<float>(shard_.Facts(posting.row).bodyLength);
      const float norm = kBm25Saturation * (1 - kBm25LengthNorm + perTerm * length);
      matches->push_back({posting.row, term.weight * frequency * (kBm25Saturation + 1) / (frequency + norm)});
      return stopped.ok();
    });
    return stopped;
  }

  // Two ascending runs become one; a row in both keeps the better gain. Alternatives are often forms of the same
  // occurrence, so adding them up would count it twice.
  static void MergeAlternatives(std::vector<Match>* matches, size_t middle) {
    const auto byRow = [](const Match& left, const Match& right) { return left.row < right.row; };
    std::inplace_merge(matches->begin(), matches->begin() + static_cast<std::ptrdiff_t>(middle), matches->end(), byRow);
    size_t kept = 0;
    for (size_t i = 1; i < matches->size(); i++) {
      Match& last = (*matches)[kept];
      const Match& next = (*matches)[i];
      if (last.row == next.row) {
        last.gain = std::max(last.gain, next.gain);
      } else {
        (*matches)[++kept] = next;
      }
    }
    if (!matches->empty()) matches->resize(kept + 1);
  }

  const uint32_t number_;
  const Shard& shard_;
  const Moment& moment_;
  const SearchRequest& request_;
  FilteredRows filtered_;
  std::vector<Scored> near_;
  std::vector<std::vector<Match>> matches_;  // by group
  Strategy strategy_ = Strategy::kNone;
  Clock::duration elapsed_{};
};

// The query's terms by group, in order of group.
std::vector<std::vector<QueryTerm>> Grouped(std::vector<QueryTerm> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const QueryTerm& left, const QueryTerm& right) { return left.group < right.group; });
  std::vector<std::vector<QueryTerm>> groups;
  for (const QueryTerm& term : terms) {
    if (groups.empty() || groups.back().front().group != term.group) groups.emplace_back();
    groups.back().push_back(term);
  }
  return groups;
}

// The row padded with zeros and aligned to a cache line, as the kernels want it.
class AlignedQuery {
 public:
  explicit AlignedQuery(const std::vector<float>& vector) : lines_(PaddedDimensions(vector.size()) / kRowAlignment) {
    for (size_t i = 0; i < vector.size(); i++) lines_[i / kRowAlignment].values[i % kRowAlignment] = vector[i];
  }
  const float* get() const { return lines_.empty() ? nullptr : lines_.front().values; }

 private:
  struct alignas(64) Line {
    float values[kRowAlignment] = {};
  };
  std::vector<Line> lines_;
};

// All shards of one search, in two passes, because a score needs the rarity of its words in the whole collection.
class CollectionSearch {
 public:
  CollectionSearch(const Moment& moment, const SearchRequest& request)
      : moment_(moment), request_(request), query_(request.vector), groups_(Grouped(request.terms)) {}

  Status Run(SearchHits* hits) {
    if (Status status = Find(); !status.ok()) return status;
    if (Status status = Score(); !status.ok()) return status;
    Merge(hits);
    return {};
  }

 private:
  Status Find() {
    const auto& shards = *moment_.shards;
    parts_.reserve(shards.size());
    std::vector<Scored> nearest;
    for (uint32_t i = 0; i < shards.size(); i++) {
      ShardSearch& part = parts_.emplace_back(i, *shards[i], moment_, request_);
      if (Status status = request_.patience.Check(); !status.ok()) return status;
      if (Status status = part.Find(query_.get(), groups_); !status.ok()) return status;
      nearest.insert(nearest.end(), part.near().begin(), part.near().end());
    }
    KeepBest(&nearest, request_.vectorCandidates);
    for (const Scored& entry : nearest) near_.emplace_back(entry, 0.0F);
    return {};
  }

  Status Score() {
    std::vector<float> rarities;
    for (size_t group = 0; group < groups_.size(); group++) {
      uint64_t with = 0;
      for (const ShardSearch& part : parts_) with += part.RowsWith(group);
      const auto rows = static_cast<double>(moment_.rows);
      const auto found = static_cast<double>(with);
      rarities.push_back(static_cast<float>(std::log1p(std::max(0.0, rows - found + 0.5) / (found + 0.5))));
    }
    for (ShardSearch& part : parts_) {
      if (Status status = part.Score(rarities, &lexical_, &near_); !status.ok()) return status;
    }
    KeepBest(&lexical_, request_.lexicalCandidates);
    return {};
  }

  void Merge(SearchHits* hits) {
    const auto dot = BestKernels().dot;
    std::vector<uint32_t> candidates(parts_.size(), 0);
    std::vector<uint64_t> seen;
    const auto add = [&](const Scored& entry, float similarity, float lexical) {
      hits->version.push_back(entry.version);
      hits->chunk.push_back(entry.chunk);
      hits->shard.push_back(static_cast<uint16_t>(entry.shard));
      hits->similarity.push_back(similarity);
      hits->lexical.push_back(lexical);
      candidates[entry.shard]++;
    };
    const auto key = [](const Scored& entry) { return uint64_t{entry.shard} << 32 | entry.row; };
    for (const auto& [entry, lexical] : near_) {
      add(entry, entry.score, lexical);
      seen.push_back(key(entry));
    }
    std::sort(seen.begin(), seen.end());
    for (const Scored& entry : lexical_) {
      if (std::binary_search(seen.begin(), seen.end(), key(entry))) continue;
      const Shard& shard = *(*moment_.shards)[entry.shard];
      const float* query = query_.get();
      add(entry, query == nullptr ? 0 : dot(query, shard.Vector(entry.row), shard.stride()), entry.score);
    }
    for (size_t i = 0; i < parts_.size(); i++) hits->shards.push_back(parts_[i].Report(candidates[i]));
  }

  const Moment& moment_;
  const SearchRequest& request_;
  const AlignedQuery query_;
  const std::vector<std::vector<QueryTerm>> groups_;
  std::vector<ShardSearch> parts_;
  std::vector<std::pair<Scored, float>> near_;  // with their lexical score
  std::vector<Scored> lexical_;
};

// Calls visit(version) for every visible version that matches, until it answers false.
template <class Visit>
void ForEachVersion(const Moment& moment, const FilterProgram* filter, Visit visit) {
  bool more = true;
  for (const auto& shard : *moment.shards) {
    if (!more) return;
    const uint32_t slots = shard->Slots();
    const auto consider = [&](size_t slot) {
      if (shard->SlotVisible(static_cast<uint32_t>(slot), moment.epoch)) {
        more = visit(shard->Document(static_cast<uint32_t>(slot)).version);
      }
      return more;
    };
    if (filter != nullptr) {
      shard->attributes().Evaluate(*filter, slots).ForEach(consider);
    } else {
      for (uint32_t slot = 0; slot < slots && consider(slot); slot++) {
      }
    }
  }
}

}  // namespace

Status Patience::Check() const {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
    return {Code::kCancelled, "the search was cancelled"};
  }
  if (Clock::now() > deadline) return {Code::kDeadline, "the search ran out of time"};
  return {};
}

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

Status Search(const Moment& moment, const SearchRequest& request, SearchHits* hits) {
  return CollectionSearch(moment, request).Run(hits);
}

Status ListVersions(const Moment& moment, const FilterProgram* filter, uint64_t limit, std::vector<double>* versions) {
  if (limit == 0) return {};
  ForEachVersion(moment, filter, [&](uint64_t version) {
    versions->push_back(static_cast<double>(version));
    return versions->size() < limit;
  });
  return {};
}

uint64_t CountVersions(const Moment& moment, const FilterProgram* filter) {
  uint64_t count = 0;
  ForEachVersion(moment, filter, [&](uint64_t) {
    count++;
    return true;
  });
  return count;
}

}  // namespace quarry
