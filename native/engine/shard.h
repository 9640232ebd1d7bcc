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
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/attributes.h"
#include "engine/block_array.h"
#include "engine/document_slot.h"
#include "engine/filter_cache.h"
#include "engine/graph.h"
#include "engine/postings.h"
#include "engine/row_count_cache.h"
#include "engine/status.h"
#include "engine/version_table.h"

namespace quarry {

// One version of a document as it is staged. Checked: `Check` has returned ok.
struct DocumentInput {
  uint64_t version = 0;
  std::vector<float> vectors;   // rows x dimensions, each row of unit length
  std::vector<uint64_t> terms;  // the term block's bytes, in words for its alignment
  size_t termBytes = 0;
  Attributes attributes;
  TermBlock block;  // view of `terms`, set by Check

  // Tells whether the parts agree with each other and with the dimensions of the collection.
  Status Check(uint32_t dimensions);
};

struct RowFacts {
  uint32_t slot;
  uint32_t bodyLength;  // terms in the text, for the length norm of BM25
};

// Beyond it a document is refused.
inline constexpr uint64_t kRowsMax = GraphPool::kRowsEnd - 1;

// Rows and slots are only ever appended; what dies stays until the collection replaces the whole shard by a
// compacted one. Readers take no lock. Of the writing functions, those that say so need the writer's lock of the
// shard (held by the collection), which is never held while a reader waits.
class Shard {
 public:
  explicit Shard(uint32_t dimensions);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  uint32_t dimensions() const { return dimensions_; }
  // Floats of a row of vectors, of which the last are zeros.
  size_t stride() const { return stride_; }
  uint32_t Rows() const { return rows_.load(std::memory_order_acquire); }
  uint32_t Slots() const { return slots_.load(std::memory_order_acquire); }
  const DocumentSlot& Document(uint32_t slot) const { return documents_[slot]; }
  const RowFacts& Facts(uint32_t row) const { return facts_[row]; }
  const float* Vector(uint32_t row) const { return vectors_.Row(row); }
  size_t VectorBytes(uint32_t rows) const { return vectors_.BytesOf(rows); }
  void PrefetchFacts(uint32_t row) const { __builtin_prefetch(facts_.Row(row)); }
  void PrefetchDocument(uint32_t row) const { __builtin_prefetch(documents_.Row(facts_[row].slot)); }
  void PrefetchVector(uint32_t row) const {
    for (size_t i = 0; i < stride_; i += kRowAlignment) __builtin_prefetch(Vector(row) + i);
  }
  const CodeArray& codes() const { return codes_; }
  const Graph& graph() const { return graph_; }
  const Postings& postings() const { return postings_; }
  // What is remembered of counted words; any thread.
  RowCounts& rowCounts() const { return rowCounts_; }
  const AttributeIndex& attributes() const { return attributes_; }
  // What is remembered of filters; any thread.
  FilterRows& filterRows() const { return filterRows_; }
  // Slots whose attributes are complete: all that are visible by now, and possibly more.
  uint32_t FilledSlots() const { return filledSlots_.load(std::memory_order_acquire); }

  Life LifeOf(uint32_t slot) const {
    const uint64_t word = documents_[slot].life.load(std::memory_order_acquire);
    if (LifeWord::IsDead(word)) return graves_[LifeWord::Grave(word)];
    return {LifeWord::Birth(word), kNever};
  }
  bool SlotVisible(uint32_t slot, uint64_t epoch) const {
    const Life life = LifeOf(slot);
    return life.birth <= epoch && life.death > epoch;
  }
  // The live bit answers for the newest epoch. A commit announces its epoch before it touches a bit, so a bit read
  // before an announcement of at most `epoch` is the bit of that epoch; otherwise the slot decides.
  bool RowVisible(uint32_t row, uint64_t epoch) const {
    const uint64_t word = live_[row >> 6].load(std::memory_order_acquire);
    if (lastEpoch_.load(std::memory_order_acquire) <= epoch) return (word >> (row & 63) & 1) != 0;
    return SlotVisible(facts_[row].slot, epoch);
  }
  // Lists the rows of which RowVisible is true, among them only those in `among` where it is not null, ascending, from
  // row 64 * *word on, until there are `enough` of them or row 64 * end is reached; *word is then where to go on. Answers
  // how many they are; `rows` has room for enough + 64.
  size_t ListVisible(const Bitset* among, uint64_t epoch, uint32_t* word, uint32_t end, size_t enough,
                     uint32_t* rows) const;

  // How a document relates to a staged one of the same version: it replaces it, or it is older and leaves it alone.
  enum class Arrival { kNewest, kOlder };
  // Adds the document's rows, invisible and not yet linked, and returns its slot. Needs the writer's lock. Throws
  // std::bad_alloc; the rows are dead then.
  Status Append(const DocumentInput& input, Arrival arrival, uint32_t* slot);
  // Links one appended row. Any thread, no lock.
  void Link(uint32_t row, GraphScratch* scratch) { graph_.Insert(row, scratch); }
  // All rows of the slot are linked: it may be committed.
  void MarkReady(uint32_t slot);

  struct Change {
    int64_t rows = 0;
    int64_t bodyLength = 0;
    int64_t documents = 0;
    uint64_t moved = 0;  // rows that came and rows that went
  };
  // The slot of a staged document whose rows are all linked.
  bool FindReady(uint64_t version, uint32_t* slot) const;
  // Makes the staged `add` visible (when not null) and removes the live `remove` (when not null; unknown: nothing),
  // for searches of `epoch` and later. Epochs ascend. One caller at a time.
  Change Commit(uint64_t epoch, const uint64_t* add, const uint64_t* remove);
  // Forgets a staged document; unknown: nothing. One caller at a time.
  void Discard(uint64_t version);

  // Fills this empty shard with the documents of `source` below `slots` that are not dead, as staged documents, and
  // sets origins[new slot] to the old slot. False when `stop` said so. Nobody else uses this shard yet.
  bool CopyFrom(const Shard& source, uint32_t slots, const std::function<bool()>& stop, std::vector<uint32_t>* origins);
  // Takes over births and deaths of the slots' origins. Cheap where nothing changed since the last call.
  void AdoptStates(const Shard& source, const std::vector<uint32_t>& origins);

  // The vectors of rows [0, rows) are read from `file` from now on, which holds their bytes from `offset` on and may
  // be closed; what memory they took is free. Answers for how many rows the system could do so: the first ones. One
  // caller at a time, beside readers and writers.
  uint32_t MoveVectorsToFile(int file, uint64_t offset, uint32_t rows) {
    return static_cast<uint32_t>(vectors_.MoveToFile(file, offset, rows));
  }

  // Whether the file they are read from was cut off or cannot be read: what was computed with them since may be wrong,
  // and nothing that was made of them may be kept.
  bool VectorsLost() const { return vectors_.Lost(); }

  // For loading, on a shard that nobody else uses yet. Documents must be restored in order, before their rows.
  void ReserveForRestore(uint32_t slots, uint32_t rows);
  void RestoreDocument(uint64_t version, bool live, uint32_t rowCount);
  void RestoreLength(uint32_t row, uint32_t bodyLength);
  float* vectorForRestore(uint32_t row) { return vectors_.Row(row); }
  CodeArray& codesForRestore() { return codes_; }
  Graph& graphForRestore() { return graph_; }
  Postings& postingsForRestore() { return postings_; }
  AttributeIndex& attributesForRestore() { return attributes_; }
  // Sums over the live documents.
  Change LiveTotals() const;

  uint64_t DeadRows() const { return deadRows_.load(std::memory_order_relaxed); }
  uint64_t DeadDocuments() const { return deadDocuments_.load(std::memory_order_relaxed); }

  struct Memory {
    size_t vectorsInMemory = 0;  // exact rows
    size_t vectorsInFile = 0;    // of the latest snapshot: the system keeps in memory what there is room for
    size_t codes = 0;
    size_t links = 0;
    size_t postings = 0;
    size_t attributes = 0;
    size_t documents = 0;  // slots, rows and the live bits
  };
  Memory MemoryBytes() const;

 private:
  struct Staged {
    uint32_t slot;
    bool ready;
  };

  // Makes room for a document, and for its grave; the slot starts dead.
  uint32_t AddSlot(uint64_t version, uint32_t rowCount);
  // Writes the rows of a slot that is still dead.
  void Fill(const DocumentInput& input, uint32_t slot);
  void SetLive(const DocumentSlot& document, bool live);
  // Sum over its rows.
  int64_t BodyLength(const DocumentSlot& document) const;
  void Bury(uint32_t slot, uint64_t epoch);
  void DiscardLocked(uint64_t version);

  const uint32_t dimensions_;
  const size_t stride_;
  BlockArray<float> vectors_;  // exact, read for the best rows only
  CodeArray codes_;            // what searches read
  BlockArray<RowFacts> facts_;
  BlockArray<std::atomic<uint64_t>> live_;  // one bit per row
  BlockArray<DocumentSlot> documents_;
  BlockArray<Life> graves_;  // the first is of versions that nobody ever sees
  Graph graph_;
  Postings postings_;
  AttributeIndex attributes_;
  mutable RowCounts rowCounts_;
  mutable FilterRows filterRows_;
  std::atomic<uint32_t> rows_{0};
  std::atomic<uint32_t> slots_{0};
  std::atomic<uint32_t> gravesDug_{1};
  std::atomic<uint32_t> filledSlots_{0};
  std::atomic<uint64_t> lastEpoch_{0};
  std::atomic<uint64_t> deadRows_{0};
  std::atomic<uint64_t> deadDocuments_{0};

  mutable std::mutex versionsMutex_;                     // the innermost lock
  std::unordered_map<uint64_t, Staged> stagedVersions_;  // guarded by versionsMutex_
  VersionTable liveVersions_{documents_};                // guarded by versionsMutex_
};

}  // namespace quarry
