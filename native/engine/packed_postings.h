// All posting lists of a shard as one byte string that is read in place, for example from a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/posting_block.h"
#include "engine/posting_cursor.h"

namespace quarry {

// Layout in words of 8 bytes: the lists, the directory, the index and the trailer, as specified in native/FORMAT.md.
class PackedPostings {
 public:
  // Empty: no lists.
  PackedPostings() = default;

  // Views `length` bytes, which must outlive the object. Returns false if they are not output of PackedPostingsWriter
  // for a shard of `rows` rows, as far as can be checked without unpacking blocks; a checksum must cover the rest.
  static bool Parse(const uint64_t* words, size_t length, uint32_t rows, PackedPostings* packed);

  // Adds the list of `hash`, if any, to the cursor.
  void Read(uint64_t hash, PostingCursor* cursor) const;
  // Returns the number of postings of the term.
  uint64_t Count(uint64_t hash) const;
  // Prefetch what Read and Count read: first the bucket, then its entries.
  void PrefetchBucket(uint64_t hash) const;
  void PrefetchEntries(uint64_t hash) const;

  // Returns the hashes of all terms, ascending.
  std::vector<uint64_t> Hashes() const;

 private:
  friend class PackedPostingsWriter;
  // A list begins with blocks << 7 | number of tail postings, and the bounds of the tail. Then follow the
  // headers, whose offsets count from the first word after them, the packed blocks, and the bytes of the tail.
  struct ListHeader {
    uint32_t shape;
    GainBounds bounds;
    uint32_t Blocks() const { return shape >> 7; }
    uint32_t Tail() const { return shape & 0x7f; }
  };
  struct Entry {
    uint64_t hash;
    uint64_t offset;  // offset of the list, in words from the start
  };
  struct Trailer {
    uint64_t terms;
    uint64_t bucketBits;
  };
  static_assert(sizeof(ListHeader) == 8 && sizeof(Entry) == 16 && sizeof(Trailer) == 16);

  bool CheckDirectory() const;
  bool CheckList(uint64_t offset, uint64_t end, uint32_t rows) const;
  const Entry* Find(uint64_t hash) const;
  const ListHeader& ListAt(uint64_t offset) const { return *reinterpret_cast<const ListHeader*>(words_ + offset); }

  const uint64_t* words_ = nullptr;
  const Entry* entries_ = nullptr;     // sorted by hash
  const uint32_t* buckets_ = nullptr;  // index of the first entry of each bucket; bucket: leading bits of the hash
  uint64_t terms_ = 0;
  uint32_t bucketBits_ = 0;
};

// Writes lists as a stream. Call Begin, Add ..., End for each term, ascending by hash; then Finish.
class PackedPostingsWriter {
 public:
  using Sink = std::function<void(const void* bytes, size_t length)>;
  explicit PackedPostingsWriter(Sink sink) : sink_(std::move(sink)) {}

  void Begin(uint64_t hash);
  // Rows must ascend.
  void Add(const Posting& posting, uint32_t length);
  // Omits a list without postings.
  void End();
  void Finish();

 private:
  void PackFull();
  void Put(const void* bytes, size_t length);

  const Sink sink_;
  uint64_t hash_ = 0;
  uint32_t before_ = kBeforeFirst;
  GainBounds bounds_;
  std::vector<Posting> tail_;
  std::vector<BlockHeader> headers_;
  std::vector<uint64_t> blocks_;
  std::vector<PackedPostings::Entry> entries_;
  uint64_t words_ = 0;
};

}  // namespace quarry
