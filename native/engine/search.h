// One question to all shards of a collection at one moment.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
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
  uint32_t effort;      // rows that the graph kept in view; 0 when it was not searched
  uint32_t candidates;  // rows of the shard in the answer
  float ms;             // of a processor, waiting not counted
};

// The union of the nearest rows and the best lexical rows, in no promised order; entry i of every array is one row.
struct SearchHits {
  std::vector<double> version;
  std::vector<uint32_t> chunk;  // row inside its document
  std::vector<uint16_t> shard;
  std::vector<float> similarity;  // cosine; 0 when the request had no vector
  std::vector<float> lexical;     // BM25; 0 when no term matches
  std::vector<ShardReport> shards;
  bool calibrated = false;  // whether the efforts were measured on the collection

  void Clear();
};

// A search that any number of threads work on at once, each as long as it finds something to do; none of them ever
// waits for another. It goes through the shards in turns: all of them for their nearest rows and the frequency of the
// words; once more, and wider, those few that turn out to hold more of the nearest rows than was expected; all of them
// for their best rows by words, for which the frequency in the whole collection has to be known.
//
// Searches are used again, with their memory: make them by New.
class CollectionSearch {
 public:
  static std::shared_ptr<CollectionSearch> New();
  CollectionSearch(const CollectionSearch&) = delete;
  CollectionSearch& operator=(const CollectionSearch&) = delete;

  // To be filled in before Begin.
  SearchRequest& request() { return request_; }
  // Fixes what is searched. Nothing happens before Start.
  void Begin(Moment moment);
  // What the search takes of a processor at most, roughly, in microseconds. Between Begin and Start.
  float CostMax() const;

  enum class Progress {
    kNothing,  // others do what is left to do
    kTurn,     // a turn has begun: there is work for many
    kDone,     // the search has ended, and only this thread is told: the outcome may be read
  };
  // Begins the first turn. Once, by one thread, before all others.
  Progress Start();
  // What the coming turn takes of a processor, roughly, in microseconds. For the thread that was answered kTurn.
  float Cost() const { return cost_; }
  // Works on the search until there is nothing to do.
  Progress Help();
  // Works on it to the end, alone.
  void Run();

  const Status& status() const { return status_; }
  // When the status is ok.
  const SearchHits& hits() const { return hits_; }

 private:
  enum class Turn { kFind, kWiden, kScore };
  static constexpr uint32_t kTurns = 3;
  using Ticket = uint16_t;
  static_assert(kTurns * kShardsMax <= std::numeric_limits<Ticket>::max(), "the tickets of a search never wrap");

  // One shard's part.
  struct Part {
    std::optional<ShardView> view;  // evaluates the filter
    std::optional<LexicalSearch> lexical;
    Breadth breadth{};
    NearRows proposed;
    std::vector<std::pair<Scored, float>> near;  // those of the nearest rows that lie here, with their lexical scores
    std::vector<Scored> best;                    // by words
    float ms = 0;
  };

  CollectionSearch() = default;
  // Ready to be used again; answers whether that is wise. Nobody holds the search any more.
  bool Clear();

  bool Take(Ticket* ticket);
  Status Work(uint32_t shard, Patience::Clock::time_point now);
  Status Find(uint32_t shard);
  void Fail(Status status);

  // Between two turns, by one thread.
  Progress Advance();
  bool NextTurn();
  Progress StartTurn(Turn turn);
  uint64_t PostingsMax() const;
  bool HasVector() const { return !request_.vector.empty() && request_.vectorCandidates > 0; }
  size_t ShardCount() const { return moment_.shards->size(); }
  Breadth UsualBreadth() const;
  Breadth WidestBreadth() const;
  void ChooseNear();
  // Makes the shards that need a wider search those of the next turn; false when there are none.
  bool ChooseWider();
  void Weigh();
  // After the last vector was read: fails when some could not be.
  void CheckVectors();
  void Merge();
  void Add(const Scored& entry, float similarity, float lexical);

  SearchRequest request_;
  Moment moment_;
  NearQuery query_;  // when the request has a vector
  LexicalSearch::Groups groups_;
  std::deque<Part> parts_;  // at least as many as there are shards

  Turn turn_ = Turn::kFind;
  float cost_ = 0;
  std::vector<uint32_t> shards_;  // of the turn
  Ticket firstTicket_ = 0;        // of the turn
  // Tickets count through all turns, so that who comes late takes none of another turn by mistake; Clear, when nobody
  // is left who could, lets them begin anew. What a turn works with is written before `endTicket_` is raised, and read
  // by those who took one of its tickets.
  std::atomic<Ticket> nextTicket_{0};
  std::atomic<Ticket> endTicket_{0};
  std::atomic<uint32_t> unfinished_{0};  // shards of the turn
  std::atomic<bool> failed_{false};

  std::vector<NearRow> proposed_;
  std::vector<Scored> nearest_;
  std::vector<float> rarities_;
  std::optional<ScoreFloor> floor_;
  std::vector<Scored> best_;
  std::vector<uint64_t> seen_;
  Status status_;  // written once, by whoever sets failed_
  SearchHits hits_;
};

// Searches on the calling thread alone.
Status Search(const Moment& moment, const SearchRequest& request, SearchHits* hits);

}  // namespace quarry
