#include "engine/calibration.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>

namespace quarry {
namespace {

// Maximum number of sampled queries. Where the ef values are separated sooner, fewer suffice: one to three
// hundred.
constexpr uint32_t kQueriesMax = 2000;
constexpr uint32_t kSampleAttemptsMax = 64;  // random rows tried to hit a visible one
constexpr double kGrowth = 1.25;             // ratio of consecutive ef values
constexpr uint32_t kGuessFactorMax = 16;
// Number of standard errors by which the measured recall must exceed the target.
constexpr double kStandardErrors = 2;
// If no ef value reaches the target recall: allowed shortfall below the best one, as a fraction of (1 -
// target).
constexpr double kRecallTolerance = 0.1;
// A vector of about this length is the remainder of three that cancel each other and has no usable direction.
constexpr double kLengthMin = 0.1;

}  // namespace

Calibration::Calibration(std::shared_ptr<Collection> collection, double recall)
    : collection_(std::move(collection)), recall_(recall) {
  Begin(collection_->GetReadSnapshot());
}

void Calibration::Begin(const ReadSnapshot& readSnapshot) {
  const EfValues guess = DefaultEfValues(collection_->options().shards);
  startChanges_ = readSnapshot.changes;
  queries_ = 0;
  few_ = RangeFor(kFewRows, guess.few);
  many_ = RangeFor(kManyRows, guess.many);
}

Calibration::EfRange Calibration::RangeFor(uint32_t topK, uint32_t guess) const {
  EfRange range{topK, {}};
  uint32_t ef = std::max(kEfMin, RowsPerShardMax(topK, collection_->options().shards));
  for (; ef < kGuessFactorMax * guess; ef = static_cast<uint32_t>(std::ceil(ef * kGrowth))) {
    range.trials.push_back({ef});
  }
  range.undecidedEnd = range.trials.size();
  return range;
}

bool Calibration::Step() {
  try {
    return MeasureNext();
  } catch (const std::bad_alloc&) {
    return true;  // the collection keeps its current ef values
  }
}

bool Calibration::MeasureNext() {
  // Taken again for each query, so that calibration keeps no shard alive past its compaction.
  const ReadSnapshot readSnapshot = collection_->GetReadSnapshot();
  // Results measured before too many changes may no longer hold; start over.
  if (IsCalibrationStale(readSnapshot.changes - startChanges_, readSnapshot.rows)) Begin(readSnapshot);
  SearchRequest request;
  if (!SampleQuery(readSnapshot, &request)) return true;
  request.vectorCandidates = kManyRows;
  request.scanMode = ScanMode::kAlways;
  std::vector<float> truth;
  // If a search fails for lack of memory, the ef values stay unchanged as well.
  if (!Find(readSnapshot, request, &truth) || truth.empty()) return true;
  request.scanMode = ScanMode::kNever;
  queries_++;
  for (EfRange* range : {&few_, &many_}) {
    if (IsDecided(*range)) continue;
    if (!Measure(readSnapshot, request, truth, range)) return true;
    NarrowRange(range);
  }
  if (queries_ < kQueriesMax && !(IsDecided(few_) && IsDecided(many_))) return false;
  collection_->SetEfValues({ChosenEf(few_), ChosenEf(many_), true}, startChanges_);
  return true;
}

bool Calibration::SampleQuery(const ReadSnapshot& readSnapshot, SearchRequest* request) {
  for (uint32_t i = 0; i < kSampleAttemptsMax; i++) {
    const auto number = static_cast<uint32_t>(random_() % readSnapshot.shards->size());
    const Shard& shard = *(*readSnapshot.shards)[number];
    if (shard.Rows() == 0) continue;
    const auto row = static_cast<uint32_t>(random_() % shard.Rows());
    if (!shard.IsRowVisible(row, readSnapshot.epoch)) continue;
    request->vector = SampleNear(shard, row);
    return true;
  }
  return false;
}

std::vector<float> Calibration::SampleNear(const Shard& shard, uint32_t row) {
  const float* const own = shard.Vector(row);
  std::vector<float> vector(own, own + shard.dimensions());
  uint32_t links[Graph::kLinksLayer0];
  const uint32_t count = shard.graph().CopyLinks(row, 0, shard.Rows(), links);
  if (count < 2) return vector;
  std::swap(links[0], links[random_() % count]);
  std::swap(links[1], links[1 + random_() % (count - 1)]);
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

bool Calibration::Find(const ReadSnapshot& readSnapshot, const SearchRequest& request, std::vector<float>* cosines) {
  SearchHits hits;
  if (!Search(readSnapshot, request, &hits).ok()) return false;
  *cosines = std::move(hits.similarity);
  std::sort(cosines->begin(), cosines->end(), std::greater<>());
  return true;
}

bool Calibration::Measure(const ReadSnapshot& readSnapshot, SearchRequest request, const std::vector<float>& truth,
                          EfRange* range) {
  request.vectorCandidates = range->topK;
  const size_t topK = std::min<size_t>(range->topK, truth.size());
  ReadSnapshot trialSnapshot = readSnapshot;
  std::vector<float> cosines;
  bool all = false;  // a smaller ef found every row, so the larger ones do too
  for (size_t i = range->undecidedBegin; i < range->undecidedEnd; i++) {
    EfTrial& trial = range->trials[i];
    double recall = 1;
    if (!all) {
      trialSnapshot.efValues = {trial.ef, trial.ef, false};
      if (!Find(trialSnapshot, request, &cosines)) return false;
      // Among rows at equal distance, any may be returned.
      const auto near = [&](float cosine) { return cosine >= truth[topK - 1]; };
      const auto found = static_cast<size_t>(std::count_if(cosines.begin(), cosines.end(), near));
      recall = static_cast<double>(std::min(found, topK)) / static_cast<double>(topK);
      all = found >= topK;
    }
    trial.queries++;
    trial.recallSum += recall;
    trial.squaredRecallSum += recall * recall;
  }
  return true;
}

void Calibration::NarrowRange(EfRange* range) const {
  // Confidence bounds of the mean recall over all queries. One more query with recall 0 or 1 is added to the
  // sample: a hundred queries without a miss do not prove that misses never happen.
  const auto bound = [&](const EfTrial& trial, double other, double errors) {
    const double count = trial.queries + 1;
    const double mean = (trial.recallSum + other) / count;
    const double variance = std::max(0.0, (trial.squaredRecallSum + other) / count - mean * mean);
    return mean + errors * std::sqrt(variance / count);
  };
  auto& [topK, trials, undecidedBegin, undecidedEnd] = *range;
  while (undecidedBegin < undecidedEnd && bound(trials[undecidedBegin], 1, kStandardErrors) < recall_) undecidedBegin++;
  for (size_t i = undecidedBegin; i < undecidedEnd; i++) {
    if (bound(trials[i], 0, -kStandardErrors) >= recall_) undecidedEnd = i;
  }
}

bool Calibration::IsDecided(const EfRange& range) {
  if (range.undecidedBegin == range.undecidedEnd) return true;
  // Testing whether the next lower ef suffices too is not worth further searches.
  return range.undecidedEnd < range.trials.size() && range.undecidedEnd - range.undecidedBegin == 1;
}

uint32_t Calibration::ChosenEf(const EfRange& range) const {
  if (range.undecidedEnd < range.trials.size()) return range.trials[range.undecidedEnd].ef;
  // No ef value is known to reach the target recall; the quantized codes may hide rows at any ef. Choose the
  // smallest ef that finds nearly as much as the best one.
  double best = 0;
  for (const EfTrial& trial : range.trials) best = std::max(best, trial.Mean());
  const double nearly = best - (1 - recall_) * kRecallTolerance;
  return std::find_if(range.trials.begin(), range.trials.end(),
                      [&](const EfTrial& trial) { return trial.Mean() >= nearly; })
      ->ef;
}

}  // namespace quarry
