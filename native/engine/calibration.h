// Measures how widely the shards of a collection have to be searched.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "engine/collection.h"
#include "engine/search.h"

namespace quarry {

// Searches near some stored rows, exactly and with more and more effort, and gives the collection the least effort that
// finds the wanted share of the nearest rows. It does not ask with the rows themselves: a graph finds its own rows more
// easily than the questions of users.
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
  using Key = std::pair<double, uint32_t>;  // version and chunk

  // The efforts that are tried for one number of wanted rows.
  struct Ladder {
    uint32_t wanted;
    std::vector<uint32_t> efforts;  // ascending
    std::vector<uint64_t> found;    // by effort
    uint64_t all = 0;
  };

  bool TryNext();
  Ladder LadderFor(uint32_t wanted, uint32_t guess) const;
  // Asks for the neighbours of a place near a row that the moment sees; false when no such row was met.
  bool Draw(const Moment& moment, SearchRequest* request);
  // A place beside a row, on the side away from one of its neighbours.
  std::vector<float> Beyond(const Shard& shard, uint32_t row);
  static bool Find(const Moment& moment, const SearchRequest& request, std::vector<Key>* found);
  // False when a search failed.
  static bool Try(Moment moment, SearchRequest request, Ladder* ladder);
  uint32_t Least(const Ladder& ladder) const;

  const std::shared_ptr<Collection> collection_;
  const double recall_;
  std::minstd_rand chance_;
  uint32_t tried_ = 0;
  Ladder few_;
  Ladder many_;
};

}  // namespace quarry
