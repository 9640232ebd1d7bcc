#include "engine/postings.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace quarry {
namespace {

constexpr uint32_t kTermBlockMagic = 0x31425451;  // "QTB1"
constexpr size_t kFirstTableSize = 64;
constexpr uint32_t kFirstBlockBytes = 8;
constexpr uint32_t kBlockBytesMax = 496;
constexpr size_t kFirstChunkBytes = size_t{16} << 10;
constexpr size_t kChunkBytesMax = size_t{1} << 20;
// Five bytes for a row, three for the body count, three for the prefix count.
constexpr uint32_t kPostingBytesMax = 11;

uint32_t Put(uint8_t* at, uint32_t value) {
  uint32_t length = 0;
  while (value >= 0x80) {
    at[length++] = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  at[length++] = static_cast<uint8_t>(value);
  return length;
}

Status Malformed(const char* what) { return {Code::kInvalid, std::string("malformed term block: ") + what}; }

}  // namespace

Status TermBlock::Parse(const uint8_t* bytes, size_t length, TermBlock* block) {
  uint32_t header[2];
  if (length < sizeof header) return Malformed("no header");
  std::memcpy(header, bytes, sizeof header);
  if (header[0] != kTermBlockMagic) return Malformed("wrong magic");
  const size_t countsEnd = sizeof header + size_t{header[1]} * sizeof(uint32_t);
  const size_t entriesStart = (countsEnd + 7) / 8 * 8;
  if (length < entriesStart) return Malformed("fewer row counts than rows");
  block->rows_ = header[1];
  block->counts_ = reinterpret_cast<const uint32_t*>(bytes + sizeof header);
  block->entries_ = reinterpret_cast<const TermEntry*>(bytes + entriesStart);
  size_t entries = 0;
  for (uint32_t row = 0; row < block->rows_; row++) entries += block->counts_[row];
  if (length != entriesStart + entries * sizeof(TermEntry)) return Malformed("length and counts disagree");
  const TermEntry* entry = block->entries_;
  for (uint32_t row = 0; row < block->rows_; row++, entry += block->counts_[row - 1]) {
    for (uint32_t i = 1; i < block->counts_[row]; i++) {
      if (entry[i - 1].hash >= entry[i].hash) return Malformed("entries of a row do not ascend by hash");
    }
  }
  return {};
}

Postings::Postings() {
  tables_.push_back(std::make_unique<Table>(kFirstTableSize));
  table_.store(tables_.back().get(), std::memory_order_release);
  bytes_ = kFirstTableSize * sizeof(List*);
}

void* Postings::Allocate(size_t bytes) {
  bytes = (bytes + 7) / 8 * 8;
  if (bytes > freeBytes_) {
    const size_t wanted = std::min(kChunkBytesMax, kFirstChunkBytes << std::min<size_t>(chunks_.size(), 6));
    const size_t chunk = std::max(bytes, wanted);
    chunks_.push_back(std::make_unique<uint8_t[]>(chunk));
    free_ = chunks_.back().get();
    freeBytes_ = chunk;
    bytes_.fetch_add(chunk, std::memory_order_relaxed);
  }
  void* taken = free_;
  free_ += bytes;
  freeBytes_ -= bytes;
  return taken;
}

const Postings::List* Postings::Find(uint64_t hash) const {
  const Table* table = table_.load(std::memory_order_acquire);
  // The hash is already well mixed; its low bits choose the slot.
  for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
    const List* list = table->slots[i].load(std::memory_order_acquire);
    if (list == nullptr || list->hash == hash) return list;
  }
}

void Postings::Grow() {
  const Table* old = tables_.back().get();
  const size_t size = (old->mask + 1) * 2;
  auto grown = std::make_unique<Table>(size);
  for (size_t i = 0; i <= old->mask; i++) {
    List* list = old->slots[i].load(std::memory_order_relaxed);
    if (list == nullptr) continue;
    size_t at = list->hash & grown->mask;
    while (grown->slots[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & grown->mask;
    grown->slots[at].store(list, std::memory_order_relaxed);
  }
  tables_.push_back(std::move(grown));
  table_.store(tables_.back().get(), std::memory_order_release);
  bytes_.fetch_add(size * sizeof(List*), std::memory_order_relaxed);
}

Postings::List* Postings::FindOrAdd(uint64_t hash) {
  if (const List* found = Find(hash); found != nullptr) return const_cast<List*>(found);
  Table* table = tables_.back().get();
  if ((terms_.load(std::memory_order_relaxed) + 1) * 2 > table->mask + 1) {
    Grow();
    table = tables_.back().get();
  }
  auto* list = new (Allocate(sizeof(List) + kFirstBlockBytes)) List();
  list->hash = hash;
  list->first.capacity = kFirstBlockBytes;
  list->tail = &list->first;
  size_t at = hash & table->mask;
  while (table->slots[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & table->mask;
  table->slots[at].store(list, std::memory_order_release);
  terms_.fetch_add(1, std::memory_order_relaxed);
  return list;
}

void Postings::Add(uint64_t hash, const Posting& posting) {
  List* list = FindOrAdd(hash);
  uint8_t encoded[kPostingBytesMax];
  uint32_t length = Put(encoded, posting.row - list->lastRow);
  length += Put(encoded + length, posting.body << 1 | (posting.prefix > 0 ? 1 : 0));
  if (posting.prefix > 0) length += Put(encoded + length, posting.prefix);
  Block* block = list->tail;
  uint32_t used = block->used.load(std::memory_order_relaxed);
  if (used + length > block->capacity) {
    const uint32_t capacity = std::min(kBlockBytesMax, std::max(block->capacity * 2 + 8, kPostingBytesMax));
    auto* next = new (Allocate(sizeof(Block) + capacity)) Block();
    next->capacity = capacity;
    block->next.store(next, std::memory_order_release);
    list->tail = next;
    block = next;
    used = 0;
  }
  std::memcpy(block->bytes() + used, encoded, length);
  block->used.store(used + length, std::memory_order_release);
  list->lastRow = posting.row;
  list->count.fetch_add(1, std::memory_order_relaxed);
}

std::vector<const Postings::List*> Postings::Lists() const {
  std::vector<const List*> lists;
  const Table* table = table_.load(std::memory_order_acquire);
  for (size_t i = 0; i <= table->mask; i++) {
    if (const List* list = table->slots[i].load(std::memory_order_acquire); list != nullptr) lists.push_back(list);
  }
  return lists;
}

}  // namespace quarry
