#include "engine/calibration.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace quarry {
namespace {

constexpr uint32_t kSamples = 100;
constexpr uint32_t kDrawsMax = 64;  // rows looked at for one that is visible
constexpr double kGrowth = 1.25;    // from one effort to the next
constexpr uint32_t kGuessesMax = 4;
// How far beside a row it is asked, in distances to a neighbour. Rows themselves are found too easily and places far
// from all rows too hardly. Chosen on one generated set of 100,000 rows: the effort found for a recall of .99 gave .985
// to its questions, which were no rows.
constexpr float kAway = 0.5F;

}  // namespace

Calibration::Calibration(std::shared_ptr<Collection> collection, double recall)
    : collection_(std::move(collection)),
      recall_(recall),
      few_(LadderFor(kFewRows, DefaultEfforts(collection_->options().shards).few)),
      many_(LadderFor(kManyRows, DefaultEfforts(collection_->options().shards).many)) {}

Calibration::Ladder Calibration::LadderFor(uint32_t wanted, uint32_t guess) const {
  Ladder ladder{wanted, {}, {}};
  uint32_t effort = std::max(kEffortMin, ShareOf(wanted, collection_->options().shards));
  for (; effort < kGuessesMax * guess; effort = static_cast<uint32_t>(std::ceil(effort * kGrowth))) {
    ladder.efforts.push_back(effort);
  }
  ladder.found.resize(ladder.efforts.size());
  return ladder;
}

bool Calibration::Step() {
  try {
    return TryNext();
  } catch (const std::bad_alloc&) {
    return true;  // the collection goes on with the efforts that it has
  }
}

bool Calibration::TryNext() {
  // Taken anew for each row, so that nothing outlives a compaction for the sake of it.
  const Moment moment = collection_->Now();
  SearchRequest request;
  if (!Draw(moment, &request)) return true;
  // Where a search fails, for want of memory, the same.
  if (!Try(moment, request, &few_) || !Try(moment, request, &many_)) return true;
  if (++tried_ < kSamples) return false;
  collection_->UseEfforts({Least(few_), Least(many_), true}, moment.rows);
  return true;
}

bool Calibration::Draw(const Moment& moment, SearchRequest* request) {
  for (uint32_t i = 0; i < kDrawsMax; i++) {
    const auto number = static_cast<uint32_t>(chance_() % moment.shards->size());
    const Shard& shard = *(*moment.shards)[number];
    if (shard.Rows() == 0) continue;
    const auto row = static_cast<uint32_t>(chance_() % shard.Rows());
    if (!shard.RowVisible(row, moment.epoch)) continue;
    request->vector = Beyond(shard, row);
    return true;
  }
  return false;
}

std::vector<float> Calibration::Beyond(const Shard& shard, uint32_t row) {
  std::vector<float> vector(shard.Vector(row), shard.Vector(row) + shard.dimensions());
  uint32_t links[Graph::kLinksGround];
  const uint32_t count = shard.graph().CopyLinks(row, 0, shard.Rows(), links);
  if (count == 0) return vector;
  const float* const near = shard.Vector(links[chance_() % count]);
  double length = 0;
  for (size_t i = 0; i < vector.size(); i++) {
    vector[i] += kAway * (vector[i] - near[i]);
    length += static_cast<double>(vector[i]) * vector[i];
  }
  for (float& value : vector) value /= static_cast<float>(std::sqrt(length));
  return vector;
}

bool Calibration::Find(const Moment& moment, const SearchRequest& request, std::vector<Key>* found) {
  SearchHits hits;
  if (!Search(moment, request, &hits).ok()) return false;
  found->clear();
  for (size_t i = 0; i < hits.version.size(); i++) found->emplace_back(hits.version[i], hits.chunk[i]);
  std::sort(found->begin(), found->end());
  return true;
}

bool Calibration::Try(Moment moment, SearchRequest request, Ladder* ladder) {
  std::vector<Key> truth;
  std::vector<Key> found;
  request.vectorCandidates = ladder->wanted;
  request.scanning = Scanning::kAlways;
  if (!Find(moment, request, &truth)) return false;
  ladder->all += truth.size();
  request.scanning = Scanning::kByCost;
  for (size_t i = 0; i < ladder->efforts.size(); i++) {
    moment.efforts = {ladder->efforts[i], ladder->efforts[i], false};
    if (!Find(moment, request, &found)) return false;
    for (const Key& key : truth) ladder->found[i] += std::binary_search(found.begin(), found.end(), key) ? 1 : 0;
  }
  return true;
}

uint32_t Calibration::Least(const Ladder& ladder) const {
  for (size_t i = 0; i < ladder.efforts.size(); i++) {
    if (static_cast<double>(ladder.found[i]) >= recall_ * static_cast<double>(ladder.all)) return ladder.efforts[i];
  }
  return ladder.efforts.back();
}

}  // namespace quarry
