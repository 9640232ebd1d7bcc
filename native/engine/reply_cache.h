// Serialized parts of query replies, so that a reply is written without reading and serializing its documents.
#pragma once

#include <cstddef>
#include <cstdint>
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
  struct Row {
    uint32_t chunk;    // index of the row in its document
    std::string json;  // from the opening brace up to the score
  };
  struct Document {
    uint64_t collection = 0;
    DocumentParts parts;
    std::vector<Row> rows;  // by chunk

    // Returns null if the row is not cached.
    const std::string* FindRow(uint32_t chunk) const;

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
  // Replaces the parts of a document and keeps its rows.
  void PutDocument(const ReplyKey& key, DocumentParts parts);
  // Adds a row to a cached document. Does nothing if the document or the row is cached already, or no document is.
  void PutRow(const ReplyKey& key, uint32_t chunk, std::string_view json);
  void Delete(const ReplyKey& key);
  void DeleteCollection(uint64_t collection);
  // Memory of the cache.
  size_t bytes() const { return bytes_; }

 private:
  void Link(Document* document);
  void Unlink(Document* document);
  void Erase(Document* document);
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
