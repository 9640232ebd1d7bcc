// Collection: staging of documents.
#include <algorithm>
#include <new>
#include <utility>

#include "engine/collection.h"

namespace quarry {
namespace {

// Rows linked per step of a staging. Each takes a few tenths of a millisecond; afterwards, waiting searches
// run first.
constexpr uint32_t kLinksPerStep = 2;
// If at least half of a shard, and at least kMostlyDeadMin entries, are deleted, stagings wait for the
// compaction.
constexpr uint64_t kMostlyDeadDivisor = 2;
constexpr uint64_t kMostlyDeadMin = 4096;
// Maximum bytes staged in a shard while it is being copied. Beyond it, a staging fails with kBusy and must be
// retried.
constexpr size_t kPendingBytesMax = size_t{256} << 20;

GraphScratch& ThreadGraphScratch() {
  thread_local GraphScratch scratch;
  return scratch;
}

}  // namespace

Collection::Staging::Staging(std::shared_ptr<Collection> collection, uint32_t shard,
                             std::shared_ptr<DocumentInput> input)
    : collection_(std::move(collection)), number_(shard), input_(std::move(input)) {}

bool Collection::Staging::Step() {
  try {
    if (shard_ == nullptr) {
      status_ = collection_->CheckOpen(number_);
      if (status_.ok()) status_ = input_->Check(collection_->options_.dimensions);
      if (status_.ok()) status_ = collection_->AppendDocument(this);
      if (!status_.ok()) return true;
    }
    if (collection_->closed()) {
      status_ = {StatusCode::kClosed, "the collection is closed"};
      return true;
    }
    const uint32_t rows = input_->block.rows();
    const uint32_t end = std::min(rows, linked_ + kLinksPerStep);
    for (; linked_ < end; linked_++) {
      shard_->Link(shard_->Document(slot_).firstRow + linked_, &ThreadGraphScratch());
      if (replacement_ == nullptr) continue;
      replacement_->Link(replacement_->Document(replacementSlot_).firstRow + linked_, &ThreadGraphScratch());
    }
    if (linked_ < rows) return false;
    // Mark the new shard first: every document ready in the old shard must be ready after the switch too.
    if (replacement_ != nullptr) replacement_->MarkReady(replacementSlot_);
    shard_->MarkReady(slot_);
  } catch (const std::bad_alloc&) {
    status_ = {StatusCode::kMemory, "out of memory while staging a document"};
  }
  return true;
}

Status Collection::AppendDocument(Staging* staging) {
  Writer& writer = *writers_[staging->number_];
  const size_t bytes = staging->input_->vectors.size() * sizeof(float) + staging->input_->termBytes;
  const MutexLock lock(writer.mutex);
  if (writer.copying && writer.pendingBytes + bytes > kPendingBytesMax) {
    return {StatusCode::kBusy, "too many documents were staged while the shard is being compacted; retry later"};
  }
  // The current shard changes only under the writer's lock.
  const std::shared_ptr<Shard> current = CurrentShard(staging->number_);
  // Not while the compaction is deferred, possibly for a long time: then memory alone bounds the number of deleted
  // rows.
  if (writer.compacting && !writer.deferred && current->HasDead(kMostlyDeadMin, kMostlyDeadDivisor)) {
    return {StatusCode::kBusy, "at least half of the shard is deleted; retry after its compaction"};
  }
  if (Status status = current->Append(*staging->input_, Shard::StagedPolicy::kReplace, &staging->slot_); !status.ok()) {
    return status;
  }
  staging->shard_ = current;
  if (writer.copying) {
    writer.pendingDocuments.push_back({staging->input_, staging->slot_});
    writer.pendingBytes += bytes;
  } else if (writer.replacement != nullptr) {
    AppendToReplacement(&writer, staging);
  }
  return {};
}

void Collection::AppendToReplacement(Writer* writer, Staging* staging) {
  try {
    writer->origins.reserve(writer->origins.size() + 1);
    const Status status =
        writer->replacement->Append(*staging->input_, Shard::StagedPolicy::kReplace, &staging->replacementSlot_);
    if (status.ok()) {
      writer->origins.push_back(staging->slot_);
      staging->replacement_ = writer->replacement;
      return;
    }
  } catch (const std::bad_alloc&) {
    // As below: the document is safe in the old shard.
  }
  // A replacement that lacks a document must not be published. The compaction finds it missing and ends.
  writer->replacement = nullptr;
}

}  // namespace quarry
