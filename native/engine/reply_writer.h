// Writes query replies as JSON, byte for byte as src/services/query-replies.ts renders them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/fusion.h"
#include "engine/reply_cache.h"

namespace quarry {

struct ReplyOptions {
  uint64_t collection;
  uint32_t baseUrl;  // see DocumentParts
  double now;        // milliseconds since the epoch
};

// The functions return the number of bytes written, or nullopt if a part is not cached or has expired, or if the
// reply is longer than `to`.

// Reply of top-snippets; `ranked` are its snippets.
std::optional<size_t> WriteSnippets(ReplyCache* cache, const ReplyOptions& options, std::span<const RankedRow> ranked,
                                    std::span<uint8_t> to);
// A fine chunk as a result of top-snippets. The pointers are into the cache.
struct FineResult {
  const ReplyCache::Document* document;
  const ReplyCache::Row* row;  // with fine chunks
  uint32_t index;              // among the fine chunks of the row
  double score;
};
std::optional<size_t> WriteFineSnippets(std::span<const FineResult> results, std::span<uint8_t> to);

// Returns the document of a row; null if it is not cached for these options.
const ReplyCache::Document* FindDocument(ReplyCache* cache, const ReplyOptions& options, const RankedRow& row);

// Reply of top-documents; `ranked` are its documents.
std::optional<size_t> WriteDocuments(ReplyCache* cache, const ReplyOptions& options, std::span<const RankedRow> ranked,
                                     std::span<uint8_t> to);
// Reply of top-pages with the first `results` pages of the ranked rows, if each of them is on one page.
struct PageOptions {
  size_t results;
  bool hasContent;
};
std::optional<size_t> WritePages(ReplyCache* cache, const ReplyOptions& options, const PageOptions& pageOptions,
                                 std::span<const RankedRow> ranked, std::span<uint8_t> to, size_t* written);

// Writes a score as JSON.stringify does, and returns the number of characters, at most kScoreCharactersMax.
// `score` is finite.
inline constexpr size_t kScoreCharactersMax = 32;
size_t WriteScore(double score, char* to);

}  // namespace quarry
