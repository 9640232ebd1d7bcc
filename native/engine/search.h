// One query to all shards of a collection on one read snapshot.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "engine/lexical_search.h"
#include "engine/search_request.h"
#include "engine/shard_view.h"
#include "engine/status.h"
#include "engine/vector_search.h"

namespace quarry {

struct ShardReport {
  uint32_t shard;
  Strategy strategy;
  uint32_t ef;          // ef of the graph search; 0 if the graph was not searched
  uint32_t candidates;  // rows of the shard in the result
  float ms;             // CPU time; waiting is not counted
};

// The union of the nearest rows and the best lexical rows, in unspecified order. Entry i of every array
// describes one row.
struct SearchHits {
  std::vector<double> version;
  std::vector<uint32_t> chunk;  // index of the row in its document
  std::vector<uint16_t> shard;
  std::vector<float> similarity;  // cosine; 0 if the request has no vector
  std::vector<float> lexical;     // BM25; 0 if no term matches
  std::vector<ShardReport> shards;
  bool calibrated = false;  // whether the ef values were measured on the collection

  void Clear();
};

// A search on which any number of threads work concurrently, each as long as it finds work; no thread waits
// for another. It has up to three phases over the shards: all shards for their nearest rows and the word
// frequencies; again with a larger ef, the few shards that hold more of the nearest rows than expected; all
// shards for their best lexical rows, which need the word frequencies of the whole collection.
//
// Search objects are reused with their memory: create them with New.
class CollectionSearch {
 public:
  static std::shared_ptr<CollectionSearch> New();
  CollectionSearch(const CollectionSearch&) = delete;
  CollectionSearch& operator=(const CollectionSearch&) = delete;

  // Fill it in before Begin.
  SearchRequest& request() { return request_; }
  // Fixes the read snapshot. No work is done before Start.
  void Begin(ReadSnapshot readSnapshot);
  // Upper estimate of the CPU time of the search, in microseconds. Call it between Begin and Start.
  float CostMax() const;

  enum class Progress {
    kIdle,          // other threads do the remaining work
    kPhaseStarted,  // a phase has begun: there is work for several threads
    kDone,          // the search has ended; returned to one thread only, which may read the outcome
  };
  // Begins the first phase. Call it once, from one thread, before all others.
  Progress Start();
  // Estimated CPU time of the next phase, in microseconds. For the thread that received kPhaseStarted.
  float Cost() const { return cost_; }
  // Works on the search until no work is left for this thread.
  Progress Help();
  // Runs the whole search on the calling thread.
  void Run();

  const Status& status() const { return status_; }
  // Valid if the status is ok.
  const SearchHits& hits() const { return hits_; }

 private:
  enum class Phase { kFind, kWiden, kScore };
  static constexpr uint32_t kPhases = 3;
  using Ticket = uint16_t;
  static_assert(kPhases * kShardsMax <= std::numeric_limits<Ticket>::max(), "the tickets of a search never wrap");

  // State of one shard.
  struct ShardWork {
    std::optional<ShardView> view;  // evaluates the filter
    std::optional<LexicalSearch> lexical;
    SearchBreadth breadth{};
    ShardNeighbors proposed;
    LexicalScores near;             // nearest rows in this shard, with their lexical scores
    std::vector<ScoredChunk> best;  // best lexical rows
    float ms = 0;
  };

  CollectionSearch() = default;
  // Prepares the object for reuse. Returns false if it should be deleted instead. No other reference may exist.
  bool Clear();

  bool Take(Ticket* ticket);
  Status RunShard(uint32_t shard, CancellationToken::Clock::time_point now);
  Status Find(uint32_t shard);
  void Fail(Status status);

  // Runs between two phases, on one thread.
  Progress Advance();
  bool NextPhase();
  Progress StartPhase(Phase phase);
  uint64_t PostingsMax() const;
  bool HasVector() const { return !request_.vector.empty() && request_.vectorCandidates > 0; }
  size_t ShardCount() const { return readSnapshot_.shards->size(); }
  SearchBreadth DefaultBreadth() const;
  SearchBreadth WidestBreadth() const;
  void SelectNearest();
  // Selects the shards that need a wider search for the next phase. Returns false if there are none.
  bool SelectWiderShards();
  void ComputeIdfs();
  // Fails the search if vectors could not be read. Call it after the last vector was read.
  void CheckVectors();
  void Merge();
  void Add(const ScoredChunk& entry, float similarity, float lexical);

  SearchRequest request_;
  ReadSnapshot readSnapshot_;
  VectorQuery query_;  // set if the request has a vector
  TermGroups groups_;
  std::deque<ShardWork> shardWork_;  // at least one per shard

  Phase phase_ = Phase::kFind;
  float cost_ = 0;
  std::vector<uint32_t> shards_;  // shards of the current phase
  Ticket firstTicket_ = 0;        // of the current phase
  // Tickets count through all phases, so that a delayed thread cannot take a ticket of another phase by
  // mistake. Clear resets them, when no other thread holds the search. Data of a phase is written before
  // `endTicket_` is raised and read only by threads that took one of its tickets.
  std::atomic<Ticket> nextTicket_{0};
  std::atomic<Ticket> endTicket_{0};
  std::atomic<uint32_t> unfinished_{0};  // shards of the current phase
  std::atomic<bool> failed_{false};

  std::vector<ShardNeighbor> proposed_;
  std::vector<ScoredChunk> nearest_;
  std::vector<float> idfs_;
  std::optional<ScoreFloor> floor_;
  std::vector<ScoredChunk> best_;
  std::vector<uint64_t> seen_;
  Status status_;  // written once, by the thread that set failed_
  SearchHits hits_;
};

// Runs a search on the calling thread.
Status Search(const ReadSnapshot& readSnapshot, const SearchRequest& request, SearchHits* hits);

}  // namespace quarry
