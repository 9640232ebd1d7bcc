#include "engine/calibration.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>

namespace quarry {
namespace {

// Maximum number of sampled queries. Where the ef values are separated sooner, fewer suffice: one to three
// hundred.
constexpr uint32_t kQuestionsMax = 2000;
constexpr uint32_t kDrawsMax = 64;  // random rows tried to hit a visible one
constexpr double kGrowth = 1.25;    // ratio of consecutive ef values
constexpr uint32_t kGuessesMax = 16;
// Number of standard errors by which the measured recall must exceed the target.
constexpr double kErrors = 2;
// If no ef value reaches the target recall: allowed shortfall below the best one, as a fraction of (1 -
// target).
constexpr double kNearly = 0.1;
// A vector of about this length is the remainder of three that cancel each other and has no usable direction.
constexpr double kLengthMin = 0.1;

}  // namespace

Calibration::Calibration(std::shared_ptr<Collection> collection, double recall)
    : collection_(std::move(collection)), recall_(recall) {
  Begin(collection_->Now());
}

void Calibration::Begin(const Moment& moment) {
  const Efforts guess = DefaultEfforts(collection_->options().shards);
  begun_ = moment.changes;
  asked_ = 0;
  few_ = LadderFor(kFewRows, guess.few);
  many_ = LadderFor(kManyRows, guess.many);
}

Calibration::Ladder Calibration::LadderFor(uint32_t wanted, uint32_t guess) const {
  Ladder ladder{wanted, {}};
  uint32_t effort = std::max(kEffortMin, ShareOf(wanted, collection_->options().shards));
  for (; effort < kGuessesMax * guess; effort = static_cast<uint32_t>(std::ceil(effort * kGrowth))) {
    ladder.rungs.push_back({effort});
  }
  ladder.enough = ladder.rungs.size();
  return ladder;
}

bool Calibration::Step() {
  try {
    return TryNext();
  } catch (const std::bad_alloc&) {
    return true;  // the collection keeps its current ef values
  }
}

bool Calibration::TryNext() {
  // Taken anew for each query, so that calibration keeps no shard alive past its compaction.
  const Moment moment = collection_->Now();
  // Results measured before too many changes may no longer hold; start over.
  if (OutOfDate(moment.changes - begun_, moment.rows)) Begin(moment);
  SearchRequest request;
  if (!Draw(moment, &request)) return true;
  request.vectorCandidates = kManyRows;
  request.scanning = Scanning::kAlways;
  std::vector<float> truth;
  // If a search fails for lack of memory, the ef values stay unchanged as well.
  if (!Find(moment, request, &truth) || truth.empty()) return true;
  request.scanning = Scanning::kNever;
  asked_++;
  for (Ladder* ladder : {&few_, &many_}) {
    if (Decided(*ladder)) continue;
    if (!Try(moment, request, truth, ladder)) return true;
    Judge(ladder);
  }
  if (asked_ < kQuestionsMax && !(Decided(few_) && Decided(many_))) return false;
  collection_->UseEfforts({Chosen(few_), Chosen(many_), true}, begun_);
  return true;
}

bool Calibration::Draw(const Moment& moment, SearchRequest* request) {
  for (uint32_t i = 0; i < kDrawsMax; i++) {
    const auto number = static_cast<uint32_t>(chance_() % moment.shards->size());
    const Shard& shard = *(*moment.shards)[number];
    if (shard.Rows() == 0) continue;
    const auto row = static_cast<uint32_t>(chance_() % shard.Rows());
    if (!shard.RowVisible(row, moment.epoch)) continue;
    request->vector = Beside(shard, row);
    return true;
  }
  return false;
}

std::vector<float> Calibration::Beside(const Shard& shard, uint32_t row) {
  const float* const own = shard.Vector(row);
  std::vector<float> vector(own, own + shard.dimensions());
  uint32_t links[Graph::kLinksGround];
  const uint32_t count = shard.graph().CopyLinks(row, 0, shard.Rows(), links);
  if (count < 2) return vector;
  std::swap(links[0], links[chance_() % count]);
  std::swap(links[1], links[1 + chance_() % (count - 1)]);
  const float* const to = shard.Vector(links[0]);
  const float* const from = shard.Vector(links[1]);
  double length = 0;
  for (size_t i = 0; i < vector.size(); i++) {
    vector[i] += to[i] - from[i];
    length += static_cast<double>(vector[i]) * vector[i];
  }
  length = std::sqrt(length);
  if (length < kLengthMin) return {own, own + shard.dimensions()};
  for (float& value : vector) value /= static_cast<float>(length);
  return vector;
}

bool Calibration::Find(const Moment& moment, const SearchRequest& request, std::vector<float>* cosines) {
  SearchHits hits;
  if (!Search(moment, request, &hits).ok()) return false;
  *cosines = std::move(hits.similarity);
  std::sort(cosines->begin(), cosines->end(), std::greater<>());
  return true;
}

bool Calibration::Try(const Moment& moment, SearchRequest request, const std::vector<float>& truth, Ladder* ladder) {
  request.vectorCandidates = ladder->wanted;
  const size_t wanted = std::min<size_t>(ladder->wanted, truth.size());
  Moment asked = moment;
  std::vector<float> cosines;
  bool all = false;  // a smaller ef found every row, so the larger ones do too
  for (size_t i = ladder->open; i < ladder->enough; i++) {
    Rung& rung = ladder->rungs[i];
    double share = 1;
    if (!all) {
      asked.efforts = {rung.effort, rung.effort, false};
      if (!Find(asked, request, &cosines)) return false;
      // Among rows at equal distance, any may be returned.
      const auto near = [&](float cosine) { return cosine >= truth[wanted - 1]; };
      const auto found = static_cast<size_t>(std::count_if(cosines.begin(), cosines.end(), near));
      share = static_cast<double>(std::min(found, wanted)) / static_cast<double>(wanted);
      all = found >= wanted;
    }
    rung.asked++;
    rung.shares += share;
    rung.squares += share * share;
  }
  return true;
}

void Calibration::Judge(Ladder* ladder) const {
  // Confidence bounds of the mean recall over all queries. One more query with recall 0 or 1 is added to the
  // sample: a hundred queries without a miss do not prove that misses never happen.
  const auto bound = [&](const Rung& rung, double other, double errors) {
    const double count = rung.asked + 1;
    const double mean = (rung.shares + other) / count;
    const double variance = std::max(0.0, (rung.squares + other) / count - mean * mean);
    return mean + errors * std::sqrt(variance / count);
  };
  auto& [wanted, rungs, open, enough] = *ladder;
  while (open < enough && bound(rungs[open], 1, kErrors) < recall_) open++;
  for (size_t i = open; i < enough; i++) {
    if (bound(rungs[i], 0, -kErrors) >= recall_) enough = i;
  }
}

bool Calibration::Decided(const Ladder& ladder) {
  if (ladder.open == ladder.enough) return true;
  // Testing whether the next lower ef suffices too is not worth further searches.
  return ladder.enough < ladder.rungs.size() && ladder.enough - ladder.open == 1;
}

uint32_t Calibration::Chosen(const Ladder& ladder) const {
  if (ladder.enough < ladder.rungs.size()) return ladder.rungs[ladder.enough].effort;
  // No ef value is known to reach the target recall; the quantized codes may hide rows at any ef. Choose the
  // smallest ef that finds nearly as much as the best one.
  double best = 0;
  for (const Rung& rung : ladder.rungs) best = std::max(best, rung.Mean());
  const double nearly = best - (1 - recall_) * kNearly;
  return std::find_if(ladder.rungs.begin(), ladder.rungs.end(), [&](const Rung& rung) { return rung.Mean() >= nearly; })
      ->effort;
}

}  // namespace quarry
