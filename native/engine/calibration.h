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
  bool Over() const { return collection_->closed(); }
  // Runs one slice of the work: a few milliseconds for a hundred thousand rows. Returns true when no work is
  // left.
  bool Step();

 private:
  // One ef value and the results of searches with it.
  struct Rung {
    uint32_t effort;
    uint32_t asked = 0;  // number of queries
    double shares = 0;   // sum of the recall of each query
    double squares = 0;  // sum of the squares of the recall

    double Mean() const { return asked == 0 ? 0 : shares / asked; }
  };
  // The ef values tried for one number of wanted rows, ascending. Those before `open` find too few rows,
  // those from `enough` on reach the target recall. The values between are still measured.
  struct Ladder {
    uint32_t wanted;
    std::vector<Rung> rungs;
    size_t open = 0;
    size_t enough = 0;
  };

  bool TryNext();
  void Begin(const Moment& moment);
  Ladder LadderFor(uint32_t wanted, uint32_t guess) const;
  // Fills in a query point among the rows visible at `moment`. Returns false if no visible row was drawn.
  bool Draw(const Moment& moment, SearchRequest* request);
  // Returns a point where a row might plausibly lie: the row shifted by the difference of two of its
  // neighbors, then normalized. Such a point equals no row and is as hard to search as user queries: rows
  // themselves, midpoints and points slightly beside a row need a smaller ef. On three generated sets, the ef
  // for a recall of .99 was 22, 40 and 560 for queries that were no rows, and 35, 43 and 510 for these points
  // (100,000 clustered rows of 384 dimensions, 30,000 of 64, 20,000 uniform rows of 96).
  std::vector<float> Beside(const Shard& shard, uint32_t row);
  // Returns the cosines of the rows found, nearest first. Returns false if the search failed.
  static bool Find(const Moment& moment, const SearchRequest& request, std::vector<float>* cosines);
  // Runs the query with each undecided ef. `truth` holds the cosines of the nearest rows, at least as many as
  // wanted unless fewer exist. Returns false if a search failed.
  static bool Try(const Moment& moment, SearchRequest request, const std::vector<float>& truth, Ladder* ladder);
  // Narrows the undecided range [open, enough).
  void Judge(Ladder* ladder) const;
  static bool Decided(const Ladder& ladder);
  uint32_t Chosen(const Ladder& ladder) const;

  const std::shared_ptr<Collection> collection_;
  const double recall_;
  std::minstd_rand chance_;
  uint64_t begun_ = 0;  // change counter of the collection at the start
  uint32_t asked_ = 0;  // queries since the start
  Ladder few_;
  Ladder many_;
};

}  // namespace quarry
