#include "engine/reply_cache.h"

#include <algorithm>
#include <utility>

namespace quarry {
namespace {

// Memory of an entry besides its texts: hash table, links and allocations.
constexpr size_t kDocumentBytes = sizeof(ReplyCache::Document) + 96;
constexpr size_t kRowBytes = sizeof(ReplyCache::Row) + 32;
constexpr size_t kPageBytes = sizeof(ReplyCache::Page) + 64;

template <class Rows>
auto PositionOf(Rows& rows, uint32_t chunk) {
  return std::lower_bound(rows.begin(), rows.end(), chunk,
                          [](const ReplyCache::Row& row, uint32_t wanted) { return row.chunk < wanted; });
}

template <class Pages>
auto PositionOf(Pages& pages, const ReplyCache::PageKey& key) {
  return std::lower_bound(pages.begin(), pages.end(), key,
                          [](const ReplyCache::Page& page, const auto& wanted) { return page.key < wanted; });
}

size_t TextBytes(const DocumentParts& parts) { return parts.prefix.capacity() + parts.suffix.capacity(); }
size_t FineBytes(const ReplyCache::FineChunks& fine) {
  return sizeof fine + fine.terms.capacity() + fine.codes.capacity() +
         fine.spans.capacity() * sizeof(ReplyCache::FineSpan);
}
size_t PageBytes(const ReplyCache::Page& page) { return kPageBytes + page.head.capacity() + page.tail.capacity(); }

}  // namespace

const ReplyCache::Row* ReplyCache::Document::FindRow(uint32_t chunk) const {
  const auto at = PositionOf(rows, chunk);
  return at != rows.end() && at->chunk == chunk ? &*at : nullptr;
}

const ReplyCache::Page* ReplyCache::Document::FindPage(const PageKey& key) const {
  const auto at = PositionOf(pages, key);
  return at != pages.end() && at->key == key ? &*at : nullptr;
}

ReplyCache::Document* ReplyCache::FindCached(const ReplyKey& key) {
  const auto found = documents_.find(key.version);
  return found != documents_.end() && found->second.collection == key.collection ? &found->second : nullptr;
}

const ReplyCache::Document* ReplyCache::Find(const ReplyKey& key) {
  Document* const document = FindCached(key);
  // Written only if it changes: memory that is only read stays in the caches of all processors.
  if (document != nullptr && !document->used) document->used = true;
  return document;
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
  size_t before = TextBytes(document.parts);
  if (document.parts.baseUrl != parts.baseUrl) {
    for (const Page& page : document.pages) before += PageBytes(page);
    document.pages.clear();
  }
  document.parts = std::move(parts);
  document.bytes -= before;
  bytes_ -= before;
  Charge(&document, TextBytes(document.parts));
}

ReplyCache::Row* ReplyCache::AddRow(Document* document, uint32_t chunk, size_t* bytes) {
  const auto at = PositionOf(document->rows, chunk);
  *bytes = 0;
  if (at != document->rows.end() && at->chunk == chunk) return &*at;
  *bytes = kRowBytes;
  Row row;
  row.chunk = chunk;
  return &*document->rows.insert(at, std::move(row));
}

void ReplyCache::PutRow(const ReplyKey& key, uint32_t chunk, std::string_view json) {
  Document* const document = FindCached(key);
  if (document == nullptr) return;
  size_t bytes = 0;
  Row* const row = AddRow(document, chunk, &bytes);
  if (row->json.empty()) {
    row->json = json;
    bytes += row->json.capacity();
  }
  Charge(document, bytes);
}

void ReplyCache::PutRowPage(const ReplyKey& key, uint32_t chunk, uint32_t page) {
  Document* const document = FindCached(key);
  if (document == nullptr) return;
  size_t bytes = 0;
  AddRow(document, chunk, &bytes)->page = page;
  Charge(document, bytes);
}

void ReplyCache::PutPage(const ReplyKey& key, Page page) {
  Document* const document = FindCached(key);
  if (document == nullptr || document->FindPage(page.key) != nullptr) return;
  const size_t bytes = PageBytes(page);
  document->pages.insert(PositionOf(document->pages, page.key), std::move(page));
  Charge(document, bytes);
}

void ReplyCache::PutFineChunks(const ReplyKey& key, uint32_t chunk, FineChunks fine) {
  Document* const document = FindCached(key);
  if (document == nullptr) return;
  size_t bytes = 0;
  Row* const row = AddRow(document, chunk, &bytes);
  const size_t length = row->json.size();
  const auto isInside = [&](const FineSpan& span) { return span.from <= span.to && span.to <= length; };
  const bool fits = fine.pathEnd <= length && std::all_of(fine.spans.begin(), fine.spans.end(), isInside);
  if (fits) {
    const size_t before = row->fine == nullptr ? 0 : FineBytes(*row->fine);
    document->bytes -= before;
    bytes_ -= before;
    bytes += FineBytes(fine);
    row->fine = std::make_unique<const FineChunks>(std::move(fine));
  }
  Charge(document, bytes);
}

void ReplyCache::Delete(const ReplyKey& key) {
  Document* const document = FindCached(key);
  if (document != nullptr) Erase(document);
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
