// What a shard knows of one version of a document.
#pragma once

#include <atomic>
#include <cstdint>

namespace quarry {

// `birth` is the epoch of the commit that made the version visible and `death` of the one that removed it: a search of
// epoch E sees it when birth <= E < death.
struct DocumentSlot {
  std::atomic<uint64_t> birth;
  std::atomic<uint64_t> death;
  uint64_t version;
  uint64_t bodyLength;  // sum over its rows
  uint32_t firstRow;    // the rows of a document are consecutive
  uint32_t rowCount;
};

}  // namespace quarry
