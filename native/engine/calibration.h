// Measures how widely the shards of a collection have to be searched.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "engine/collection.h"
#include "engine/search.h"

namespace quarry {

// Asks about places among the stored rows, exactly and by walks through the graphs with more and more effort, and gives
// the collection the least effort that finds the wanted share of the nearest rows: as good as certainly, for what few
// questions say of all others is told with its error. Graphs are walked however small they are, so that what was measured
// holds while they grow.
class Calibration {
 public:
  // `recall` is the wanted share. After the collection's BeginCalibration, which it ends.
  Calibration(std::shared_ptr<Collection> collection, double recall);
  ~Calibration() { collection_->EndCalibration(); }
  Calibration(const Calibration&) = delete;
  Calibration& operator=(const Calibration&) = delete;

  // The collection was closed: nobody needs the answer.
  bool Over() const { return collection_->closed(); }
  // A slice of the work, a few milliseconds for a hundred thousand rows; true when there is nothing left to do.
  bool Step();

 private:
  // One effort, and what the searches with it found.
  struct Rung {
    uint32_t effort;
    uint32_t asked = 0;  // questions
    double shares = 0;   // of the nearest rows that each of them found, their sum
    double squares = 0;  // and that of their squares

    double Mean() const { return asked == 0 ? 0 : shares / asked; }
  };
  // The efforts that are tried for one number of wanted rows, ascending. Those before `open` find too few, those from
  // `enough` on find as many as are wanted; what lies between is asked further.
  struct Ladder {
    uint32_t wanted;
    std::vector<Rung> rungs;
    size_t open = 0;
    size_t enough = 0;
  };

  bool TryNext();
  void Begin(const Moment& moment);
  Ladder LadderFor(uint32_t wanted, uint32_t guess) const;
  // Fills in a place among the rows that the moment sees; false when none of them was met.
  bool Draw(const Moment& moment, SearchRequest* request);
  // A place where a row might lie as well: as far from the row, and in the direction, as one of its neighbours from
  // another. It is none of them, and finds its way as hardly as questions of users: rows themselves, places between them
  // and such as lie a little beside a row are found with less effort. Of three generated sets the questions, which were
  // no rows, needed 22, 40 and 560 for a recall of .99, these places 35, 43 and 510 (100,000 clustered rows of 384
  // dimensions, 30,000 of 64, 20,000 of 96 that lie anywhere).
  std::vector<float> Beside(const Shard& shard, uint32_t row);
  // The cosines of the rows that are found, the nearest first; false when the search failed.
  static bool Find(const Moment& moment, const SearchRequest& request, std::vector<float>* cosines);
  // Asks with each effort that is undecided; `truth` are the cosines of the nearest rows, not fewer than are wanted
  // unless there are no more. False when a search failed.
  static bool Try(const Moment& moment, SearchRequest request, const std::vector<float>& truth, Ladder* ladder);
  // Moves the ends of what is undecided.
  void Judge(Ladder* ladder) const;
  static bool Decided(const Ladder& ladder);
  uint32_t Chosen(const Ladder& ladder) const;

  const std::shared_ptr<Collection> collection_;
  const double recall_;
  std::minstd_rand chance_;
  uint64_t begun_ = 0;  // changes of the collection when it began
  uint32_t asked_ = 0;  // questions since then
  Ladder few_;
  Ladder many_;
};

}  // namespace quarry
