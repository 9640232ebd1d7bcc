#include "bridge/rerank.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/catch_out_of_memory.h"
#include "bridge/environment.h"
#include "bridge/strings.h"
#include "bridge/text_handles.h"
#include "bridge/values.h"
#include "engine/thread_pool.h"
#include "text/feature_reranker.h"

namespace quarry {
namespace {

using text::FeatureReranker;
using text::RerankQuery;

constexpr size_t kQueuedCallsMax = 4096;
// Units of the texts of one slice of work, about half a millisecond: other calls wait no longer for a thread.
constexpr size_t kSliceUnits = 64'000;

std::atomic<size_t> rerankThreads{1};

// Never destroyed, like every thread pool.
ThreadPool& RerankPool() {
  static ThreadPool* const pool = new ThreadPool(std::max<size_t>(1, rerankThreads), kQueuedCallsMax, 0);
  return *pool;
}

Napi::Value UseRerankThreads(const Napi::CallbackInfo& info) {
  rerankThreads = ToUint32(info[0], "count");
  return info.Env().Undefined();
}

template <class Element>
std::vector<Element> ToVector(const Napi::Object& options, const char* name) {
  const Napi::Value value = options.Get(name);
  if (!value.IsTypedArray()) throw Napi::TypeError::New(options.Env(), std::string(name) + " must be a typed array");
  const auto array = value.As<Napi::TypedArrayOf<Element>>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::unique_ptr<text::RerankNetwork> ToNetwork(const Napi::Object& options) {
  text::RerankNetwork::Parameters parameters;
  parameters.mean = ToVector<float>(options, "mean");
  parameters.deviation = ToVector<float>(options, "deviation");
  parameters.lowest = options.Get("lowest").ToNumber().FloatValue();
  parameters.highest = options.Get("highest").ToNumber().FloatValue();
  parameters.inner = ToVector<float>(options, "inner");
  parameters.innerBias = ToVector<float>(options, "innerBias");
  parameters.out = ToVector<float>(options, "out");
  parameters.outBias = options.Get("outBias").ToNumber().FloatValue();
  return text::RerankNetwork::Create(std::move(parameters));
}

// Returns the elements of an array of strings, or the lines of one string, in UTF-8.
std::vector<std::string> ToLines(const Napi::Value& value) {
  const std::string lines = value.ToString().Utf8Value();
  std::vector<std::string> result;
  for (size_t start = 0; start <= lines.size();) {
    const size_t end = std::min(lines.find('\n', start), lines.size());
    result.push_back(lines.substr(start, end - start));
    start = end + 1;
  }
  return result;
}

Napi::Value RerankerOpen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto& tokenizer = FromHandle<SharedTokenizer>(info[0], "a tokenizer");
  if (tokenizer->plain == nullptr) throw Napi::TypeError::New(env, "the tokenizer must be a plain tokenizer");
  const auto options = info[2].As<Napi::Object>();
  FeatureReranker::Parameters parameters;
  parameters.tokenizer = {tokenizer, tokenizer->plain};
  parameters.embedding = FromHandle<text::StaticEmbedding>(info[1], "an embedding");
  parameters.vocabulary = ToLines(Napi::String::New(env, tokenizer->source));
  parameters.idf = text::IdfTable::Create(ToVector<uint8_t>(options, "idf"));
  parameters.network = ToNetwork(options.Get("network").As<Napi::Object>());
  for (std::string& word : ToLines(options.Get("functionWords"))) parameters.functionWords.insert(std::move(word));
  std::shared_ptr<const FeatureReranker> reranker = FeatureReranker::Create(std::move(parameters));
  if (reranker == nullptr) throw Napi::Error::New(env, "the parts of a reranker must fit together");
  return ToHandle(env, std::move(reranker));
}

// The texts of a call, one after the other.
struct Texts {
  std::u16string query;
  std::u16string units;
  std::vector<size_t> ends;

  std::u16string_view At(size_t index) const {
    const size_t start = index == 0 ? 0 : ends[index - 1];
    return std::u16string_view(units).substr(start, ends[index] - start);
  }
};

Texts ToTexts(Napi::Env env, const Napi::Value& query, const Napi::Value& documents) {
  Texts texts;
  std::u16string units;
  texts.query = UnitsOf(env, query, &units);
  const auto array = documents.As<Napi::Array>();
  const uint32_t count = array.Length();
  for (uint32_t i = 0; i < count; ++i) {
    const Napi::HandleScope scope(env);
    texts.units += UnitsOf(env, array.Get(i), &units);
    texts.ends.push_back(texts.units.size());
  }
  return texts;
}

// Working memory of one thread.
FeatureReranker::Scratch& ThreadScratch() {
  thread_local FeatureReranker::Scratch scratch;
  return scratch;
}

struct RerankResult {
  std::vector<float> scores;
  size_t queryTokens = 0;
  size_t documentTokens = 0;
  std::chrono::duration<double, std::milli> time{};  // of the thread that scores
};

// Scores the texts of one call, slice by slice, on one thread at a time.
class RerankRun {
 public:
  using Result = std::shared_ptr<RerankResult>;

  RerankRun(std::shared_ptr<const FeatureReranker> reranker, Texts texts)
      : reranker_(std::move(reranker)), texts_(std::move(texts)) {}

  // Returns true if all texts are scored.
  bool RunSlice() {
    const auto start = std::chrono::steady_clock::now();
    FeatureReranker::Scratch& scratch = ThreadScratch();
    std::vector<float>& scores = result_->scores;
    if (query_ == nullptr) {
      query_ = reranker_->Prepare(texts_.query, &scratch);
      result_->queryTokens = query_->tokens();
      scores.reserve(texts_.ends.size());
    }
    for (size_t units = 0; scores.size() < texts_.ends.size() && units < kSliceUnits;) {
      const std::u16string_view document = texts_.At(scores.size());
      units += document.size();
      reranker_->tokenizer().Analyze(document, &scratch.embedding.tokenizer, &scratch.analysis);
      result_->documentTokens += scratch.analysis.ids.size();
      scores.push_back(reranker_->Score(query_.get(), scratch.analysis, &scratch));
    }
    result_->time += std::chrono::steady_clock::now() - start;
    return scores.size() == texts_.ends.size();
  }

  const Result& result() const { return result_; }

 private:
  const std::shared_ptr<const FeatureReranker> reranker_;
  const Texts texts_;
  const Result result_ = std::make_shared<RerankResult>();
  std::unique_ptr<RerankQuery> query_;
};

Napi::Value FromResult(Napi::Env env, RerankRun::Result& outcome) {
  auto scores = Napi::Float32Array::New(env, outcome->scores.size());
  std::copy(outcome->scores.begin(), outcome->scores.end(), scores.Data());
  auto result = Napi::Object::New(env);
  result.Set("scores", scores);
  result.Set("queryTokens", static_cast<double>(outcome->queryTokens));
  result.Set("documentTokens", static_cast<double>(outcome->documentTokens));
  result.Set("ms", outcome->time.count());
  return result;
}

// Errors: kBusy if too many calls wait.
Napi::Value RerankerScore(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto& reranker = FromHandle<FeatureReranker>(info[0], "a reranker");
  const auto run = std::make_shared<RerankRun>(reranker, ToTexts(env, info[1], info[2]));
  const auto priority = info[3].ToBoolean().Value() ? ThreadPool::Priority::kUrgent : ThreadPool::Priority::kBackground;
  return RunAsync<RerankRun::Result>(
      env,
      [&](const Finish<RerankRun::Result>& finish) {
        const bool accepted = RerankPool().Submit(priority, [run, finish] {
          try {
            if (!run->RunSlice()) return false;
            finish({}, run->result());
          } catch (const std::bad_alloc&) {
            finish({StatusCode::kMemory, "out of memory"}, nullptr);
          }
          return true;
        });
        return accepted ? Status() : Status(StatusCode::kBusy, "too many rerank calls wait");
      },
      FromResult);
}

// Returns the network's inputs, for training and tests.
Napi::Value RerankerFeatures(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto& reranker = FromHandle<FeatureReranker>(info[0], "a reranker");
  const Texts texts = ToTexts(env, info[1], info[2]);
  FeatureReranker::Scratch& scratch = ThreadScratch();
  const auto query = reranker->Prepare(texts.query, &scratch);
  auto features = Napi::Float32Array::New(env, texts.ends.size() * text::kRerankFeatures);
  for (size_t i = 0; i < texts.ends.size(); ++i) {
    reranker->tokenizer().Analyze(texts.At(i), &scratch.embedding.tokenizer, &scratch.analysis);
    reranker->ComputeFeatures(query.get(), scratch.analysis, &scratch, features.Data() + i * text::kRerankFeatures);
  }
  return features;
}

}  // namespace

void AddRerankFunctions(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Function function) { exports.Set(name, function); };
  add("useRerankThreads", Napi::Function::New<CatchOutOfMemory<UseRerankThreads>>(env, "useRerankThreads"));
  add("rerankerOpen", Napi::Function::New<CatchOutOfMemory<RerankerOpen>>(env, "rerankerOpen"));
  add("rerankerScore", Napi::Function::New<CatchOutOfMemory<RerankerScore>>(env, "rerankerScore"));
  add("rerankerFeatures", Napi::Function::New<CatchOutOfMemory<RerankerFeatures>>(env, "rerankerFeatures"));
}

}  // namespace quarry
