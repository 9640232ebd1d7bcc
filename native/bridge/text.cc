#include "bridge/text.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/catch_out_of_memory.h"
#include "bridge/strings.h"
#include "bridge/text_handles.h"
#include "bridge/values.h"
#include "engine/mutex.h"
#include "text/quantize.h"
#include "text/static_embedding.h"
#include "text/word_piece.h"

namespace quarry {
namespace {

using text::BertTokenizer;
using text::PlainTokenizer;
using text::StaticEmbedding;
using text::Tokenizer;

// Working memory of one JavaScript thread.
struct Scratch {
  std::u16string text;
  text::Ids ids;
  StaticEmbedding::Scratch embedding;
};
thread_local Scratch scratch;

// Cache of immutable objects that all threads of the process share, one per content. Objects are freed when
// the last reference is released.
template <class Resource>
class WeakCache {
 public:
  template <class Matches, class Make>
  std::shared_ptr<const Resource> FindOrCreate(Matches matches, Make make) {
    const MutexLock lock(mutex_);
    std::erase_if(resources_, [](const auto& resource) { return resource.expired(); });
    for (const auto& weak : resources_) {
      const auto resource = weak.lock();
      if (resource != nullptr && matches(*resource)) return resource;
    }
    std::shared_ptr<const Resource> created = make();
    if (created != nullptr) resources_.push_back(created);
    return created;
  }

  // Never destroyed: worker threads may outlive the main thread.
  static WeakCache& Instance() {
    static WeakCache* const cache = new WeakCache();
    return *cache;
  }

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<const Resource>> resources_ GUARDED_BY(mutex_);
};

std::u32string CharactersOf(std::u16string_view units) {
  std::u32string characters;
  for (size_t at = 0; at < units.size();) characters += text::NextCharacter(units, &at);
  return characters;
}

std::vector<std::u32string> Lines(std::u16string_view units) {
  std::vector<std::u32string> lines;
  for (size_t start = 0; start <= units.size();) {
    const size_t end = std::min(units.find(u'\n', start), units.size());
    lines.push_back(CharactersOf(units.substr(start, end - start)));
    start = end + 1;
  }
  return lines;
}

template <class Element>
std::vector<Element> CopyOf(const Napi::Value& value, const char* name) {
  if (!value.IsTypedArray()) throw Napi::TypeError::New(value.Env(), std::string(name) + " must be a typed array");
  const auto array = value.As<Napi::TypedArray>();
  if (array.ByteLength() % sizeof(Element) != 0 || array.ByteOffset() % alignof(Element) != 0) {
    throw Napi::TypeError::New(value.Env(), std::string(name) + " has elements of the wrong size");
  }
  const auto* first =
      reinterpret_cast<const Element*>(static_cast<const uint8_t*>(array.ArrayBuffer().Data()) + array.ByteOffset());
  return {first, first + array.ByteLength() / sizeof(Element)};
}

const SharedTokenizer& TokenizerOf(const Napi::Value& value) {
  if (!value.IsExternal()) throw Napi::TypeError::New(value.Env(), "the first argument must be a tokenizer");
  return **value.As<TokenizerHandle>().Data();
}

const PlainTokenizer& PlainTokenizerOf(const Napi::Value& value) {
  const PlainTokenizer* plain = TokenizerOf(value).plain;
  if (plain == nullptr) throw Napi::TypeError::New(value.Env(), "the tokenizer must be a plain tokenizer");
  return *plain;
}

Napi::Value PlainTokenizerOpen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::u16string units;
  const std::u16string_view source = UnitsOf(env, info[0], &units);
  auto shared = WeakCache<SharedTokenizer>::Instance().FindOrCreate(
      [&](const SharedTokenizer& known) { return known.plain != nullptr && known.source == source; },
      [&]() -> std::shared_ptr<SharedTokenizer> {
        auto tokenizer = PlainTokenizer::Create(Lines(source));
        if (tokenizer == nullptr) return nullptr;
        const PlainTokenizer* plain = tokenizer.get();
        return std::make_shared<SharedTokenizer>(SharedTokenizer{std::u16string(source), std::move(tokenizer), plain});
      });
  if (shared == nullptr) {
    throw Napi::Error::New(env, "a vocabulary must begin with [UNK], and its pieces must be distinct and not empty");
  }
  return ToHandle(env, std::move(shared));
}

BertTokenizer::Options ToBertOptions(Napi::Env env, const Napi::Object& options, std::u16string_view pieces) {
  BertTokenizer::Options result;
  const auto flag = [&](const char* name) { return options.Get(name).ToBoolean().Value(); };
  const auto ids = CopyOf<int32_t>(options.Get("ids"), "ids");
  std::vector<std::u32string> lines = Lines(pieces);
  if (lines.size() != ids.size()) throw Napi::TypeError::New(env, "ids must have one element per piece");
  for (size_t i = 0; i < ids.size(); ++i) result.pieces.emplace_back(std::move(lines[i]), ids[i]);
  result.unknown = static_cast<int32_t>(ToUint32(options.Get("unknown"), "unknown"));
  result.wordCharactersMax = ToUint32(options.Get("wordCharactersMax"), "wordCharactersMax");
  result.cleansText = flag("cleansText");
  result.spacesIdeographs = flag("spacesIdeographs");
  result.lowercases = flag("lowercases");
  result.stripsAccents = flag("stripsAccents");
  const auto added = options.Get("addedTokens").As<Napi::Array>();
  for (uint32_t i = 0; i < added.Length(); ++i) {
    const auto token = added.Get(i).As<Napi::Object>();
    result.addedTokens.push_back(
        {token.Get("content").ToString().Utf16Value(), static_cast<int32_t>(ToUint32(token.Get("id"), "id")),
         token.Get("stripsLeft").ToBoolean().Value(), token.Get("stripsRight").ToBoolean().Value()});
  }
  return result;
}

// The second argument is a string that identifies all options, so that equal options share one tokenizer.
Napi::Value BertTokenizerOpen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::u16string sourceUnits;
  const std::u16string_view source = UnitsOf(env, info[1], &sourceUnits);
  auto shared = WeakCache<SharedTokenizer>::Instance().FindOrCreate(
      [&](const SharedTokenizer& known) { return known.plain == nullptr && known.source == source; },
      [&]() -> std::shared_ptr<SharedTokenizer> {
        std::u16string units;
        const auto options = info[0].As<Napi::Object>();
        auto tokenizer =
            BertTokenizer::Create(ToBertOptions(env, options, UnitsOf(env, options.Get("pieces"), &units)));
        if (tokenizer == nullptr) return nullptr;
        return std::make_shared<SharedTokenizer>(
            SharedTokenizer{std::u16string(source), std::move(tokenizer), nullptr});
      });
  if (shared == nullptr) throw Napi::Error::New(env, "the pieces of a vocabulary must be distinct");
  return ToHandle(env, std::move(shared));
}

Napi::Value TokenizerEncode(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Tokenizer& tokenizer = *TokenizerOf(info[0]).tokenizer;
  const auto texts = info[1].As<Napi::Array>();
  const uint32_t count = texts.Length();
  auto ends = Napi::Uint32Array::New(env, count);
  text::Ids& ids = scratch.ids;
  ids.clear();
  for (uint32_t i = 0; i < count; ++i) {
    tokenizer.Encode(UnitsOf(env, texts.Get(i), &scratch.text), &scratch.embedding.tokenizer, &ids);
    if (ids.size() > UINT32_MAX) throw Napi::RangeError::New(env, "too many tokens for one call");
    ends.Data()[i] = static_cast<uint32_t>(ids.size());
  }
  const auto result = Napi::Object::New(env);
  auto copy = Napi::Int32Array::New(env, ids.size());
  std::copy(ids.begin(), ids.end(), copy.Data());
  result.Set("ids", copy);
  result.Set("ends", ends);
  return result;
}

Napi::Value WordEncode(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const PlainTokenizer& tokenizer = PlainTokenizerOf(info[0]);
  text::Ids& ids = scratch.ids;
  ids.clear();
  tokenizer.EncodeWord(UnitsOf(env, info[1], &scratch.text), &scratch.embedding.tokenizer, &ids);
  auto result = Napi::Int32Array::New(env, ids.size());
  std::copy(ids.begin(), ids.end(), result.Data());
  return result;
}

Napi::Value WordSpans(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::u16string_view units = UnitsOf(env, info[0], &scratch.text);
  std::vector<uint32_t> spans;
  size_t at = 0;
  for (auto word = PlainTokenizer::NextWord(units, &at); !word.empty(); word = PlainTokenizer::NextWord(units, &at)) {
    spans.push_back(static_cast<uint32_t>(at - word.size()));
    spans.push_back(static_cast<uint32_t>(at));
  }
  auto result = Napi::Uint32Array::New(env, spans.size());
  std::copy(spans.begin(), spans.end(), result.Data());
  return result;
}

Napi::Value WordNormalize(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  auto& forms = scratch.embedding.tokenizer;
  PlainTokenizer::Normalize(UnitsOf(env, info[0], &scratch.text), &forms);
  std::u16string units;
  for (const char32_t character : forms.normalized) text::AppendUnits(character, &units);
  return Napi::String::New(env, units);
}

Napi::Value EmbeddingOpen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  TokenizerOf(info[0]);
  const auto& tokenizer = *info[0].As<TokenizerHandle>().Data();
  const auto options = info[1].As<Napi::Object>();
  StaticEmbedding::Parameters parameters;
  parameters.tokenizer = {tokenizer, tokenizer->tokenizer.get()};
  parameters.dimensions = ToUint32(options.Get("dimensions"), "dimensions");
  parameters.repetitionExponent = options.Get("repetitionExponent").ToNumber().DoubleValue();
  parameters.codes = CopyOf<int8_t>(options.Get("codes"), "codes");
  parameters.weights = CopyOf<float>(options.Get("weights"), "weights");
  parameters.prefixes = CopyOf<float>(options.Get("prefixes"), "prefixes");
  auto shared = WeakCache<StaticEmbedding>::Instance().FindOrCreate(
      [&](const StaticEmbedding& known) { return known.parameters() == parameters; },
      [&]() -> std::shared_ptr<const StaticEmbedding> { return StaticEmbedding::Create(std::move(parameters)); });
  if (shared == nullptr)
    throw Napi::Error::New(env, "codes, weights and prefixes must match the dimensions and the vocabulary");
  return ToHandle(env, std::move(shared));
}

Napi::Value EmbeddingRun(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsExternal()) throw Napi::TypeError::New(env, "the first argument must be an embedding");
  const StaticEmbedding& embedding = **info[0].As<EmbeddingHandle>().Data();
  const auto texts = info[1].As<Napi::Array>();
  const auto side = info[2].ToBoolean().Value() ? StaticEmbedding::Side::kQuery : StaticEmbedding::Side::kDocument;
  const size_t dimensions = embedding.dimensions();
  const uint32_t count = texts.Length();
  if (!info[3].IsTypedArray() || info[3].As<Napi::TypedArray>().TypedArrayType() != napi_float32_array) {
    throw Napi::TypeError::New(env, "vectors must be a Float32Array");
  }
  auto vectors = info[3].As<Napi::Float32Array>();
  if (vectors.ElementLength() != count * dimensions) {
    throw Napi::RangeError::New(env, "vectors must have one row per text");
  }
  float* const rows = vectors.Data();
  size_t tokens = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const auto units = UnitsOf(env, texts.Get(i), &scratch.text);
    tokens += embedding.Embed(units, side, &scratch.embedding, rows + i * dimensions);
  }
  return Napi::Number::New(env, static_cast<double>(tokens));
}

// Embeds texts with their headings, and parts of the texts. `spans` holds the start and the end of each part,
// `counts` the number of parts per text. Returns the vectors of the texts and the codes of the parts.
Napi::Value EmbeddingRunParts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsExternal()) throw Napi::TypeError::New(env, "the first argument must be an embedding");
  const StaticEmbedding& embedding = **info[0].As<EmbeddingHandle>().Data();
  const auto headings = info[1].As<Napi::Array>();
  const auto texts = info[2].As<Napi::Array>();
  const auto spans = CopyOf<StaticEmbedding::Span>(info[3], "spans");
  const auto counts = CopyOf<uint32_t>(info[4], "counts");
  if (counts.size() != texts.Length() || headings.Length() != texts.Length()) {
    throw Napi::TypeError::New(env, "headings and counts must have one element per text");
  }
  const size_t dimensions = embedding.dimensions();
  const size_t recordBytes = text::RecordBytes(dimensions);
  auto vectors = Napi::Float32Array::New(env, texts.Length() * dimensions);
  auto codes = Napi::Uint8Array::New(env, spans.size() * recordBytes);
  std::u16string headingUnits;
  std::vector<float>& partVectors = scratch.embedding.parts;
  size_t tokens = 0;
  size_t first = 0;
  for (uint32_t i = 0; i < texts.Length(); ++i) {
    const Napi::HandleScope scope(env);
    const auto heading = UnitsOf(env, headings.Get(i), &headingUnits);
    const auto units = UnitsOf(env, texts.Get(i), &scratch.text);
    if (counts[i] > spans.size() - first) throw Napi::RangeError::New(env, "spans must have one element per part");
    const std::span<const StaticEmbedding::Span> parts(spans.data() + first, counts[i]);
    for (const auto& [start, end] : parts) {
      if (start > end || end > units.size()) throw Napi::RangeError::New(env, "a part must lie within its text");
    }
    partVectors.resize(parts.size() * dimensions);
    tokens += embedding.EmbedParts(heading, units, parts, &scratch.embedding, vectors.Data() + i * dimensions,
                                   partVectors.data());
    for (size_t part = 0; part < parts.size(); ++part) {
      text::Quantize(&partVectors[part * dimensions], dimensions, codes.Data() + (first + part) * recordBytes);
    }
    first += parts.size();
  }
  const auto result = Napi::Object::New(env);
  result.Set("vectors", vectors);
  result.Set("codes", codes);
  result.Set("tokens", Napi::Number::New(env, static_cast<double>(tokens)));
  return result;
}

}  // namespace

void AddTextFunctions(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Function function) { exports.Set(name, function); };
  add("plainTokenizerOpen", Napi::Function::New<CatchOutOfMemory<PlainTokenizerOpen>>(env, "plainTokenizerOpen"));
  add("bertTokenizerOpen", Napi::Function::New<CatchOutOfMemory<BertTokenizerOpen>>(env, "bertTokenizerOpen"));
  add("tokenizerEncode", Napi::Function::New<CatchOutOfMemory<TokenizerEncode>>(env, "tokenizerEncode"));
  add("wordEncode", Napi::Function::New<CatchOutOfMemory<WordEncode>>(env, "wordEncode"));
  add("wordSpans", Napi::Function::New<CatchOutOfMemory<WordSpans>>(env, "wordSpans"));
  add("wordNormalize", Napi::Function::New<CatchOutOfMemory<WordNormalize>>(env, "wordNormalize"));
  add("embeddingOpen", Napi::Function::New<CatchOutOfMemory<EmbeddingOpen>>(env, "embeddingOpen"));
  add("embeddingRun", Napi::Function::New<CatchOutOfMemory<EmbeddingRun>>(env, "embeddingRun"));
  add("embeddingRunParts", Napi::Function::New<CatchOutOfMemory<EmbeddingRunParts>>(env, "embeddingRunParts"));
}

}  // namespace quarry
