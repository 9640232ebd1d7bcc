// Serialized parts of query replies, so that a reply is written without reading and serializing its documents.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quarry {

// Identifies the owner of a part. A version is looked up under its own collection only.
struct ReplyKey {
  uint64_t collection;
  uint64_t version;
};

// Parts of a document that replies repeat.
struct DocumentParts {
  std::string prefix;    // from the separating comma up to the score
  std::string suffix;    // from the score to the closing brace
  uint32_t baseUrl = 0;  // number of the start of the URLs in them
  double expiresAt = 0;  // milliseconds since the epoch; infinity: never
};

// Bounded cache. Eviction is second-chance (CLOCK): the oldest document is evicted first, unless it was used since it was
// last considered. Not thread-safe.
class ReplyCache {
 public:
  // Place of a fine chunk in its document, and of its text in the JSON of its row.
  struct FineSpan {
    uint32_t from, to;                      // bytes of the JSON
    uint32_t startCodePoint, endCodePoint;  // of the document
    uint32_t pageStart, pageEnd;
  };
  // The fine chunks of a row, to score and to show them.
  struct FineChunks {
    uint32_t generation = 0;  // of the vectors
    uint32_t pathEnd = 0;     // bytes of the JSON of the row up to the path
    std::string terms;        // block of their terms (native/FORMAT.md)
    std::string codes;        // 8-bit vectors, concatenated
    std::vector<FineSpan> spans;
  };
  static constexpr uint32_t kUnknownPage = UINT32_MAX;
  struct Row {
    uint32_t chunk = 0;                      // index of the row in its document
    uint32_t page = kUnknownPage;            // the only page of the row
    std::string json;                        // from the opening brace up to the score; empty if unknown
    std::unique_ptr<const FineChunks> fine;  // null if unknown
  };
  struct PageKey {
    uint32_t page;
    bool hasContent;
    auto operator<=>(const PageKey&) const = default;
  };
  // A page as a result.
  struct Page {
    PageKey key;
    std::string head;  // from the separating comma up to the score
    std::string tail;  // from the score to the closing brace
  };
  struct Document {
    uint64_t collection = 0;
    DocumentParts parts;
    std::vector<Row> rows;    // by chunk
    std::vector<Page> pages;  // by key

    // Return null if the row or the page is not cached.
    const Row* FindRow(uint32_t chunk) const;
    const Page* FindPage(const PageKey& key) const;

   private:
    friend class ReplyCache;
    size_t bytes = 0;
    bool used = false;
    // Neighbors in eviction order.
    uint64_t version = 0;
    Document* older = nullptr;
    Document* newer = nullptr;
  };

  // The bound is 0 until it is set.
  ReplyCache() = default;
  ReplyCache(const ReplyCache&) = delete;
  ReplyCache& operator=(const ReplyCache&) = delete;
  void SetBytesMax(size_t bytesMax);

  // The pointer is valid until the cache changes. Returns null if the document is not cached under this key.
  const Document* Find(const ReplyKey& key);
  // Replaces the parts of a document. Its rows are kept, and its pages if they have the same base URL.
  void PutDocument(const ReplyKey& key, DocumentParts parts);
  // The following functions add to a cached document, and do nothing if it is not cached.
  void PutRow(const ReplyKey& key, uint32_t chunk, std::string_view json);
  void PutRowPage(const ReplyKey& key, uint32_t chunk, uint32_t page);
  void PutPage(const ReplyKey& key, Page page);
  // Replaces the fine chunks of a row. Ignores spans outside the JSON of the row, and rows without JSON.
  void PutFineChunks(const ReplyKey& key, uint32_t chunk, FineChunks fine);
  void Delete(const ReplyKey& key);
  void DeleteCollection(uint64_t collection);
  // Memory of the cache.
  size_t bytes() const { return bytes_; }

 private:
  void Link(Document* document);
  void Unlink(Document* document);
  void Erase(Document* document);
  // Returns null if the document is not cached under this key.
  Document* FindCached(const ReplyKey& key);
  // Returns the row of a document, added if it is missing, and sets *bytes to the memory added.
  Row* AddRow(Document* document, uint32_t chunk, size_t* bytes);
  // Adds to the memory of `document` and evicts others while the total exceeds the bound.
  void Charge(Document* document, size_t bytes);
  // Evicts documents other than `kept` while the total exceeds the bound.
  void Shrink(const Document* kept);

  size_t bytesMax_ = 0;
  size_t bytes_ = 0;
  std::unordered_map<uint64_t, Document> documents_;  // by version
  Document* oldest_ = nullptr;
  Document* newest_ = nullptr;
};

}  // namespace quarry
