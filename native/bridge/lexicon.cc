#include "text/lexicon.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bridge/catch_out_of_memory.h"
#include "bridge/lexicon.h"
#include "bridge/strings.h"
#include "bridge/values.h"
#include "text/english_stem.h"

namespace quarry {
namespace {

using Handle = Napi::External<text::Lexicon>;

std::vector<text::Stemming> ToStemming(const Napi::Value& kinds) {
  const auto numbers = kinds.As<Napi::Uint8Array>();
  std::vector<text::Stemming> stemming;
  for (size_t i = 0; i < numbers.ElementLength(); ++i) {
    if (numbers[i] > static_cast<uint8_t>(text::Stemming::kCaller))
      throw Napi::RangeError::New(kinds.Env(), "stemming must be 0, 1 or 2");
    stemming.push_back(static_cast<text::Stemming>(numbers[i]));
  }
  return stemming;
}

std::unordered_map<std::string, std::vector<uint8_t>> ToFunctionWords(const Napi::Object& object) {
  const auto words = object.Get("words").As<Napi::Array>();
  const auto languages = object.Get("languages").As<Napi::Array>();
  std::unordered_map<std::string, std::vector<uint8_t>> functionWords;
  for (uint32_t i = 0; i < words.Length(); ++i) {
    const auto positions = languages.Get(i).As<Napi::Uint8Array>();
    functionWords.emplace(words.Get(i).ToString().Utf8Value(),
                          std::vector<uint8_t>(positions.Data(), positions.Data() + positions.ElementLength()));
  }
  return functionWords;
}

Napi::Value LexiconOpen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto options = info[0].As<Napi::Object>();
  const auto bound = [&](const char* name) { return static_cast<size_t>(ToUint32(options.Get(name), name)); };
  const text::ScanLimits scan{bound("termUnitsMax"), bound("compoundRunsMax"), bound("segmenterUnitsMax")};
  auto lexicon = std::make_unique<text::Lexicon>(
      text::LexiconOptions{scan, bound("entriesMax"), bound("stemUnitsMax"), ToStemming(options.Get("stemming")),
                           ToFunctionWords(options.Get("functionWords").As<Napi::Object>())});
  const auto handle = Handle::New(env, lexicon.get(), [](Napi::Env, text::Lexicon* owned) { delete owned; });
  lexicon.release();
  return handle;
}

Napi::String ToString(Napi::Env env, std::u16string_view units) {
  return Napi::String::New(env, units.data(), units.size());
}

// Wraps the caller's JavaScript functions. Valid only during the call from JavaScript that provides them.
text::Analyzer ToAnalyzer(Napi::Env env, const Napi::Object& caller, size_t languages) {
  text::Analyzer analyzer;
  const auto function = [&](const char* name) { return caller.Get(name).As<Napi::Function>(); };
  analyzer.segment = [env, segment = function("segment")](std::u16string_view slice, std::vector<uint32_t>* lengths) {
    const Napi::HandleScope scope(env);
    const auto found = segment.Call({ToString(env, slice)}).As<Napi::Uint32Array>();
    lengths->assign(found.Data(), found.Data() + found.ElementLength());
    size_t total = 0;
    for (const uint32_t length : *lengths) total += length;
    if (total != slice.size()) throw Napi::Error::New(env, "the segments of a slice must add up to its length");
  };
  analyzer.expand = [env, languages, expand = function("expand")](std::u16string_view word,
                                                                  std::vector<uint8_t>* stops) {
    const Napi::HandleScope scope(env);
    const Napi::Value found = expand.Call({ToString(env, word)});
    if (found.IsNull()) return false;
    const auto positions = found.As<Napi::Uint8Array>();
    stops->assign(positions.Data(), positions.Data() + positions.ElementLength());
    const bool known =
        std::all_of(stops->begin(), stops->end(), [&](uint8_t position) { return position < languages; });
    if (!known) throw Napi::Error::New(env, "a language must be below the number of languages");
    return true;
  };
  analyzer.hash = [env, hash = function("hash")](std::u16string_view term, bool isGram, int language,
                                                 std::vector<uint64_t>* hashes) {
    const Napi::HandleScope scope(env);
    const auto position = Napi::Number::New(env, language);
    const auto halves =
        hash.Call({ToString(env, term), Napi::Boolean::New(env, isGram), position}).As<Napi::Uint32Array>();
    for (size_t i = 0; i + 1 < halves.ElementLength(); i += 2) {
      hashes->push_back(static_cast<uint64_t>(halves[i]) << 32 | halves[i + 1]);
    }
  };
  analyzer.choose = [env, choose = function("choose")](const std::vector<double>& votes, uint32_t words) {
    const Napi::HandleScope scope(env);
    auto copy = Napi::Float64Array::New(env, votes.size());
    std::copy(votes.begin(), votes.end(), copy.Data());
    return choose.Call({copy, Napi::Number::New(env, words)}).ToNumber().Int32Value();
  };
  return analyzer;
}

// Views of the ends of the fine chunks of each row; valid as long as the array of the caller.
using FineEnds = std::vector<std::span<const uint32_t>>;

FineEnds ToFineEnds(const Napi::Value& ends, const Napi::Value& counts, size_t rows) {
  const auto all = ends.As<Napi::Uint32Array>();
  const auto perRow = counts.As<Napi::Uint32Array>();
  if (perRow.ElementLength() != rows)
    throw Napi::TypeError::New(ends.Env(), "fineCounts must have one element per row");
  FineEnds views;
  size_t first = 0;
  for (size_t row = 0; row < rows; ++row) {
    if (perRow[row] > all.ElementLength() - first) {
      throw Napi::RangeError::New(ends.Env(), "fineEnds must have one element per fine chunk");
    }
    views.emplace_back(all.Data() + first, perRow[row]);
    first += perRow[row];
  }
  return views;
}

void CheckFineEnds(Napi::Env env, std::span<const uint32_t> ends, size_t units) {
  if (ends.empty()) return;
  if (!std::is_sorted(ends.begin(), ends.end()) || ends.back() != units) {
    throw Napi::RangeError::New(env, "the fine chunks of a text must tile it");
  }
}

// Returns the sizes of the blocks as u32, then the blocks.
Napi::Value PackBlocks(Napi::Env env, const std::vector<uint32_t>& sizes, const std::vector<uint8_t>& blocks) {
  const size_t sizeBytes = sizes.size() * sizeof(uint32_t);
  auto packed = Napi::Uint8Array::New(env, sizeBytes + blocks.size());
  std::copy_n(reinterpret_cast<const uint8_t*>(sizes.data()), sizeBytes, packed.Data());
  std::copy(blocks.begin(), blocks.end(), packed.Data() + sizeBytes);
  return packed;
}

// Returns the terms of the fine chunks of a text, as LexiconAnalyze does for a row in this language.
Napi::Value LexiconFineTerms(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsExternal()) throw Napi::TypeError::New(env, "the first argument must be a lexicon");
  text::Lexicon& lexicon = *info[0].As<Handle>().Data();
  const text::Analyzer analyzer = ToAnalyzer(env, info[4].As<Napi::Object>(), lexicon.languages());
  std::u16string text;
  const std::u16string_view body = UnitsOf(env, info[1], &text);
  const auto ends = info[2].As<Napi::Uint32Array>();
  const std::span<const uint32_t> fineEnds(ends.Data(), ends.ElementLength());
  CheckFineEnds(env, fineEnds, body.size());
  std::vector<uint8_t> fineTerms;
  lexicon.AppendFineTermsOf(body, fineEnds, info[3].ToNumber().Int32Value(), analyzer, &fineTerms);
  auto bytes = Napi::Uint8Array::New(env, fineTerms.size());
  std::copy(fineTerms.begin(), fineTerms.end(), bytes.Data());
  return bytes;
}

Napi::Value LexiconAnalyze(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsExternal()) throw Napi::TypeError::New(env, "the first argument must be a lexicon");
  text::Lexicon& lexicon = *info[0].As<Handle>().Data();
  const auto document = info[1].As<Napi::Object>();
  const text::Analyzer analyzer = ToAnalyzer(env, info[2].As<Napi::Object>(), lexicon.languages());
  const auto texts = document.Get("texts").As<Napi::Array>();
  const auto prefixes = document.Get("prefixes").As<Napi::Array>();
  const auto sample = document.Get("sample").As<Napi::Array>();
  lexicon.Begin();
  // Detect the document's language lazily: most rows identify their own language.
  std::optional<int> known;
  const auto fallback = [&] {
    if (known.has_value()) return *known;
    std::vector<std::u16string> sampled(sample.Length());
    for (uint32_t i = 0; i < sample.Length(); ++i) sampled[i] = sample.Get(i).ToString().Utf16Value();
    known = lexicon.Language(sampled, analyzer);
    if (*known == text::kUnknownLanguage) known = document.Get("declared").ToNumber().Int32Value();
    return *known;
  };
  const FineEnds ends = ToFineEnds(document.Get("fineEnds"), document.Get("fineCounts"), texts.Length());
  auto languages = Napi::Int32Array::New(env, texts.Length());
  std::u16string text;
  std::u16string prefix;
  std::vector<uint8_t> fineTerms;
  std::vector<uint32_t> fineSizes;
  for (uint32_t row = 0; row < texts.Length(); ++row) {
    const Napi::HandleScope scope(env);
    const std::u16string_view body = UnitsOf(env, texts.Get(row), &text);
    CheckFineEnds(env, ends[row], body.size());
    const size_t before = fineTerms.size();
    languages[row] =
        lexicon.AddRow({body, UnitsOf(env, prefixes.Get(row), &prefix), ends[row]}, fallback, analyzer, &fineTerms);
    fineSizes.push_back(static_cast<uint32_t>(fineTerms.size() - before));
  }
  const std::vector<uint32_t> block = lexicon.Block();
  const auto bytes = Napi::Uint8Array::New(env, block.size() * sizeof(block[0]));
  std::memcpy(bytes.ArrayBuffer().Data(), block.data(), bytes.ByteLength());
  const auto result = Napi::Object::New(env);
  result.Set("block", bytes);
  result.Set("languages", languages);
  result.Set("fineTerms", PackBlocks(env, fineSizes, fineTerms));
  result.Set("tokens", Napi::Number::New(env, static_cast<double>(lexicon.occurrences())));
  result.Set("terms", Napi::Number::New(env, static_cast<double>(lexicon.entries())));
  return result;
}

Napi::Value EnglishStem(const Napi::CallbackInfo& info) {
  std::string word = info[0].ToString().Utf8Value();
  text::ToEnglishStem(&word);
  return Napi::String::New(info.Env(), word);
}

}  // namespace

void AddLexiconFunctions(Napi::Env env, Napi::Object exports) {
  exports.Set("englishStem", Napi::Function::New<CatchOutOfMemory<EnglishStem>>(env, "englishStem"));
  exports.Set("lexiconOpen", Napi::Function::New<CatchOutOfMemory<LexiconOpen>>(env, "lexiconOpen"));
  exports.Set("lexiconFineTerms", Napi::Function::New<CatchOutOfMemory<LexiconFineTerms>>(env, "lexiconFineTerms"));
  exports.Set("lexiconAnalyze", Napi::Function::New<CatchOutOfMemory<LexiconAnalyze>>(env, "lexiconAnalyze"));
}

}  // namespace quarry
