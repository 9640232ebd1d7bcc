// Inverse document frequencies learned from the training text of the reranker.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace quarry::text {

// The file described in src/models/idf-table.ts. Immutable and thread-safe.
class IdfTable {
 public:
  // Returns null if the file is incomplete.
  static std::unique_ptr<IdfTable> Create(std::span<const uint8_t> file);

  // Returns the IDF of a stem in UTF-8. Stems that are rare in the training text have the default IDF.
  double Get(std::string_view stem) const;

 private:
  std::vector<uint32_t> hashes_;  // ascending
  std::vector<uint8_t> codes_;
  double defaultIdf_ = 0;
};

}  // namespace quarry::text
