#include "engine/reply_cache.h"

#include <algorithm>
#include <utility>

namespace quarry {
namespace {

// Memory of an entry besides its texts: hash table, links and allocations.
constexpr size_t kDocumentBytes = sizeof(ReplyCache::Document) + 96;
constexpr size_t kRowBytes = sizeof(ReplyCache::Row) + 32;

template <class Rows>
auto PositionOf(Rows& rows, uint32_t chunk) {
  return std::lower_bound(rows.begin(), rows.end(), chunk,
                          [](const ReplyCache::Row& row, uint32_t wanted) { return row.chunk < wanted; });
}

size_t TextBytes(const DocumentParts& parts) { return parts.prefix.capacity() + parts.suffix.capacity(); }

}  // namespace

const std::string* ReplyCache::Document::FindRow(uint32_t chunk) const {
  const auto at = PositionOf(rows, chunk);
  return at != rows.end() && at->chunk == chunk ? &at->json : nullptr;
}

const ReplyCache::Document* ReplyCache::Find(const ReplyKey& key) {
  const auto found = documents_.find(key.version);
  if (found == documents_.end() || found->second.collection != key.collection) return nullptr;
  Document& document = found->second;
  // Written only if it changes: memory that is only read stays in the caches of all processors.
  if (!document.used) document.used = true;
  return &document;
}

void ReplyCache::PutDocument(const ReplyKey& key, DocumentParts parts) {
  const auto [at, isNew] = documents_.try_emplace(key.version);
  Document& document = at->second;
  if (isNew) {
    document.collection = key.collection;
    document.version = key.version;
    Link(&document);
    const size_t bytes = kDocumentBytes + TextBytes(parts);
    document.parts = std::move(parts);
    Charge(&document, bytes);
    return;
  }
  if (document.collection != key.collection) return;
  const size_t before = TextBytes(document.parts);
  document.parts = std::move(parts);
  document.bytes -= before;
  bytes_ -= before;
  Charge(&document, TextBytes(document.parts));
}

void ReplyCache::PutRow(const ReplyKey& key, uint32_t chunk, std::string_view json) {
  const auto found = documents_.find(key.version);
  if (found == documents_.end() || found->second.collection != key.collection) return;
  Document& document = found->second;
  const auto at = PositionOf(document.rows, chunk);
  if (at != document.rows.end() && at->chunk == chunk) return;
  const auto row = document.rows.insert(at, Row{chunk, std::string(json)});
  Charge(&document, kRowBytes + row->json.capacity());
}

void ReplyCache::Delete(const ReplyKey& key) {
  const auto found = documents_.find(key.version);
  if (found != documents_.end() && found->second.collection == key.collection) Erase(&found->second);
}

void ReplyCache::DeleteCollection(uint64_t collection) {
  for (Document* document = oldest_; document != nullptr;) {
    Document* const next = document->newer;
    if (document->collection == collection) Erase(document);
    document = next;
  }
}

void ReplyCache::Link(Document* document) {
  document->older = newest_;
  document->newer = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->newer) = document;
  newest_ = document;
}

void ReplyCache::Unlink(Document* document) {
  (document->older == nullptr ? oldest_ : document->older->newer) = document->newer;
  (document->newer == nullptr ? newest_ : document->newer->older) = document->older;
}

void ReplyCache::Erase(Document* document) {
  Unlink(document);
  bytes_ -= document->bytes;
  documents_.erase(document->version);
}

void ReplyCache::Charge(Document* document, size_t bytes) {
  document->bytes += bytes;
  bytes_ += bytes;
  document->bytes > bytesMax_ ? Erase(document) : Shrink(document);
}

void ReplyCache::SetBytesMax(size_t bytesMax) {
  bytesMax_ = bytesMax;
  Shrink(nullptr);
}

void ReplyCache::Shrink(const Document* kept) {
  while (bytes_ > bytesMax_) {
    Document* const candidate = oldest_;
    if (candidate != kept && !candidate->used) {
      Erase(candidate);
      continue;
    }
    candidate->used = false;
    Unlink(candidate);
    Link(candidate);
  }
}

}  // namespace quarry
