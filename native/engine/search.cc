#include "engine/search.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>

#include "engine/lexical_search.h"
#include "engine/shard_view.h"

namespace quarry {
namespace {

using Clock = std::chrono::steady_clock;

// One shard's part of a search.
class ShardSearch {
 public:
  ShardSearch(uint32_t number, const Moment& moment, const SearchRequest& request)
      : start_(Clock::now()), request_(request), view_(number, moment, request), lexical_(view_, moment, request) {}
  ShardSearch(const ShardSearch&) = delete;
  ShardSearch& operator=(const ShardSearch&) = delete;

  // First pass: the nearest rows, and how many rows hold the words of the query.
  Status Find(const NearQuery* query, const std::vector<std::vector<QueryTerm>>& groups) {
    Status status = FindNear(view_, request_, query, &near_);
    if (status.ok()) status = lexical_.Count(groups);
    elapsed_ += Clock::now() - start_;
    return status;
  }

  // Second pass: BM25.
  Status Score(const std::vector<std::vector<QueryTerm>>& groups, const std::vector<float>& rarities, ScoreFloor* floor,
               std::vector<Scored>* best, std::vector<std::pair<Scored, float>>* near) {
    const auto start = Clock::now();
    Status status = lexical_.Score(groups, rarities, floor, best, near);
    elapsed_ += Clock::now() - start;
    return status;
  }

  const std::vector<NearRow>& near() const { return near_.rows; }
  uint64_t RowsWith(size_t group) const { return lexical_.RowsWith(group); }
  ShardReport Report(uint32_t candidates) const {
    return {view_.number(), near_.strategy, candidates, std::chrono::duration<float, std::milli>(elapsed_).count()};
  }

 private:
  const Clock::time_point start_;
  const SearchRequest& request_;
  const ShardView view_;  // evaluates the filter
  LexicalSearch lexical_;
  NearRows near_;
  Clock::duration elapsed_{};
};

// All shards of one search, in two passes, because a score needs the rarity of its words in the whole collection.
class CollectionSearch {
 public:
  CollectionSearch(const Moment& moment, const SearchRequest& request)
      : moment_(moment), request_(request), groups_(GroupTerms(request.terms)) {
    if (!request.vector.empty()) query_.emplace(request.vector, moment.shards->front()->codes().codec());
  }

  Status Run(SearchHits* hits) {
    if (Status status = Find(); !status.ok()) return status;
    if (Status status = Score(); !status.ok()) return status;
    Merge(hits);
    return {};
  }

 private:
  Status Find() {
    const auto& shards = *moment_.shards;
    const NearQuery* const query = query_.has_value() ? &*query_ : nullptr;
    std::vector<NearRow> proposed;
    for (uint32_t i = 0; i < shards.size(); i++) {
      if (Status status = request_.patience.Check(); !status.ok()) return status;
      ShardSearch& part = parts_.emplace_back(i, moment_, request_);
      if (Status status = part.Find(query, groups_); !status.ok()) return status;
      proposed.insert(proposed.end(), part.near().begin(), part.near().end());
    }
    if (query == nullptr) return {};
    for (const Scored& entry : ChooseNearest(moment_, *query, request_.vectorCandidates, &proposed)) {
      near_.emplace_back(entry, 0.0F);
    }
    return {};
  }

  Status Score() {
    std::vector<float> rarities;
    for (size_t group = 0; group < groups_.size(); group++) {
      uint64_t with = 0;
      for (const ShardSearch& part : parts_) with += part.RowsWith(group);
      rarities.push_back(Rarity(moment_.rows, with));
    }
    ScoreFloor floor;
    for (ShardSearch& part : parts_) {
      if (Status status = part.Score(groups_, rarities, &floor, &lexical_, &near_); !status.ok()) return status;
    }
    KeepBest(&lexical_, request_.lexicalCandidates);
    return {};
  }

  void Merge(SearchHits* hits) {
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
      add(entry, query_.has_value() ? query_->Similarity(shard, entry.row) : 0, entry.score);
    }
    for (size_t i = 0; i < parts_.size(); i++) hits->shards.push_back(parts_[i].Report(candidates[i]));
  }

  const Moment& moment_;
  const SearchRequest& request_;
  std::optional<NearQuery> query_;
  const std::vector<std::vector<QueryTerm>> groups_;
  std::deque<ShardSearch> parts_;
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
