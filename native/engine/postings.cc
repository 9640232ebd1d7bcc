#include "engine/postings.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace quarry {
namespace {

constexpr size_t kFirstTableSize = 64;
constexpr uint32_t kTailBytesMax = kBlockPostings * kTailPostingBytesMax;

Status Malformed(const char* what) { return {StatusCode::kInvalid, std::string("malformed term block: ") + what}; }

size_t WordsOf(size_t bytes) { return (bytes + 7) / 8; }

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
  if (length != entriesStart + entries * sizeof(TermEntry)) return Malformed("the length does not match the counts");
  const TermEntry* entry = block->entries_;
  for (uint32_t row = 0; row < block->rows_; row++, entry += block->counts_[row - 1]) {
    for (uint32_t i = 1; i < block->counts_[row]; i++) {
      if (entry[i - 1].hash >= entry[i].hash) return Malformed("entries of a row are not sorted by hash");
    }
  }
  return {};
}

Postings::Postings() {
  tables_.push_back(std::make_unique<Table>(kFirstTableSize));
  table_.store(tables_.back().get(), std::memory_order_release);
  bytes_ = kFirstTableSize * sizeof(uint32_t);
}

void Postings::Adopt(const PackedPostings& packed, size_t length, std::shared_ptr<const void> owner) {
  packed_ = packed;
  owner_ = std::move(owner);
  bytes_.fetch_add(length, std::memory_order_relaxed);
}

uint64_t Postings::Pack(const State& state) {
  return uint64_t{state.blocks} << 32 | state.sizeClass << 24 | state.postings << 16 | state.bytes;
}

Postings::State Postings::Unpack(uint64_t packed) {
  return {static_cast<uint32_t>(packed >> 32), static_cast<uint32_t>(packed >> 24 & 0xff),
          static_cast<uint32_t>(packed >> 16 & 0xff), static_cast<uint32_t>(packed & 0xffff)};
}

uint32_t Postings::Allocate(size_t words) {
  uint64_t offset = used_;
  arena_.Reserve(offset + words);
  // The rest of a mapping that is too short stays unused.
  while (arena_.ContiguousFrom(offset) < words) {
    offset += arena_.ContiguousFrom(offset);
    arena_.Reserve(offset + words);
  }
  if (offset + words > std::numeric_limits<uint32_t>::max()) throw std::bad_alloc();
  used_ = offset + words;
  bytes_.fetch_add(words * sizeof(uint64_t), std::memory_order_relaxed);
  return static_cast<uint32_t>(offset);
}

Postings::List* Postings::Find(uint64_t hash) const {
  const Table* table = table_.load(std::memory_order_acquire);
  // The hash is already well mixed; its low bits select the slot.
  for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
    const uint32_t offset = table->slots[i].load(std::memory_order_acquire);
    if (offset == 0) return nullptr;
    if (List* list = ListAt(offset); list->hash == hash) return list;
  }
}

void Postings::GrowTable() {
  const Table* old = tables_.back().get();
  const size_t size = (old->mask + 1) * 2;
  auto grown = std::make_unique<Table>(size);
  for (size_t i = 0; i <= old->mask; i++) {
    const uint32_t offset = old->slots[i].load(std::memory_order_relaxed);
    if (offset == 0) continue;
    size_t at = ListAt(offset)->hash & grown->mask;
    while (grown->slots[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & grown->mask;
    grown->slots[at].store(offset, std::memory_order_relaxed);
  }
  tables_.push_back(std::move(grown));
  table_.store(tables_.back().get(), std::memory_order_release);
  bytes_.fetch_add(size * sizeof(uint32_t), std::memory_order_relaxed);
}

Postings::List* Postings::FindOrAdd(uint64_t hash) {
  if (List* found = Find(hash); found != nullptr) return found;
  Table* table = tables_.back().get();
  if ((lists_ + 1) * 2 > table->mask + 1) {
    GrowTable();
    table = tables_.back().get();
  }
  const uint32_t offset = Allocate(sizeof(List) / sizeof(uint64_t));
  List* list = new (arena_.Row(offset)) List();
  list->hash = hash;
  list->bounds.store(std::bit_cast<uint32_t>(GainBounds()), std::memory_order_relaxed);
  list->lastRow = kBeforeFirst;
  size_t at = hash & table->mask;
  while (table->slots[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & table->mask;
  table->slots[at].store(offset, std::memory_order_release);
  lists_++;
  return list;
}

std::atomic<uint64_t>* Postings::BufferOf(List* list, uint32_t sizeClass) const {
  if (sizeClass == 0) return &list->word;
  return reinterpret_cast<std::atomic<uint64_t>*>(arena_.Row(list->buffer.load(std::memory_order_acquire)));
}

uint32_t Postings::NewBuffer(uint32_t sizeClass) {
  std::vector<uint32_t>& free = freeBuffers_[sizeClass];
  if (free.empty()) return Allocate(size_t{1} << sizeClass);
  const uint32_t offset = free.back();
  free.pop_back();
  return offset;
}

void Postings::EnlargeTail(List* list, State* state) {
  const std::atomic<uint64_t>* from = BufferOf(list, state->sizeClass);
  const uint32_t left = list->buffer.load(std::memory_order_relaxed);
  // Reserve the entry first, so that nothing can throw after the move.
  freeBuffers_[state->sizeClass].reserve(freeBuffers_[state->sizeClass].size() + 1);
  const uint32_t offset = NewBuffer(state->sizeClass + 1);
  auto* to = reinterpret_cast<std::atomic<uint64_t>*>(arena_.Row(offset));
  for (size_t i = 0; i < WordsOf(state->bytes); i++) {
    to[i].store(from[i].load(std::memory_order_relaxed), std::memory_order_release);
  }
  list->buffer.store(offset, std::memory_order_release);
  if (state->sizeClass > 0) freeBuffers_[state->sizeClass].push_back(left);
  state->sizeClass++;
  list->state.store(Pack(*state), std::memory_order_release);
}

BlockHeader* Postings::NewHeader(List* list, uint32_t block) {
  uint32_t offset = list->segments.load(std::memory_order_relaxed);
  std::atomic<uint32_t>* link = &list->segments;
  uint32_t capacity = 1;
  while (offset != 0) {
    Segment* segment = SegmentAt(offset);
    if (block < segment->capacity) return HeadersOf(segment) + block;
    block -= segment->capacity;
    capacity = segment->capacity * 2;
    link = &segment->next;
    offset = link->load(std::memory_order_relaxed);
  }
  offset = Allocate(1 + size_t{capacity} * sizeof(BlockHeader) / sizeof(uint64_t));
  Segment* segment = new (arena_.Row(offset)) Segment();
  segment->capacity = capacity;
  link->store(offset, std::memory_order_release);
  return HeadersOf(segment);
}

void Postings::PackTail(List* list, State* state) {
  uint64_t words[WordsOf(kTailBytesMax)];
  const std::atomic<uint64_t>* from = BufferOf(list, state->sizeClass);
  for (size_t i = 0; i < WordsOf(state->bytes); i++) words[i] = from[i].load(std::memory_order_relaxed);
  uint32_t before = kBeforeFirst;
  if (state->blocks > 0) before = NewHeader(list, state->blocks - 1)->lastRow;
  uint32_t rows[kBlockPostings];
  uint32_t counts[kBlockPostings];
  DecodeTail(reinterpret_cast<const uint8_t*>(words), kBlockPostings, before, rows, counts);
  Posting postings[kBlockPostings];
  for (uint32_t i = 0; i < kBlockPostings; i++) postings[i] = {rows[i], counts[i] & 0xffff, counts[i] >> 16};
  BlockHeader header{};
  packBuffer_.clear();
  PackBlock(postings, before, &packBuffer_, &header);
  header.bounds = std::bit_cast<GainBounds>(list->bounds.load(std::memory_order_relaxed));
  freeBuffers_[state->sizeClass].reserve(freeBuffers_[state->sizeClass].size() + 1);
  BlockHeader* const kept = NewHeader(list, state->blocks);
  header.offset = Allocate(packBuffer_.size());
  std::copy(packBuffer_.begin(), packBuffer_.end(), arena_.Row(header.offset));
  *kept = header;
  if (state->sizeClass > 0) freeBuffers_[state->sizeClass].push_back(list->buffer.load(std::memory_order_relaxed));
  *state = {state->blocks + 1, 0, 0, 0};
}

void Postings::Add(uint64_t hash, const Posting& posting, uint32_t length) {
  List* list = FindOrAdd(hash);
  State state = Unpack(list->state.load(std::memory_order_relaxed));
  uint8_t encoded[kTailPostingBytesMax];
  const auto size = static_cast<uint32_t>(EncodeTailPosting(posting, list->lastRow, encoded));
  while (state.bytes + size > 8U << state.sizeClass) EnlargeTail(list, &state);
  std::atomic<uint64_t>* words = BufferOf(list, state.sizeClass);
  for (uint32_t i = 0; i < size; i++, state.bytes++) {
    std::atomic<uint64_t>& word = words[state.bytes / 8];
    // A new word may contain old data.
    const uint64_t kept = state.bytes % 8 == 0 ? 0 : word.load(std::memory_order_relaxed);
    word.store(kept | uint64_t{encoded[i]} << state.bytes % 8 * 8, std::memory_order_release);
  }
  state.postings++;
  auto bounds = std::bit_cast<GainBounds>(list->bounds.load(std::memory_order_relaxed));
  bounds.Include(FrequencyOf(posting.body, posting.prefix), length);
  list->bounds.store(std::bit_cast<uint32_t>(bounds), std::memory_order_release);
  const bool full = state.postings == kBlockPostings;
  if (full) PackTail(list, &state);
  list->lastRow = posting.row;
  list->state.store(Pack(state), std::memory_order_release);
  if (full) list->bounds.store(std::bit_cast<uint32_t>(GainBounds()), std::memory_order_release);
}

// If another hash occupies the slot, the later prefetch steps load its list without effect.
void Postings::PrefetchSlot(uint64_t hash) const {
  PrefetchTableSlot(hash);
  packed_.PrefetchBucket(hash);
}

void Postings::PrefetchList(uint64_t hash) const {
  PrefetchTableList(hash);
  packed_.PrefetchEntries(hash);
}

void Postings::PrefetchTableSlot(uint64_t hash) const {
  const Table& table = *table_.load(std::memory_order_acquire);
  __builtin_prefetch(&table.slots[hash & table.mask]);
}

void Postings::PrefetchTableList(uint64_t hash) const {
  const Table& table = *table_.load(std::memory_order_acquire);
  const uint32_t offset = table.slots[hash & table.mask].load(std::memory_order_relaxed);
  if (offset != 0) __builtin_prefetch(arena_.Row(offset));
}

void Postings::PrefetchTail(uint64_t hash) const {
  const Table& table = *table_.load(std::memory_order_acquire);
  const uint32_t offset = table.slots[hash & table.mask].load(std::memory_order_relaxed);
  if (offset == 0) return;
  List* list = ListAt(offset);
  const State state = Unpack(list->state.load(std::memory_order_relaxed));
  if (state.sizeClass > 0) __builtin_prefetch(BufferOf(list, state.sizeClass) + state.bytes / 8);
}

void Postings::AddRow(uint32_t row, const TermEntry* entries, uint32_t count, uint32_t length) {
  // Number of terms by which each prefetch step runs ahead, so that a memory access completes in between.
  constexpr uint32_t kSlotAhead = 24;
  constexpr uint32_t kListAhead = 16;
  constexpr uint32_t kTailAhead = 8;
  for (uint32_t i = 0; i < std::min(count, kSlotAhead); i++) PrefetchTableSlot(entries[i].hash);
  for (uint32_t i = 0; i < std::min(count, kListAhead); i++) PrefetchTableList(entries[i].hash);
  for (uint32_t i = 0; i < count; i++) {
    if (i + kSlotAhead < count) PrefetchTableSlot(entries[i + kSlotAhead].hash);
    if (i + kListAhead < count) PrefetchTableList(entries[i + kListAhead].hash);
    if (i + kTailAhead < count) PrefetchTail(entries[i + kTailAhead].hash);
    Add(entries[i].hash, {row, entries[i].body, entries[i].prefix}, length);
  }
}

void Postings::Read(List* list, PostingCursor* cursor) const {
  constexpr int kStableBits = 24;  // the bits above: number of blocks and size class of the buffer
  uint64_t words[WordsOf(kTailBytesMax) + 1];
  State state{};
  GainBounds bounds;
  for (uint64_t before = list->state.load(std::memory_order_acquire), after = 0;; before = after) {
    state = Unpack(before);
    const std::atomic<uint64_t>* buffer = BufferOf(list, state.sizeClass);
    // If the state is unchanged after the load, the buffer is at least as large as the state requires.
    after = list->state.load(std::memory_order_acquire);
    if (before >> kStableBits != after >> kStableBits) continue;
    for (size_t i = 0; i < WordsOf(state.bytes); i++) words[i] = buffer[i].load(std::memory_order_acquire);
    bounds = std::bit_cast<GainBounds>(list->bounds.load(std::memory_order_acquire));
    after = list->state.load(std::memory_order_acquire);
    if (before >> kStableBits == after >> kStableBits) break;
  }
  uint32_t before = kBeforeFirst;
  uint32_t left = state.blocks;
  for (uint32_t offset = list->segments.load(std::memory_order_acquire); left > 0;) {
    Segment* segment = SegmentAt(offset);
    const uint32_t count = std::min(left, segment->capacity);
    cursor->AddBlocks(HeadersOf(segment), count, before, arena_);
    before = HeadersOf(segment)[count - 1].lastRow;
    left -= count;
    offset = segment->next.load(std::memory_order_acquire);
  }
  cursor->AddTail(reinterpret_cast<const uint8_t*>(words), state.postings, before, bounds);
}

bool Postings::Open(uint64_t hash, PostingCursor* cursor) const {
  cursor->Reset();
  packed_.Read(hash, cursor);
  if (List* list = Find(hash); list != nullptr) Read(list, cursor);
  cursor->Start();
  return !cursor->AtEnd();
}

uint64_t Postings::Count(uint64_t hash) const {
  const uint64_t packed = packed_.Count(hash);
  const List* list = Find(hash);
  if (list == nullptr) return packed;
  const State state = Unpack(list->state.load(std::memory_order_acquire));
  return packed + uint64_t{state.blocks} * kBlockPostings + state.postings;
}

std::vector<uint64_t> Postings::Hashes() const {
  std::vector<uint64_t> hashes = packed_.Hashes();
  const Table* table = table_.load(std::memory_order_acquire);
  for (size_t i = 0; i <= table->mask; i++) {
    const uint32_t offset = table->slots[i].load(std::memory_order_acquire);
    if (offset != 0) hashes.push_back(ListAt(offset)->hash);
  }
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

}  // namespace quarry
