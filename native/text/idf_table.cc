#include "text/idf_table.h"

#include <algorithm>
#include <bit>

namespace quarry::text {
namespace {

constexpr size_t kHeaderBytes = 8;
constexpr double kSteps = 16;

uint32_t ReadUint32(const uint8_t* from) {
  return static_cast<uint32_t>(from[0]) | static_cast<uint32_t>(from[1]) << 8 | static_cast<uint32_t>(from[2]) << 16 |
         static_cast<uint32_t>(from[3]) << 24;
}

// FNV-1a.
uint32_t AddByte(uint32_t hash, uint32_t byte) { return (hash ^ byte) * 0x01000193; }
uint32_t AddUnit(uint32_t hash, uint32_t unit) { return AddByte(AddByte(hash, unit & 0xff), unit >> 8); }

// Hash over the UTF-16 units of a text in UTF-8, low byte first.
uint32_t HashStem(std::string_view stem) {
  uint32_t hash = 0x811c9dc5;
  for (size_t at = 0; at < stem.size();) {
    const auto lead = static_cast<uint8_t>(stem[at++]);
    const int continuations = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    uint32_t character = continuations == 0 ? lead : lead & (0x3fu >> continuations);
    for (int i = 0; i < continuations && at < stem.size(); ++i) {
      character = character << 6 | (static_cast<uint8_t>(stem[at++]) & 0x3f);
    }
    if (character < 0x10000) {
      hash = AddUnit(hash, character);
    } else {
      hash = AddUnit(hash, 0xd7c0 + (character >> 10));
      hash = AddUnit(hash, 0xdc00 + (character & 0x3ff));
    }
  }
  return hash;
}

}  // namespace

std::unique_ptr<IdfTable> IdfTable::Create(std::span<const uint8_t> file) {
  if (file.size() < kHeaderBytes) return nullptr;
  const size_t count = ReadUint32(file.data());
  if (file.size() != kHeaderBytes + 5 * count) return nullptr;
  auto table = std::make_unique<IdfTable>();
  table->defaultIdf_ = std::bit_cast<float>(ReadUint32(file.data() + 4));
  for (size_t i = 0; i < count; ++i) table->hashes_.push_back(ReadUint32(file.data() + kHeaderBytes + 4 * i));
  const auto codes = file.subspan(kHeaderBytes + 4 * count);
  table->codes_.assign(codes.begin(), codes.end());
  return table;
}

double IdfTable::Get(std::string_view stem) const {
  const uint32_t hash = HashStem(stem);
  const auto found = std::lower_bound(hashes_.begin(), hashes_.end(), hash);
  if (found == hashes_.end() || *found != hash) return defaultIdf_;
  return codes_[static_cast<size_t>(found - hashes_.begin())] / kSteps;
}

}  // namespace quarry::text
