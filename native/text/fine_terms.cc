#include "text/fine_terms.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace quarry::text {
namespace {

static_assert(std::endian::native == std::endian::little, "a block has the byte order of memory");

constexpr size_t kHeaderBytes = 2 * sizeof(uint32_t);

constexpr size_t MaskBytes(size_t fineChunks) { return (fineChunks + 7) / 8; }

void SetBit(uint8_t* mask, uint32_t bit) { mask[bit / 8] = static_cast<uint8_t>(mask[bit / 8] | 1U << (bit % 8)); }

uint32_t PrefixOf(FineTerm term) { return static_cast<uint32_t>(term >> 32); }

uint32_t Load32(const uint8_t* bytes) {
  uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

void AppendFineTerms(const std::vector<uint8_t>& blanks, std::vector<FineTerm>* terms, std::vector<uint8_t>* bytes) {
  std::sort(terms->begin(), terms->end());
  uint32_t distinct = 0;
  for (size_t i = 0; i < terms->size(); ++i) {
    if (i == 0 || PrefixOf((*terms)[i]) != PrefixOf((*terms)[i - 1])) ++distinct;
  }
  const auto fineChunks = static_cast<uint32_t>(blanks.size());
  const size_t maskBytes = MaskBytes(fineChunks);
  const size_t start = bytes->size();
  bytes->resize(start + kHeaderBytes + distinct * (sizeof(uint32_t) + maskBytes) + maskBytes);
  uint8_t* const header = bytes->data() + start;
  std::memcpy(header, &fineChunks, sizeof fineChunks);
  std::memcpy(header + sizeof fineChunks, &distinct, sizeof distinct);
  uint8_t* prefix = header + kHeaderBytes;
  uint8_t* mask = prefix + distinct * sizeof(uint32_t);
  for (size_t i = 0; i < terms->size();) {
    const uint32_t value = PrefixOf((*terms)[i]);
    for (; i < terms->size() && PrefixOf((*terms)[i]) == value; ++i) SetBit(mask, static_cast<uint32_t>((*terms)[i]));
    std::memcpy(prefix, &value, sizeof value);
    prefix += sizeof value;
    mask += maskBytes;
  }
  for (uint32_t i = 0; i < fineChunks; ++i) {
    if (blanks[i] != 0) SetBit(mask, i);
  }
}

std::optional<FineTermsView> FineTermsView::Parse(std::span<const uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  FineTermsView view;
  view.fineChunks_ = Load32(bytes.data());
  view.terms_ = Load32(bytes.data() + sizeof(uint32_t));
  view.maskBytes_ = MaskBytes(view.fineChunks_);
  const size_t termBytes = view.terms_ * (sizeof(uint32_t) + view.maskBytes_);
  if (bytes.size() != kHeaderBytes + termBytes + view.maskBytes_) return std::nullopt;
  view.prefixes_ = bytes.data() + kHeaderBytes;
  view.masks_ = view.prefixes_ + view.terms_ * sizeof(uint32_t);
  view.blanks_ = view.masks_ + view.terms_ * view.maskBytes_;
  return view;
}

uint32_t FineTermsView::prefix(uint32_t term) const { return Load32(prefixes_ + term * sizeof(uint32_t)); }

const uint8_t* FineTermsView::Find(uint32_t hashPrefix) const {
  uint32_t low = 0;
  for (uint32_t count = terms_; count > 0;) {
    const uint32_t half = count / 2;
    const bool isBelow = prefix(low + half) < hashPrefix;
    low = isBelow ? low + half + 1 : low;
    count = isBelow ? count - half - 1 : half;
  }
  return low < terms_ && prefix(low) == hashPrefix ? masks_ + low * maskBytes_ : nullptr;
}

}  // namespace quarry::text
