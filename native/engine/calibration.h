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

// Searches for the neighbours of some stored rows, exactly and with more and more effort, and gives the collection the
// least effort that finds the wanted share of the nearest rows. A row is its own nearest one and does not count.
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
  // A row that a search of the moment sees, as a question; false when none was met.
  bool Draw(const Moment& moment, SearchRequest* request, Key* self);
  static bool Find(const Moment& moment, const SearchRequest& request, std::vector<Key>* found);
  // False when a search failed.
  static bool Try(Moment moment, SearchRequest request, const Key& self, Ladder* ladder);
  uint32_t Least(const Ladder& ladder) const;

  const std::shared_ptr<Collection> collection_;
  const double recall_;
  std::minstd_rand chance_;
  uint32_t tried_ = 0;
  Ladder few_;
  Ladder many_;
};

}  // namespace quarry
