// Replies that the engine writes as JSON: the functions declared in src/index/native-replies.ts.
#pragma once

#include <napi.h>

#include <cstddef>
#include <cstdint>

#include "engine/reply_writer.h"
#include "text/fine_scores.h"

namespace quarry {

// Where and how the reply of a search is written, if all of its parts are cached.
struct ReplyTarget {
  ReplyOptions options{};
  FusionWeights weights{};
  enum class Unit { kSnippets, kDocuments, kPages, kPagesWithContent, kFineSnippets } unit = Unit::kSnippets;
  bool hasVector = false;
  size_t results = 0;  // maximum number of results
  // If this many rows were found, there may be others, and a reply with fewer documents or pages than wanted is not final.
  size_t depth = 0;
  // Only for fine snippets: the number of coarse chunks to score, and how to score them.
  size_t parents = 0;
  uint32_t generation = 0;
  text::FineQuery fine;
  uint8_t* start = nullptr;
  size_t size = 0;
};

// `spec`: numbers written by src/index/written-reply.ts; `buffer`: an ArrayBuffer that receives the reply; `words`: see
// FineQuery, undefined unless the results are fine snippets.
ReplyTarget ToReplyTarget(const Napi::Value& spec, const Napi::Value& buffer, const Napi::Value& words,
                          const SearchRequest& request);

// Returns false if the reply cannot be written; then the caller reads the hits.
bool WriteReply(ReplyCache* cache, const ReplyTarget& target, const SearchHits& hits);

void AddReplyFunctions(Napi::Env env, Napi::Object exports);

}  // namespace quarry
