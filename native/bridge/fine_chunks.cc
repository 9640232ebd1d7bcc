#include "bridge/fine_chunks.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "bridge/catch_out_of_memory.h"
#include "text/fine_scores.h"
#include "text/fine_terms.h"
#include "text/quantize.h"

namespace quarry {
namespace {

template <class Array, class Element>
std::vector<Element> CopyOf(const Napi::Value& value) {
  const auto array = value.As<Array>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::span<const uint8_t> BytesOf(const Napi::Value& value) {
  const auto array = value.As<Napi::Uint8Array>();
  return {array.Data(), array.ElementLength()};
}

// Returns the lists as one array, because creating an array costs more than filling it: six numbers per fine chunk, the
// last of which belongs to the order: row i has the position of the fine chunk with rank i, or -1 if fewer are ranked.
Napi::Value ToRows(Napi::Env env, const text::FineScores& scores) {
  const size_t count = scores.parents.size();
  auto rows = Napi::Float64Array::New(env, count * 6);
  double* to = rows.Data();
  for (size_t i = 0; i < count; ++i) {
    *to++ = scores.parents[i];
    *to++ = scores.indexes[i];
    *to++ = scores.lexical[i];
    *to++ = scores.similarities[i];
    *to++ = scores.scores[i];
    *to++ = i < scores.order.size() ? scores.order[i] : -1.0;
  }
  return rows;
}

text::FineQuery ToFineQuery(const Napi::Object& object) {
  const auto number = [&](const char* name) { return object.Get(name).ToNumber().DoubleValue(); };
  text::FineQuery query;
  query.prefixes = CopyOf<Napi::Uint32Array, uint32_t>(object.Get("prefixes"));
  query.groups = CopyOf<Napi::Uint32Array, uint32_t>(object.Get("groups"));
  query.words = CopyOf<Napi::Uint32Array, uint32_t>(object.Get("words"));
  const Napi::Value vector = object.Get("vector");
  if (!vector.IsNull()) query.vector = CopyOf<Napi::Float32Array, float>(vector);
  query.lexicalWeight = number("lexicalWeight");
  query.vectorWeight = number("vectorWeight");
  query.parentWeight = number("parentWeight");
  query.neighborWeight = number("neighborWeight");
  query.bestMax = object.Get("bestMax").ToNumber().Uint32Value();
  const auto isWord = [&](uint32_t group) { return group < query.words.size(); };
  const bool isValid = query.prefixes.size() == query.groups.size() &&
                       std::all_of(query.groups.begin(), query.groups.end(), isWord) &&
                       std::all_of(query.words.begin(), query.words.end(), isWord);
  if (!isValid) throw Napi::RangeError::New(object.Env(), "each term must have a group, and each group a word");
  return query;
}

text::FineParent ToFineParent(const text::FineQuery& query, const Napi::Value& terms, const Napi::Value& codes,
                              double fused) {
  const std::optional<text::FineTermsView> view = text::FineTermsView::Parse(BytesOf(terms));
  if (!view.has_value()) throw Napi::Error::New(terms.Env(), "the terms of fine chunks are damaged");
  const text::FineParent parent{*view, BytesOf(codes), fused};
  const size_t expected = view->fineChunks() * text::RecordBytes(query.vector.size());
  if (!query.vector.empty() && parent.codes.size() != expected) {
    throw Napi::Error::New(terms.Env(), "the codes of fine chunks must be one record per fine chunk");
  }
  return parent;
}

Napi::Value FineChunksScore(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const text::FineQuery query = ToFineQuery(info[0].As<Napi::Object>());
  const auto terms = info[1].As<Napi::Array>();
  const auto codes = info[2].As<Napi::Array>();
  const auto fused = info[3].As<Napi::Float64Array>();
  const uint32_t count = terms.Length();
  if (codes.Length() != count || fused.ElementLength() != count) {
    throw Napi::TypeError::New(env, "terms, codes and scores must have one element per coarse chunk");
  }
  std::vector<text::FineParent> parents;
  parents.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const Napi::HandleScope scope(env);
    parents.push_back(ToFineParent(query, terms.Get(i), codes.Get(i), fused[i]));
  }
  const text::FineScores scores = text::ScoreFineChunks(query, parents);
  return ToRows(env, scores);
}

}  // namespace

void AddFineChunkFunctions(Napi::Env env, Napi::Object exports) {
  exports.Set("fineChunksScore", Napi::Function::New<CatchOutOfMemory<FineChunksScore>>(env, "fineChunksScore"));
}

}  // namespace quarry
