// All posting lists of a shard as one string of bytes that is read where it lies, such as in a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/posting_block.h"
#include "engine/posting_cursor.h"

namespace quarry {

// The bytes, in words of 8: the lists, the directory, the index and the trailer, as native/FORMAT.md tells.
class PackedPostings {
 public:
  // No lists.
  PackedPostings() = default;

  // A view of `length` bytes that must outlive it. False when they are not what PackedPostingsWriter wrote for a
  // shard of `rows` rows, as far as can be told without unpacking blocks: a checksum has to vouch for the rest.
  static bool Parse(const uint64_t* words, size_t length, uint32_t rows, PackedPostings* packed);

  // Adds the list of `hash`, if there is one, to the cursor.
  void Read(uint64_t hash, PostingCursor* cursor) const;
  // All terms, ascending.
  // How many postings the term has.
  uint64_t Count(uint64_t hash) const;

  std::vector<uint64_t> Hashes() const;

 private:
  friend class PackedPostingsWriter;
  // The list begins with `heads` << 7 | number of loose postings, and the bounds of the loose ones; then come the
  // heads, whose places count from the first word after them, the packed blocks, and the loose bytes.
  struct ListHead {
    uint32_t shape;
    GainBounds bounds;
    uint32_t Blocks() const { return shape >> 7; }
    uint32_t Loose() const { return shape & 0x7f; }
  };
  struct Entry {
    uint64_t hash;
    uint64_t place;  // of the list, in words from the start
  };
  struct Trailer {
    uint64_t terms;
    uint64_t bucketBits;
  };
  static_assert(sizeof(ListHead) == 8 && sizeof(Entry) == 16 && sizeof(Trailer) == 16);

  bool CheckDirectory() const;
  bool CheckList(uint64_t place, uint64_t end, uint32_t rows) const;
  const Entry* Find(uint64_t hash) const;
  const ListHead& ListAt(uint64_t place) const { return *reinterpret_cast<const ListHead*>(words_ + place); }

  const uint64_t* words_ = nullptr;
  const Entry* entries_ = nullptr;     // by hash
  const uint32_t* buckets_ = nullptr;  // where the entries start whose hashes begin with the bits of the bucket
  uint64_t terms_ = 0;
  uint32_t bucketBits_ = 0;
};

// Writes lists as they come. Usage: Begin, Add ..., End for each term, ascending by hash; then Finish.
class PackedPostingsWriter {
 public:
  using Sink = std::function<void(const void* bytes, size_t length)>;
  explicit PackedPostingsWriter(Sink sink) : sink_(std::move(sink)) {}

  void Begin(uint64_t hash);
  // Rows ascend.
  void Add(const Posting& posting, uint32_t length);
  // A list without postings is left out.
  void End();
  void Finish();

 private:
  void PackFull();
  void Put(const void* bytes, size_t length);

  const Sink sink_;
  uint64_t hash_ = 0;
  uint32_t before_ = kBeforeFirst;
  GainBounds bounds_;
  std::vector<Posting> loose_;
  std::vector<BlockHead> heads_;
  std::vector<uint64_t> blocks_;
  std::vector<PackedPostings::Entry> entries_;
  uint64_t words_ = 0;
};

}  // namespace quarry
