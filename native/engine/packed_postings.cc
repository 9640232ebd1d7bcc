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
    const uint64_t end = i + 1 < view.terms_ ? view.entries_[i + 1].offset : left;
    if (end > left || !view.CheckList(view.entries_[i].offset, end, rows)) return false;
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

bool PackedPostings::CheckList(uint64_t offset, uint64_t end, uint32_t rows) const {
  if (offset >= end) return false;
  const ListHeader& list = ListAt(offset);
  const uint64_t headers = offset + 1;
  const uint64_t blocks = headers + uint64_t{list.Blocks()} * 2;
  if (blocks > end) return false;
  uint64_t at = blocks;
  uint32_t before = kBeforeFirst;
  const auto* header = reinterpret_cast<const BlockHeader*>(words_ + headers);
  for (uint32_t i = 0; i < list.Blocks(); before = header[i++].lastRow) {
    if (header[i].gapBits > 32 || (header[i].bodyBits & ~BlockHeader::kBodyFromOne) > 16 || header[i].prefixBits > 16) {
      return false;
    }
    if (header[i].offset != at - blocks || header[i].lastRow >= rows) return false;
    if (before != kBeforeFirst && header[i].lastRow <= before) return false;
    at += PackedWords(header[i]);
    if (at > end) return false;
  }
  const auto* tail = reinterpret_cast<const uint8_t*>(words_ + at);
  const auto* const tailEnd = reinterpret_cast<const uint8_t*>(words_ + end);
  return CheckTail(tail, static_cast<size_t>(tailEnd - tail), list.Tail(), before, rows);
}

const PackedPostings::Entry* PackedPostings::Find(uint64_t hash) const {
  if (terms_ == 0) return nullptr;
  const uint64_t bucket = BucketOf(hash, bucketBits_);
  const Entry* const end = entries_ + buckets_[bucket + 1];
  // A binary search of so few entries has more branches that are hard to predict.
  const Entry* found = entries_ + buckets_[bucket];
  while (found != end && found->hash < hash) found++;
  return found == end || found->hash != hash ? nullptr : found;
}

void PackedPostings::Read(uint64_t hash, PostingCursor* cursor) const {
  const Entry* entry = Find(hash);
  if (entry == nullptr) return;
  const ListHeader& list = ListAt(entry->offset);
  const auto* headers = reinterpret_cast<const BlockHeader*>(words_ + entry->offset + 1);
  const uint64_t* tail = words_ + entry->offset + 1 + uint64_t{list.Blocks()} * 2;
  uint32_t before = kBeforeFirst;
  if (list.Blocks() > 0) {
    cursor->AddBlocks(headers, list.Blocks(), kBeforeFirst, tail);
    const BlockHeader& last = headers[list.Blocks() - 1];
    tail += last.offset + PackedWords(last);
    before = last.lastRow;
  }
  cursor->AddTail(reinterpret_cast<const uint8_t*>(tail), list.Tail(), before, list.bounds);
}

uint64_t PackedPostings::Count(uint64_t hash) const {
  const Entry* entry = Find(hash);
  if (entry == nullptr) return 0;
  const ListHeader& list = ListAt(entry->offset);
  return uint64_t{list.Blocks()} * kBlockPostings + list.Tail();
}

void PackedPostings::PrefetchBucket(uint64_t hash) const {
  if (terms_ > 0) __builtin_prefetch(&buckets_[BucketOf(hash, bucketBits_)]);
}

void PackedPostings::PrefetchEntries(uint64_t hash) const {
  if (terms_ == 0) return;
  const Entry* const entries = entries_ + buckets_[BucketOf(hash, bucketBits_)];
  __builtin_prefetch(entries);
  __builtin_prefetch(entries + 4);
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
  tail_.clear();
  headers_.clear();
  blocks_.clear();
}

void PackedPostingsWriter::Add(const Posting& posting, uint32_t length) {
  bounds_.Include(FrequencyOf(posting.body, posting.prefix), length);
  tail_.push_back(posting);
  if (tail_.size() == kBlockPostings) PackFull();
}

void PackedPostingsWriter::PackFull() {
  BlockHeader header{};
  header.offset = static_cast<uint32_t>(blocks_.size());
  header.bounds = bounds_;
  PackBlock(tail_.data(), before_, &blocks_, &header);
  headers_.push_back(header);
  before_ = header.lastRow;
  tail_.clear();
  bounds_ = {};
}

void PackedPostingsWriter::End() {
  if (headers_.empty() && tail_.empty()) return;
  entries_.push_back({hash_, words_});
  const PackedPostings::ListHeader list{static_cast<uint32_t>(headers_.size() << 7 | tail_.size()), bounds_};
  Put(&list, sizeof list);
  Put(headers_.data(), headers_.size() * sizeof(BlockHeader));
  Put(blocks_.data(), blocks_.size() * kWordBytes);
  uint8_t bytes[kBlockPostings * kTailPostingBytesMax];
  size_t length = 0;
  for (const Posting& posting : tail_) {
    length += EncodeTailPosting(posting, before_, bytes + length);
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
