#include "engine/packed_postings.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace quarry {
namespace {

// Approximate number of terms per bucket of the index.
constexpr uint64_t kBucketTerms = 8;
constexpr uint32_t kBucketBitsMax = 28;
constexpr size_t kWordBytes = sizeof(uint64_t);

uint64_t BucketOf(uint64_t hash, uint32_t bits) { return bits == 0 ? 0 : hash >> (64 - bits); }
// Returns the size of the index in words: a start for every bucket, and the end of the last.
uint64_t IndexWords(uint64_t bits) { return ((uint64_t{1} << bits) + 2) / 2; }

}  // namespace

bool PackedPostings::Parse(const uint64_t* words, size_t length, uint32_t rows, PackedPostings* packed) {
  if (length % kWordBytes != 0 || length < sizeof(Trailer)) return false;
  PackedPostings view;
  view.words_ = words;
  Trailer trailer{};
  std::memcpy(&trailer, words + (length - sizeof trailer) / kWordBytes, sizeof trailer);
  uint64_t left = (length - sizeof trailer) / kWordBytes;
  if (trailer.bucketBits > kBucketBitsMax || IndexWords(trailer.bucketBits) > left) return false;
  left -= IndexWords(trailer.bucketBits);
  view.buckets_ = reinterpret_cast<const uint32_t*>(view.words_ + left);
  if (trailer.terms > left / 2) return false;
  left -= trailer.terms * 2;
  view.entries_ = reinterpret_cast<const Entry*>(view.words_ + left);
  view.terms_ = trailer.terms;
  view.bucketBits_ = static_cast<uint32_t>(trailer.bucketBits);
  if (!view.CheckDirectory()) return false;
  for (uint64_t i = 0; i < view.terms_; i++) {
    const uint64_t end = i + 1 < view.terms_ ? view.entries_[i + 1].place : left;
    if (end > left || !view.CheckList(view.entries_[i].place, end, rows)) return false;
  }
  *packed = view;
  return true;
}

bool PackedPostings::CheckDirectory() const {
  const uint64_t buckets = uint64_t{1} << bucketBits_;
  if (buckets_[0] != 0 || buckets_[buckets] != terms_) return false;
  for (uint64_t bucket = 0; bucket < buckets; bucket++) {
    if (buckets_[bucket] > buckets_[bucket + 1] || buckets_[bucket + 1] > terms_) return false;
    for (uint64_t i = buckets_[bucket]; i < buckets_[bucket + 1]; i++) {
      if (BucketOf(entries_[i].hash, bucketBits_) != bucket) return false;
      if (i > 0 && entries_[i - 1].hash >= entries_[i].hash) return false;
    }
  }
  return true;
}

bool PackedPostings::CheckList(uint64_t place, uint64_t end, uint32_t rows) const {
  if (place >= end) return false;
  const ListHead& list = ListAt(place);
  const uint64_t heads = place + 1;
  const uint64_t blocks = heads + uint64_t{list.Blocks()} * 2;
  if (blocks > end) return false;
  uint64_t at = blocks;
  uint32_t before = kBeforeFirst;
  const auto* head = reinterpret_cast<const BlockHead*>(words_ + heads);
  for (uint32_t i = 0; i < list.Blocks(); before = head[i++].lastRow) {
    if (head[i].gapBits > 32 || (head[i].bodyBits & ~BlockHead::kBodyFromOne) > 16 || head[i].prefixBits > 16) {
      return false;
    }
    if (head[i].place != at - blocks || head[i].lastRow >= rows) return false;
    if (before != kBeforeFirst && head[i].lastRow <= before) return false;
    at += PackedWords(head[i]);
    if (at > end) return false;
  }
  const auto* loose = reinterpret_cast<const uint8_t*>(words_ + at);
  const auto* const looseEnd = reinterpret_cast<const uint8_t*>(words_ + end);
  return CheckLoose(loose, static_cast<size_t>(looseEnd - loose), list.Loose(), before, rows);
}

const PackedPostings::Entry* PackedPostings::Find(uint64_t hash) const {
  if (terms_ == 0) return nullptr;
  const uint64_t bucket = BucketOf(hash, bucketBits_);
  const Entry* const end = entries_ + buckets_[bucket + 1];
  const Entry* const found = std::lower_bound(entries_ + buckets_[bucket], end, hash,
                                              [](const Entry& entry, uint64_t wanted) { return entry.hash < wanted; });
  return found == end || found->hash != hash ? nullptr : found;
}

void PackedPostings::Read(uint64_t hash, PostingCursor* cursor) const {
  const Entry* entry = Find(hash);
  if (entry == nullptr) return;
  const ListHead& list = ListAt(entry->place);
  const auto* heads = reinterpret_cast<const BlockHead*>(words_ + entry->place + 1);
  const uint64_t* loose = words_ + entry->place + 1 + uint64_t{list.Blocks()} * 2;
  uint32_t before = kBeforeFirst;
  if (list.Blocks() > 0) {
    cursor->AddBlocks(heads, list.Blocks(), kBeforeFirst, loose);
    const BlockHead& last = heads[list.Blocks() - 1];
    loose += last.place + PackedWords(last);
    before = last.lastRow;
  }
  cursor->AddLoose(reinterpret_cast<const uint8_t*>(loose), list.Loose(), before, list.bounds);
}

uint64_t PackedPostings::Count(uint64_t hash) const {
  const Entry* entry = Find(hash);
  if (entry == nullptr) return 0;
  const ListHead& list = ListAt(entry->place);
  return uint64_t{list.Blocks()} * kBlockPostings + list.Loose();
}

std::vector<uint64_t> PackedPostings::Hashes() const {
  std::vector<uint64_t> hashes;
  hashes.reserve(terms_);
  for (uint64_t i = 0; i < terms_; i++) hashes.push_back(entries_[i].hash);
  return hashes;
}

void PackedPostingsWriter::Put(const void* bytes, size_t length) {
  constexpr uint64_t kZeros = 0;
  sink_(bytes, length);
  const size_t padding = (kWordBytes - length % kWordBytes) % kWordBytes;
  if (padding > 0) sink_(&kZeros, padding);
  words_ += (length + padding) / kWordBytes;
}

void PackedPostingsWriter::Begin(uint64_t hash) {
  hash_ = hash;
  before_ = kBeforeFirst;
  bounds_ = {};
  loose_.clear();
  heads_.clear();
  blocks_.clear();
}

void PackedPostingsWriter::Add(const Posting& posting, uint32_t length) {
  bounds_.Include(FrequencyOf(posting.body, posting.prefix), length);
  loose_.push_back(posting);
  if (loose_.size() == kBlockPostings) PackFull();
}

void PackedPostingsWriter::PackFull() {
  BlockHead head{};
  head.place = static_cast<uint32_t>(blocks_.size());
  head.bounds = bounds_;
  PackBlock(loose_.data(), before_, &blocks_, &head);
  heads_.push_back(head);
  before_ = head.lastRow;
  loose_.clear();
  bounds_ = {};
}

void PackedPostingsWriter::End() {
  if (heads_.empty() && loose_.empty()) return;
  entries_.push_back({hash_, words_});
  const PackedPostings::ListHead list{static_cast<uint32_t>(heads_.size() << 7 | loose_.size()), bounds_};
  Put(&list, sizeof list);
  Put(heads_.data(), heads_.size() * sizeof(BlockHead));
  Put(blocks_.data(), blocks_.size() * kWordBytes);
  uint8_t bytes[kBlockPostings * kLoosePostingBytesMax];
  size_t length = 0;
  for (const Posting& posting : loose_) {
    length += PutLoose(posting, before_, bytes + length);
    before_ = posting.row;
  }
  Put(bytes, length);
}

void PackedPostingsWriter::Finish() {
  const uint32_t bits = std::min(kBucketBitsMax, static_cast<uint32_t>(std::bit_width(entries_.size() / kBucketTerms)));
  std::vector<uint32_t> buckets(IndexWords(bits) * 2, 0);
  for (const auto& entry : entries_) buckets[BucketOf(entry.hash, bits) + 1]++;
  for (uint64_t bucket = 0; bucket < uint64_t{1} << bits; bucket++) buckets[bucket + 1] += buckets[bucket];
  Put(entries_.data(), entries_.size() * sizeof(PackedPostings::Entry));
  Put(buckets.data(), buckets.size() * sizeof(uint32_t));
  const PackedPostings::Trailer trailer{entries_.size(), bits};
  Put(&trailer, sizeof trailer);
}

}  // namespace quarry
