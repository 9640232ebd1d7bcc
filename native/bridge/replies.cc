#include "bridge/replies.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridge/catch_out_of_memory.h"
#include "bridge/environment.h"
#include "bridge/values.h"
#include "text/quantize.h"

namespace quarry {
namespace {

// Numbers of a specification, in the order of src/index/written-reply.ts.
enum Spec : size_t {
  kUnit,
  kResults,
  kLexicalWeight,
  kVectorWeight,
  kCollection,
  kBaseUrl,
  kNow,
  kParents,
  kParentWeight,
  kNeighborWeight,
  kGeneration,
  kSpecNumbers
};

// Header of a written reply, followed by the reports of the shards and the JSON.
struct PackedWrittenReply {
  uint32_t bytes;
  uint32_t results;
  uint32_t shards;
  uint32_t calibrated;
};

std::string TextOf(const Napi::Value& value) {
  const auto bytes = value.As<Napi::Uint8Array>();
  return {reinterpret_cast<const char*>(bytes.Data()), bytes.ElementLength()};
}

// Arguments: collection, version, parts of the document, index of the row or null, JSON of the row.
Napi::Value PutReplyParts(const Napi::CallbackInfo& info) {
  const ReplyKey key{ToCount(info[0], "collection"), ToCount(info[1], "version")};
  const auto document = info[2].As<Napi::Object>();
  ReplyCache& cache = EnvironmentOf(info.Env()).replies;
  cache.PutDocument(
      key, {TextOf(document.Get("prefix")), TextOf(document.Get("suffix")),
            ToUint32(document.Get("baseUrl"), "baseUrl"), document.Get("expiresAt").As<Napi::Number>().DoubleValue()});
  if (!info[3].IsNull()) cache.PutRow(key, ToUint32(info[3], "row"), TextOf(info[4]));
  return info.Env().Undefined();
}

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Arguments: collection, version, index of the row, its fine chunks.
Napi::Value PutReplyFineChunks(const Napi::CallbackInfo& info) {
  const ReplyKey key{ToCount(info[0], "collection"), ToCount(info[1], "version")};
  const auto object = info[3].As<Napi::Object>();
  const auto numbers = object.Get("spans").As<Napi::Uint32Array>();
  constexpr size_t kSpanNumbers = 6;
  ReplyCache::FineChunks fine;
  fine.generation = ToUint32(object.Get("generation"), "generation");
  fine.pathEnd = ToUint32(object.Get("pathEnd"), "pathEnd");
  fine.terms = TextOf(object.Get("terms"));
  fine.codes = TextOf(object.Get("codes"));
  for (size_t i = 0; i + kSpanNumbers <= numbers.ElementLength(); i += kSpanNumbers) {
    const uint32_t* const at = numbers.Data() + i;
    fine.spans.push_back({at[0], at[1], at[2], at[3], at[4], at[5]});
  }
  EnvironmentOf(info.Env()).replies.PutFineChunks(key, ToUint32(info[2], "row"), std::move(fine));
  return info.Env().Undefined();
}

// Arguments: collection, version, index of the row, generation, base URL.
Napi::Value HasReplyFineChunks(const Napi::CallbackInfo& info) {
  const ReplyKey key{ToCount(info[0], "collection"), ToCount(info[1], "version")};
  const auto* const document = EnvironmentOf(info.Env()).replies.Find(key);
  const auto* const row = document == nullptr ? nullptr : document->FindRow(ToUint32(info[2], "row"));
  const bool isCached = row != nullptr && row->fine != nullptr &&
                        row->fine->generation == ToUint32(info[3], "generation") &&
                        document->parts.baseUrl == ToUint32(info[4], "baseUrl");
  return Napi::Boolean::New(info.Env(), isCached);
}

// Arguments: collection, version, page, and the rows that are on this page only.
Napi::Value PutReplyPage(const Napi::CallbackInfo& info) {
  const ReplyKey key{ToCount(info[0], "collection"), ToCount(info[1], "version")};
  const auto page = info[2].As<Napi::Object>();
  const uint32_t index = ToUint32(page.Get("index"), "index");
  ReplyCache& cache = EnvironmentOf(info.Env()).replies;
  cache.PutPage(
      key, {{index, page.Get("hasContent").ToBoolean().Value()}, TextOf(page.Get("head")), TextOf(page.Get("tail"))});
  const auto rows = info[3].As<Napi::Array>();
  for (uint32_t i = 0; i < rows.Length(); i++) cache.PutRowPage(key, ToUint32(rows.Get(i), "row"), index);
  return info.Env().Undefined();
}

Napi::Value DeleteReplyParts(const Napi::CallbackInfo& info) {
  EnvironmentOf(info.Env()).replies.Delete({ToCount(info[0], "collection"), ToCount(info[1], "version")});
  return info.Env().Undefined();
}

Napi::Value DeleteReplyPartsOfCollection(const Napi::CallbackInfo& info) {
  EnvironmentOf(info.Env()).replies.DeleteCollection(ToCount(info[0], "collection"));
  return info.Env().Undefined();
}

Napi::Value UseReplyCacheBytesMax(const Napi::CallbackInfo& info) {
  EnvironmentOf(info.Env()).replies.SetBytesMax(ToCount(info[0], "bytes"));
  return info.Env().Undefined();
}

Napi::Value ReplyCacheBytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(EnvironmentOf(info.Env()).replies.bytes()));
}

text::FineQuery ToFineQuery(const Napi::Value& words, const SearchRequest& request) {
  text::FineQuery query;
  if (!words.IsTypedArray() || words.As<Napi::TypedArray>().TypedArrayType() != napi_uint32_array) {
    throw Napi::TypeError::New(words.Env(), "words must be a Uint32Array");
  }
  const auto array = words.As<Napi::Uint32Array>();
  query.words.assign(array.Data(), array.Data() + array.ElementLength());
  query.vector = request.vector;
  const auto isGroup = [&](uint32_t group) { return group < query.words.size(); };
  bool isValid = std::all_of(query.words.begin(), query.words.end(), isGroup);
  for (const QueryTerm& term : request.terms) {
    isValid = isValid && isGroup(term.group);
    query.prefixes.push_back(static_cast<uint32_t>(term.hash >> 32));
    query.groups.push_back(term.group);
  }
  if (!isValid) throw Napi::RangeError::New(words.Env(), "each term must have a group, and each group a word");
  return query;
}

}  // namespace

ReplyTarget ToReplyTarget(const Napi::Value& spec, const Napi::Value& buffer, const Napi::Value& words,
                          const SearchRequest& request) {
  if (!spec.IsTypedArray() || !buffer.IsArrayBuffer()) {
    throw Napi::TypeError::New(spec.Env(), "a reply needs a Float64Array and an ArrayBuffer");
  }
  const auto numbers = spec.As<Napi::Float64Array>();
  if (numbers.TypedArrayType() != napi_float64_array || numbers.ElementLength() < kSpecNumbers) {
    throw Napi::TypeError::New(spec.Env(), "the specification of a reply must be a Float64Array");
  }
  const double* const number = numbers.Data();
  auto target = buffer.As<Napi::ArrayBuffer>();
  ReplyTarget result;
  result.options = {static_cast<uint64_t>(number[kCollection]), static_cast<uint32_t>(number[kBaseUrl]), number[kNow]};
  result.weights = {number[kLexicalWeight], number[kVectorWeight]};
  result.unit = static_cast<ReplyTarget::Unit>(static_cast<int>(number[kUnit]));
  result.hasVector = !request.vector.empty();
  result.results = static_cast<size_t>(number[kResults]);
  result.depth = request.vectorCandidates;
  result.start = static_cast<uint8_t*>(target.Data());
  result.size = target.ByteLength();
  if (result.unit != ReplyTarget::Unit::kFineSnippets) return result;
  result.parents = static_cast<size_t>(number[kParents]);
  result.generation = static_cast<uint32_t>(number[kGeneration]);
  result.fine = ToFineQuery(words, request);
  result.fine.lexicalWeight = number[kLexicalWeight];
  result.fine.vectorWeight = number[kVectorWeight];
  result.fine.parentWeight = number[kParentWeight];
  result.fine.neighborWeight = number[kNeighborWeight];
  result.fine.bestMax = result.results;
  return result;
}

namespace {

using Unit = ReplyTarget::Unit;

void Prefetch(const std::string& text) {
  constexpr size_t kLineBytes = 64;
  for (size_t at = 0; at < text.size(); at += kLineBytes) __builtin_prefetch(text.data() + at);
}

// Returns false if the fine chunks of a row are not cached. Each step is taken for all rows before the next one, so that
// their memory latencies overlap.
bool FindFineRows(ReplyCache* cache, const ReplyTarget& target, std::span<const RankedRow> ranked,
                  std::vector<FineResult>* rows) {
  rows->reserve(ranked.size());
  for (const RankedRow& ranking : ranked) {
    const auto* const document = FindDocument(cache, target.options, ranking);
    if (document == nullptr) return false;
    __builtin_prefetch(document->rows.data());
    rows->push_back({document, nullptr, 0, 0});
  }
  for (size_t i = 0; i < ranked.size(); i++) {
    const auto* const row = (*rows)[i].document->FindRow(ranked[i].chunk);
    if (row == nullptr || row->fine == nullptr) return false;
    __builtin_prefetch(row->fine.get());
    (*rows)[i].row = row;
  }
  for (const FineResult& found : *rows) {
    const ReplyCache::FineChunks& fine = *found.row->fine;
    if (fine.generation != target.generation) return false;
    Prefetch(fine.terms);
  }
  return true;
}

// Scores the fine chunks of the best rows and writes the reply.
std::optional<size_t> WriteFine(ReplyCache* cache, const ReplyTarget& target, std::vector<RankedRow>* ranked,
                                std::span<uint8_t> to, size_t* results) {
  const bool hasMore = ranked->size() > target.parents;
  if (hasMore) ranked->resize(target.parents);
  std::vector<FineResult> rows;
  if (!FindFineRows(cache, target, *ranked, &rows)) return std::nullopt;
  std::vector<text::FineParent> parents;
  parents.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); i++) {
    const ReplyCache::FineChunks& fine = *rows[i].row->fine;
    const auto terms = text::FineTermsView::Parse(BytesOf(fine.terms));
    if (!terms.has_value() || terms->fineChunks() != fine.spans.size()) return std::nullopt;
    const size_t codeBytes = terms->fineChunks() * text::RecordBytes(target.fine.vector.size());
    if (!target.fine.vector.empty() && fine.codes.size() != codeBytes) return std::nullopt;
    parents.push_back({*terms, BytesOf(fine.codes), (*ranked)[i].score});
  }
  const text::FineScores scores = text::ScoreFineChunks(target.fine, parents);
  // Short texts have few fine chunks; then those of other rows are needed, too.
  if (scores.scores.size() < target.results && hasMore) return std::nullopt;
  std::vector<FineResult> best;
  for (const uint32_t position : scores.order) {
    FineResult& result = best.emplace_back(rows[scores.parents[position]]);
    result.index = scores.indexes[position];
    result.score = scores.scores[position];
  }
  *results = best.size();
  return WriteFineSnippets(best, to);
}

// Writes the JSON and sets *results to the number of results in it.
std::optional<size_t> WriteJson(ReplyCache* cache, const ReplyTarget& target, const SearchHits& hits,
                                std::span<uint8_t> to, size_t* results) {
  std::vector<RankedRow> ranked;
  RankRows(hits, target.hasVector, target.weights, &ranked);
  // A deeper search may find more documents or pages.
  const bool isFinal = hits.version.size() < target.depth;
  std::optional<size_t> bytes;
  if (target.unit == Unit::kPages || target.unit == Unit::kPagesWithContent) {
    if (ranked.size() > target.depth) ranked.resize(target.depth);
    const PageOptions options{target.results, target.unit == Unit::kPagesWithContent};
    bytes = WritePages(cache, target.options, options, ranked, to, results);
    return *results >= target.results || isFinal ? bytes : std::nullopt;
  }
  if (target.unit == Unit::kDocuments) {
    KeepFirstOfVersions(target.results, &ranked);
    if (ranked.size() < target.results && !isFinal) return std::nullopt;
  }
  if (target.unit == Unit::kFineSnippets) return WriteFine(cache, target, &ranked, to, results);
  if (ranked.size() > target.results) ranked.resize(target.results);
  *results = ranked.size();
  return target.unit == Unit::kDocuments ? WriteDocuments(cache, target.options, ranked, to)
                                         : WriteSnippets(cache, target.options, ranked, to);
}

}  // namespace

bool WriteReply(ReplyCache* cache, const ReplyTarget& target, const SearchHits& hits) {
  const size_t start = sizeof(PackedWrittenReply) + ShardReportsBytes(hits);
  if (start > target.size) return false;
  size_t results = 0;
  const auto bytes = WriteJson(cache, target, hits, {target.start + start, target.size - start}, &results);
  if (!bytes.has_value()) return false;
  const PackedWrittenReply header{static_cast<uint32_t>(*bytes), static_cast<uint32_t>(results),
                                  static_cast<uint32_t>(hits.shards.size()), hits.calibrated ? 1U : 0U};
  std::memcpy(target.start, &header, sizeof header);
  PutShardReports(hits, target.start + sizeof header);
  return true;
}

void AddReplyFunctions(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Function function) { exports.Set(name, function); };
  add("replyPartsPut", Napi::Function::New<CatchOutOfMemory<PutReplyParts>>(env, "replyPartsPut"));
  add("replyPagePut", Napi::Function::New<CatchOutOfMemory<PutReplyPage>>(env, "replyPagePut"));
  add("replyFineChunksHas", Napi::Function::New<CatchOutOfMemory<HasReplyFineChunks>>(env, "replyFineChunksHas"));
  add("replyFineChunksPut", Napi::Function::New<CatchOutOfMemory<PutReplyFineChunks>>(env, "replyFineChunksPut"));
  add("replyPartsDelete", Napi::Function::New<CatchOutOfMemory<DeleteReplyParts>>(env, "replyPartsDelete"));
  add("replyPartsDeleteCollection",
      Napi::Function::New<CatchOutOfMemory<DeleteReplyPartsOfCollection>>(env, "replyPartsDeleteCollection"));
  add("useReplyCacheBytesMax",
      Napi::Function::New<CatchOutOfMemory<UseReplyCacheBytesMax>>(env, "useReplyCacheBytesMax"));
  add("replyCacheBytes", Napi::Function::New<CatchOutOfMemory<ReplyCacheBytes>>(env, "replyCacheBytes"));
}

}  // namespace quarry
