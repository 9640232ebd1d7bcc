// Measures the ef values that the searches of a collection need.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "engine/collection.h"
#include "engine/search.h"

namespace quarry {

// Queries points among the stored rows, exactly and by graph walks with increasing ef, and sets in the
// collection the smallest ef that reaches the target recall of the nearest rows. Confidence bounds account
// for the error of a small sample. Graphs are walked however small they are, so the result still holds while
// they grow.
class Calibration {
 public:
  // `recall` is the target. Call Collection::BeginCalibration first; the destructor ends the calibration.
  Calibration(std::shared_ptr<Collection> collection, double recall);
  ~Calibration() { collection_->EndCalibration(); }
  Calibration(const Calibration&) = delete;
  Calibration& operator=(const Calibration&) = delete;

  // Whether the collection was closed, so the result is no longer needed.
  bool IsObsolete() const { return collection_->closed(); }
  // Runs one slice of the work: a few milliseconds for a hundred thousand rows. Returns true when no work is
  // left.
  bool Step();

 private:
  // One ef value and the results of searches with it.
  struct EfTrial {
    uint32_t ef;
    uint32_t queries = 0;         // number of queries
    double recallSum = 0;         // sum of the recall of each query
    double squaredRecallSum = 0;  // sum of the squares of the recall

    double Mean() const { return queries == 0 ? 0 : recallSum / queries; }
  };
  // The ef values tried for one number of nearest rows, ascending. Those before `undecidedBegin` find too few rows,
  // those from `undecidedEnd` on reach the target recall. The values between are still measured.
  struct EfRange {
    uint32_t topK;
    std::vector<EfTrial> trials;
    size_t undecidedBegin = 0;
    size_t undecidedEnd = 0;
  };

  bool MeasureNext();
  void Begin(const ReadSnapshot& readSnapshot);
  EfRange RangeFor(uint32_t topK, uint32_t guess) const;
  // Fills in a query point among the rows visible at `readSnapshot`. Returns false if no visible row was drawn.
  bool SampleQuery(const ReadSnapshot& readSnapshot, SearchRequest* request);
  // Returns a point where a row might plausibly lie: the row shifted by the difference of two of its
  // neighbors, then normalized. Such a point equals no row and is as hard to search as user queries: rows
  // themselves, midpoints and points slightly beside a row need a smaller ef. On three generated sets, the ef
  // for a recall of .99 was 22, 40 and 560 for queries that were no rows, and 35, 43 and 510 for these points
  // (100,000 clustered rows of 384 dimensions, 30,000 of 64, 20,000 uniform rows of 96).
  std::vector<float> SampleNear(const Shard& shard, uint32_t row);
  // Returns the cosines of the rows found, nearest first. Returns false if the search failed.
  static bool Find(const ReadSnapshot& readSnapshot, const SearchRequest& request, std::vector<float>* cosines);
  // Runs the query with each undecided ef. `truth` holds the cosines of the nearest rows, at least as many as
  // wanted unless fewer exist. Returns false if a search failed.
  static bool Measure(const ReadSnapshot& readSnapshot, SearchRequest request, const std::vector<float>& truth,
                      EfRange* range);
  // Narrows the undecided range [undecidedBegin, undecidedEnd).
  void NarrowRange(EfRange* range) const;
  static bool IsDecided(const EfRange& range);
  uint32_t ChosenEf(const EfRange& range) const;

  const std::shared_ptr<Collection> collection_;
  const double recall_;
  std::minstd_rand random_;
  uint64_t startChanges_ = 0;  // change counter of the collection at the start
  uint32_t queries_ = 0;       // queries since the start
  EfRange few_;
  EfRange many_;
};

}  // namespace quarry
