// One shard: the rows of its documents with their vectors, terms and attributes.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/attributes.h"
#include "engine/block_array.h"
#include "engine/document_slot.h"
#include "engine/filter_cache.h"
#include "engine/graph.h"
#include "engine/mutex.h"
#include "engine/postings.h"
#include "engine/row_count_cache.h"
#include "engine/status.h"
#include "engine/version_table.h"

namespace quarry {

// One version of a document to stage. Call `Check` before use.
struct DocumentInput {
  uint64_t version = 0;
  std::vector<float> vectors;   // rows x dimensions, each row of unit length
  std::vector<uint64_t> terms;  // bytes of the term block, packed until Check, in words for alignment
  size_t termBytes = 0;
  Attributes attributes;
  TermBlock block;  // view of `terms`, set by Check

  // Unpacks and parses the term block and validates that all parts agree with each other and with the dimensions of the
  // collection. Returns kInvalid otherwise.
  Status Check(uint32_t dimensions);
};

struct RowInfo {
  uint32_t slot;
  uint32_t bodyLength;  // number of terms in the text, for the length norm of BM25
};

// Maximum number of rows of a shard; a document beyond it is rejected.
inline constexpr uint64_t kRowsMax = CandidatePool::kRowsEnd - 1;

// Rows and slots are only appended; deleted ones stay until the collection replaces the whole shard by a
// compacted one. Readers take no lock. Of the writing functions, those that say so require the writer's lock
// of the shard (held by the collection), which readers never wait for.
class Shard {
 public:
  explicit Shard(uint32_t dimensions);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  uint32_t dimensions() const { return dimensions_; }
  // Floats per row of vectors, including trailing zero padding.
  size_t stride() const { return stride_; }
  uint32_t Rows() const { return rows_.load(std::memory_order_acquire); }
  uint32_t Slots() const { return slots_.load(std::memory_order_acquire); }
  const DocumentSlot& Document(uint32_t slot) const { return documents_[slot]; }
  const RowInfo& Info(uint32_t row) const { return info_[row]; }
  const float* Vector(uint32_t row) const { return vectors_.Row(row); }
  size_t VectorBytes(uint32_t rows) const { return vectors_.BytesOf(rows); }
  void PrefetchInfo(uint32_t row) const { __builtin_prefetch(info_.Row(row)); }
  void PrefetchDocument(uint32_t row) const { __builtin_prefetch(documents_.Row(info_[row].slot)); }
  void PrefetchVector(uint32_t row) const {
    for (size_t i = 0; i < stride_; i += kRowAlignment) __builtin_prefetch(Vector(row) + i);
  }
  const CodeArray& codes() const { return codes_; }
  const Graph& graph() const { return graph_; }
  const Postings& postings() const { return postings_; }
  // Cache of row counts of words. Thread-safe.
  RowCountCache& rowCountCache() const { return rowCountCache_; }
  const AttributeIndex& attributes() const { return attributes_; }
  // Cache of filter results. Thread-safe.
  FilterCache& filterCache() const { return filterCache_; }
  // Number of slots whose attributes are complete: at least all that are visible now.
  uint32_t FilledSlots() const { return filledSlots_.load(std::memory_order_acquire); }

  Lifetime LifetimeOf(uint32_t slot) const {
    const uint64_t word = documents_[slot].lifetime.load(std::memory_order_acquire);
    if (LifetimeWord::IsDeleted(word)) return tombstones_[LifetimeWord::Tombstone(word)];
    return {LifetimeWord::CreatedAt(word), kNever};
  }
  bool IsSlotVisible(uint32_t slot, uint64_t epoch) const {
    const Lifetime lifetime = LifetimeOf(slot);
    return lifetime.createdAt <= epoch && lifetime.deletedAt > epoch;
  }
  // The live bit is valid for the newest epoch. A commit announces its epoch before it changes a bit, so a bit read
  // before the announcement of an epoch above `epoch` is valid for `epoch`; otherwise the slot decides.
  bool IsRowVisible(uint32_t row, uint64_t epoch) const {
    const uint64_t word = live_[row >> 6].load(std::memory_order_acquire);
    if (lastEpoch_.load(std::memory_order_acquire) <= epoch) return (word >> (row & 63) & 1) != 0;
    return IsSlotVisible(info_[row].slot, epoch);
  }
  // Returns the slots of these versions that are staged or live.
  std::vector<uint32_t> SlotsOf(const std::vector<uint64_t>& versions) const;
  // Returns the slots in [0, slots) that match, visible or not. If `checker` stops the work, the result is partial.
  Bitset Evaluate(const FilterProgram& filter, uint32_t slots, CancellationChecker* checker) const;
  // Lists the rows for which IsRowVisible is true, restricted to `matching` if it is not null, ascending from row
  // 64 * *word, until there are `limit` of them or row 64 * end is reached. Sets *word to where to continue.
  // Returns the number of rows; `rows` must have space for limit + 64.
  size_t ListVisible(const Bitset* matching, uint64_t epoch, uint32_t* word, uint32_t end, size_t limit,
                     uint32_t* rows) const;

  // Whether a document replaces a staged one of the same version, or is older and leaves it unchanged.
  enum class StagedPolicy { kReplace, kKeep };
  // Adds the document's rows, invisible and not yet linked, and sets *slot. Requires the writer's lock.
  // Returns kInvalid if the shard is full. Throws std::bad_alloc; the rows are then marked deleted.
  Status Append(const DocumentInput& input, StagedPolicy policy, uint32_t* slot);
  // Links one appended row. Thread-safe, without the writer's lock.
  void Link(uint32_t row, GraphScratch* scratch) { graph_.Insert(row, scratch); }
  // Marks the slot as ready to commit. Call it after all its rows were linked.
  void MarkReady(uint32_t slot);

  struct Change {
    int64_t rows = 0;
    int64_t bodyLength = 0;
    int64_t documents = 0;
    uint64_t changedRows = 0;  // rows added plus rows removed
  };
  // Finds the slot of a staged document whose rows are all linked.
  bool FindReady(uint64_t version, uint32_t* slot) const;
  // Makes the staged `add` visible and removes the live `remove`, for searches at `epoch` and later. Either
  // may be null; an unknown `remove` is ignored. Epochs must ascend. One caller at a time.
  Change Commit(uint64_t epoch, const uint64_t* add, const uint64_t* remove);
  // Discards a staged document; an unknown version is ignored. One caller at a time.
  void Discard(uint64_t version);

  // Fills this empty shard with the documents of `source` below `slots` that are not deleted, as staged
  // documents, and sets origins[new slot] to the old slot. Returns false if `stop` returned true. No other
  // thread may use this shard yet.
  bool CopyFrom(const Shard& source, uint32_t slots, const std::function<bool()>& stop, std::vector<uint32_t>* origins);
  // Copies the lifetimes of the origins to this shard's slots. Cheap if little changed since the
  // last call.
  void SyncLifetimes(const Shard& source, const std::vector<uint32_t>& origins);

  // From now on, reads the vectors of rows [0, rows) from `file`, which must hold their bytes at `offset` and
  // may be closed. Their memory is freed. Returns for how many leading rows the system supports this. One
  // caller at a time; readers and writers may run concurrently.
  uint32_t MoveVectorsToFile(int file, uint64_t offset, uint32_t rows) {
    return static_cast<uint32_t>(vectors_.MoveToFile(file, offset, rows));
  }

  // Whether the file of the vectors was truncated or cannot be read. Results computed from the vectors since
  // then may be wrong and must be discarded.
  bool HasVectorReadFailed() const { return vectors_.HasReadFailed(); }

  // For loading, while no other thread uses the shard. Documents must be restored in order, and before their rows.
  void ReserveForRestore(uint32_t slots, uint32_t rows);
  void RestoreDocument(uint64_t version, bool live, uint32_t rowCount);
  void RestoreLength(uint32_t row, uint32_t bodyLength);
  float* vectorForRestore(uint32_t row) { return vectors_.Row(row); }
  CodeArray& codesForRestore() { return codes_; }
  Graph& graphForRestore() { return graph_; }
  Postings& postingsForRestore() { return postings_; }
  AttributeIndex& attributesForRestore() { return attributes_; }
  // Returns the sums over the live documents.
  Change LiveTotals() const;

  uint64_t DeadRows() const { return deadRows_.load(std::memory_order_relaxed); }
  uint64_t DeadDocuments() const { return deadDocuments_.load(std::memory_order_relaxed); }
  // Whether at least `min` of the rows or of the documents are deleted, and at least one in `divisor`.
  bool HasDead(uint64_t min, uint64_t divisor) const {
    const auto enough = [=](uint64_t dead, uint64_t all) { return dead >= min && dead * divisor >= all; };
    return enough(DeadRows(), Rows()) || enough(DeadDocuments(), Slots());
  }

  struct Memory {
    size_t vectorsInMemory = 0;  // exact rows
    size_t vectorsInFile = 0;    // of the latest snapshot; the system caches as much as fits in memory
    size_t codes = 0;
    size_t links = 0;
    size_t postings = 0;
    size_t attributes = 0;
    size_t documents = 0;  // slots, row info and live bits
  };
  Memory MemoryBytes() const;

 private:
  struct StagedDocument {
    uint32_t slot;
    bool ready;
  };

  // Reserves space for a document and its tombstone. The slot starts as deleted.
  uint32_t AddSlot(uint64_t version, uint32_t rowCount);
  // Writes the rows of a slot that is still marked deleted.
  void Fill(const DocumentInput& input, uint32_t slot);
  void SetLive(const DocumentSlot& document, bool live);
  // Sum of the row lengths of the document.
  int64_t BodyLength(const DocumentSlot& document) const;
  void MarkDeleted(uint32_t slot, uint64_t epoch);
  void DiscardLocked(uint64_t version) REQUIRES(versionsMutex_);

  const uint32_t dimensions_;
  const size_t stride_;
  BlockArray<float> vectors_;  // exact; read for the best rows only
  CodeArray codes_;            // quantized; read by searches
  BlockArray<RowInfo> info_;
  BlockArray<std::atomic<uint64_t>> live_;  // one bit per row
  BlockArray<DocumentSlot> documents_;
  BlockArray<Lifetime> tombstones_;  // the first one is shared by versions that were never visible
  Graph graph_;
  Postings postings_;
  AttributeIndex attributes_;
  mutable RowCountCache rowCountCache_;
  mutable FilterCache filterCache_;
  std::atomic<uint32_t> rows_{0};
  std::atomic<uint32_t> slots_{0};
  std::atomic<uint32_t> tombstoneCount_{1};
  std::atomic<uint32_t> filledSlots_{0};
  std::atomic<uint64_t> lastEpoch_{0};
  std::atomic<uint64_t> deadRows_{0};
  std::atomic<uint64_t> deadDocuments_{0};

  mutable Mutex versionsMutex_;  // innermost lock
  std::unordered_map<uint64_t, StagedDocument> stagedVersions_ GUARDED_BY(versionsMutex_);
  VersionTable liveVersions_ GUARDED_BY(versionsMutex_){documents_};
};

}  // namespace quarry
