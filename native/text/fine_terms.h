// Terms of the fine chunks of one coarse chunk, stored so that a query needs neither their text nor its analysis.
// native/FORMAT.md documents the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace quarry::text {

// A term of a fine chunk: the upper half of the term's hash, and the index of the fine chunk in the lower half.
using FineTerm = uint64_t;

constexpr FineTerm ToFineTerm(uint64_t hash, uint32_t fineChunk) { return (hash >> 32 << 32) | fineChunk; }

// Appends the block of one coarse chunk. Sorts `terms`, whose fine chunks must be below `blanks.size()`. `blanks`: 1
// for each fine chunk of white space only.
void AppendFineTerms(const std::vector<uint8_t>& blanks, std::vector<FineTerm>* terms, std::vector<uint8_t>* bytes);

// Reads such a block in place. Valid as long as the bytes are.
class FineTermsView {
 public:
  // Returns nullopt if the bytes are not exactly one block.
  static std::optional<FineTermsView> Parse(std::span<const uint8_t> bytes);

  uint32_t fineChunks() const { return fineChunks_; }
  uint32_t terms() const { return terms_; }
  // Returns the upper half of the hash of a term; ascending, without duplicates.
  uint32_t prefix(uint32_t term) const;
  bool IsBlank(uint32_t fineChunk) const { return HasBit(blanks_, fineChunk); }
  // Returns the mask of the fine chunks with a term of this upper half of the hash; null if there are none.
  const uint8_t* Find(uint32_t hashPrefix) const;
  static bool HasBit(const uint8_t* mask, uint32_t bit) { return (mask[bit / 8] >> (bit % 8) & 1) != 0; }

 private:
  uint32_t fineChunks_ = 0;
  uint32_t terms_ = 0;
  size_t maskBytes_ = 0;
  const uint8_t* prefixes_ = nullptr;
  const uint8_t* masks_ = nullptr;
  const uint8_t* blanks_ = nullptr;
};

}  // namespace quarry::text
