// The native functions declared in src/index/addon.ts and native-text.ts. One instance per JavaScript thread; all share
// the same collections.
#include <dlfcn.h>
#include <napi.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridge/catch_out_of_memory.h"
#include "bridge/collection_handle.h"
#include "bridge/document_lists.h"
#include "bridge/environment.h"
#include "bridge/fine_chunks.h"
#include "bridge/lexicon.h"
#include "bridge/replies.h"
#include "bridge/rerank.h"
#include "bridge/sockets.h"
#include "bridge/text.h"
#include "bridge/values.h"
#include "engine/kernels.h"
#include "engine/packed_terms.h"
#include "engine/process_memory.h"
#include "engine/registry.h"
#include "engine/spelling.h"

namespace quarry {
namespace {

std::shared_ptr<Collection> CollectionOf(const Napi::CallbackInfo& info) { return ToCollection(info[0]); }

void ThrowUnlessOk(Napi::Env env, const Status& status) {
  if (!status.ok()) throw ToError(env, status);
}

Napi::Value Open(const Napi::CallbackInfo& info) {
  using OpenResult = std::shared_ptr<std::unique_ptr<CollectionHandle>>;
  const CollectionOptions options = ToOptions(info[0].As<Napi::Object>());
  return RunAsync<OpenResult>(
      info.Env(),
      [&](const Finish<OpenResult>& finish) {
        return Registry::Instance().Open(options, [finish](Status status, std::unique_ptr<CollectionHandle> handle) {
          finish(std::move(status), std::make_shared<std::unique_ptr<CollectionHandle>>(std::move(handle)));
        });
      },
      [](Napi::Env env, OpenResult& opened) {
        Napi::Object result = Napi::Object::New(env);
        result.Set("opened", FromOpenResults(env, (*opened)->collection()->openResults()));
        const auto destroy = [](Napi::Env, std::unique_ptr<CollectionHandle>* handle) { delete handle; };
        auto owned = std::make_unique<std::unique_ptr<CollectionHandle>>(std::move(*opened));
        result.Set("handle", CollectionHandleValue::New(env, owned.get(), destroy));
        owned.release();
        return Napi::Value(result);
      });
}

Napi::Value Release(const Napi::CallbackInfo& info) {
  if (info[0].IsExternal()) info[0].As<CollectionHandleValue>().Data()->reset();
  return info.Env().Undefined();
}

struct NoResult {};
Napi::Value Undefined(Napi::Env env, NoResult&) { return env.Undefined(); }

Napi::Value Stage(const Napi::CallbackInfo& info) {
  const auto collection = CollectionOf(info);
  const uint32_t shard = ToUint32(info[1], "shard");
  const auto input = ToDocument(ToCount(info[2], "version"), info[3], info[4], info[5]);
  return RunAsync<NoResult>(
      info.Env(),
      [&](const Finish<NoResult>& finish) {
        return Registry::Instance().Stage(collection, shard, input,
                                          [finish](Status status) { finish(std::move(status), {}); });
      },
      Undefined);
}

// Returns the packed form of a term block.
Napi::Value PackTermBlock(const Napi::CallbackInfo& info) {
  const auto bytes = info[0].As<Napi::Uint8Array>();
  const size_t length = bytes.ByteLength();
  std::vector<uint64_t> words((length + 7) / 8);
  if (length > 0) std::memcpy(words.data(), bytes.Data(), length);
  TermBlock block;
  ThrowUnlessOk(info.Env(), TermBlock::Parse(reinterpret_cast<const uint8_t*>(words.data()), length, &block));
  std::vector<uint8_t> packed;
  PackTerms(block, &packed);
  auto result = Napi::Uint8Array::New(info.Env(), packed.size());
  std::copy(packed.begin(), packed.end(), result.Data());
  return result;
}

Napi::Value Discard(const Napi::CallbackInfo& info) {
  const auto collection = CollectionOf(info);
  ThrowUnlessOk(info.Env(), collection->Discard(ToUint32(info[1], "shard"), ToCount(info[2], "version")));
  return info.Env().Undefined();
}

Napi::Value Commit(const Napi::CallbackInfo& info) {
  const auto collection = CollectionOf(info);
  const CollectionChange change{ToCount(info[1], "sequence"), ToUint32(info[2], "shard"),
                                ToOptionalCount(info[3], "add"), ToOptionalCount(info[4], "remove")};
  ThrowUnlessOk(info.Env(), Registry::Instance().Commit(collection, change));
  return info.Env().Undefined();
}

Napi::Value Cancel(const Napi::CallbackInfo& info) {
  EnvironmentOf(info.Env()).searches.Cancel(ToUint32(info[0], "ticket"));
  return info.Env().Undefined();
}

Napi::Value OnSearchEnd(const Napi::CallbackInfo& info) {
  EnvironmentOf(info.Env()).searches.SetEndCallback(info[0].As<Napi::Function>());
  return info.Env().Undefined();
}

// Takes the read snapshot synchronously: a query sees every commit before the call and none after it.
Napi::Value Search(const Napi::CallbackInfo& info) {
  const auto collection = CollectionOf(info);
  const std::shared_ptr<CollectionSearch> search = CollectionSearch::New();
  const uint32_t ticket =
      ToSearchRequest(info[1], info[2], info[3], collection->options().dimensions, &search->request());
  search->Begin(collection->GetReadSnapshot());
  std::optional<SearchDispatcher::Target> target;
  if (!info[4].IsUndefined()) {
    target = {ToReplyTarget(info[4], info[5], info[6], search->request()), info[5].As<Napi::ArrayBuffer>()};
  }
  return EnvironmentOf(info.Env()).searches.Run(info.Env(), ticket, search, target);
}

Napi::Value HasWords(const Napi::CallbackInfo& info) {
  const auto collection = CollectionOf(info);
  std::vector<QueryTerm> terms;
  ToTerms(info[1], &terms);
  return Napi::Boolean::New(info.Env(), HasAllWords(collection->GetReadSnapshot(), terms));
}

// Returns one count per hash, in the same order. Hashes are unsigned 64-bit integers.
Napi::Value CountRows(const Napi::CallbackInfo& info) {
  const auto collection = CollectionOf(info);
  if (!info[1].IsTypedArray()) throw Napi::TypeError::New(info.Env(), "hashes must be a BigUint64Array");
  const auto hashes = info[1].As<Napi::BigUint64Array>();
  return FromVersions(info.Env(),
                      CountRowsOfTerms(collection->GetReadSnapshot(), hashes.Data(), hashes.ElementLength()));
}

Napi::Value ListCorrections(const Napi::CallbackInfo& info) {
  using Corrections = std::shared_ptr<std::vector<Correction>>;
  const auto collection = CollectionOf(info);
  const auto words = std::make_shared<std::vector<UnknownWord>>(ToUnknownWords(info[1]));
  const CancellationToken cancellation = MakeCancellationToken(ToUint32(info[2], "deadlineMs"));
  const auto corrections = std::make_shared<std::vector<Correction>>();
  return RunAsync<Corrections>(
      info.Env(),
      [&](const Finish<Corrections>& finish) {
        return Registry::Instance().RunQuery(
            [collection, words, cancellation, corrections, readSnapshot = collection->GetReadSnapshot()] {
              return FindCorrections(readSnapshot, *words, cancellation, corrections.get());
            },
            [finish, corrections](Status status) { finish(std::move(status), corrections); });
      },
      [](Napi::Env env, Corrections& found) { return FromCorrections(env, *found); });
}

Napi::Value Snapshot(const Napi::CallbackInfo& info) {
  using Written = std::shared_ptr<Collection::Snapshot>;
  const auto collection = CollectionOf(info);
  const auto snapshot = std::make_shared<Collection::Snapshot>();
  return RunAsync<Written>(
      info.Env(),
      [&](const Finish<Written>& finish) {
        // Fix the content of the snapshot on the calling thread: later changes by the caller are not part of
        // the files.
        return Registry::Instance().RunFileJob(
            [collection, snapshot, pending = collection->BeginSnapshot()] {
              return collection->WriteSnapshots(pending, snapshot.get());
            },
            [finish, snapshot](Status status) { finish(std::move(status), snapshot); });
      },
      [](Napi::Env env, Written& written) { return FromSnapshot(env, *written); });
}

Napi::Value Statistics(const Napi::CallbackInfo& info) {
  return FromStatistics(info.Env(), CollectionOf(info)->Statistics());
}

Napi::Value Drop(const Napi::CallbackInfo& info) {
  const auto collection = CollectionOf(info);
  return RunAsync<NoResult>(
      info.Env(),
      [&](const Finish<NoResult>& finish) {
        return Registry::Instance().RunFileJob([collection] { return collection->Drop(); },
                                               [finish](Status status) { finish(std::move(status), {}); });
      },
      Undefined);
}

Napi::Value QueuedCalls(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(Registry::Instance().QueuedCalls()));
}

Napi::Value DeferredCompactions(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(Registry::Instance().DeferredCompactions()));
}

Napi::Value ReleaseMemory(const Napi::CallbackInfo& info) {
  const auto release = [] {
    ReleaseFreeMemory();
    return Status();
  };
  return RunAsync<NoResult>(
      info.Env(),
      [&](const Finish<NoResult>& finish) {
        return Registry::Instance().RunFileJob(release, [finish](Status status) { finish(std::move(status), {}); });
      },
      Undefined);
}

Napi::Value UseMemoryBytesMax(const Napi::CallbackInfo& info) {
  SetMemoryLimit(ToCount(info[0], "bytes"));
  return info.Env().Undefined();
}

Napi::Value UseSearchThreads(const Napi::CallbackInfo& info) {
  Registry::UseSearchThreads(info[0].As<Napi::Number>().Uint32Value());
  return info.Env().Undefined();
}

Napi::Value ChooseKernels(const Napi::CallbackInfo& info) {
  const std::string name = info[0].As<Napi::String>().Utf8Value();
  return Napi::Boolean::New(info.Env(), SelectKernels(name.c_str()));
}

Napi::Value ListKernels(const Napi::CallbackInfo& info) {
  Napi::Array names = Napi::Array::New(info.Env());
  for (const Kernels* set : SupportedKernels().sets) {
    if (set != nullptr) names.Set(names.Length(), set->name);
  }
  return names;
}

Napi::Value UseSearchRecall(const Napi::CallbackInfo& info) {
  Registry::UseSearchRecall(info[0].As<Napi::Number>().DoubleValue());
  return info.Env().Undefined();
}

// Indexed by the strategy numbers in replies.
Napi::Array StrategyNames(Napi::Env env) {
  const Napi::Array names = Napi::Array::New(env);
  for (const Strategy strategy :
       {Strategy::kNone, Strategy::kScan, Strategy::kGraph, Strategy::kFilteredScan, Strategy::kFilteredGraph}) {
    names.Set(static_cast<uint32_t>(strategy), StrategyName(strategy));
  }
  return names;
}

// The engine's threads run until the process ends, but Node unloads an addon when the last environment that
// uses it ends. Opening the library again with RTLD_NODELETE keeps the code of those threads mapped.
void PinLibrary() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(&PinLibrary), &library) != 0) {
    dlopen(library.dli_fname, RTLD_NOW | RTLD_NODELETE);
  }
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  PinLibrary();
  env.SetInstanceData(new Environment(CompletionQueue::Create(env)));
  const auto add = [&](const char* name, Napi::Function function) { exports.Set(name, function); };
  add("collectionOpen", Napi::Function::New<CatchOutOfMemory<Open>>(env, "collectionOpen"));
  add("collectionRelease", Napi::Function::New<CatchOutOfMemory<Release>>(env, "collectionRelease"));
  add("collectionStage", Napi::Function::New<CatchOutOfMemory<Stage>>(env, "collectionStage"));
  add("termBlockPack", Napi::Function::New<CatchOutOfMemory<PackTermBlock>>(env, "termBlockPack"));
  add("collectionDiscard", Napi::Function::New<CatchOutOfMemory<Discard>>(env, "collectionDiscard"));
  add("collectionCommit", Napi::Function::New<CatchOutOfMemory<Commit>>(env, "collectionCommit"));
  add("collectionSearch", Napi::Function::New<CatchOutOfMemory<Search>>(env, "collectionSearch"));
  add("collectionHasWords", Napi::Function::New<CatchOutOfMemory<HasWords>>(env, "collectionHasWords"));
  add("collectionTermRows", Napi::Function::New<CatchOutOfMemory<CountRows>>(env, "collectionTermRows"));
  add("collectionCorrections", Napi::Function::New<CatchOutOfMemory<ListCorrections>>(env, "collectionCorrections"));
  add("collectionSnapshot", Napi::Function::New<CatchOutOfMemory<Snapshot>>(env, "collectionSnapshot"));
  add("collectionStatistics", Napi::Function::New<CatchOutOfMemory<Statistics>>(env, "collectionStatistics"));
  add("collectionDrop", Napi::Function::New<CatchOutOfMemory<Drop>>(env, "collectionDrop"));
  add("useKernels", Napi::Function::New<CatchOutOfMemory<ChooseKernels>>(env, "useKernels"));
  add("supportedKernels", Napi::Function::New<CatchOutOfMemory<ListKernels>>(env, "supportedKernels"));
  add("useSearchThreads", Napi::Function::New<CatchOutOfMemory<UseSearchThreads>>(env, "useSearchThreads"));
  add("useMemoryBytesMax", Napi::Function::New<CatchOutOfMemory<UseMemoryBytesMax>>(env, "useMemoryBytesMax"));
  add("releaseFreeMemory", Napi::Function::New<CatchOutOfMemory<ReleaseMemory>>(env, "releaseFreeMemory"));
  add("deferredCompactions", Napi::Function::New<CatchOutOfMemory<DeferredCompactions>>(env, "deferredCompactions"));
  add("queuedCalls", Napi::Function::New<CatchOutOfMemory<QueuedCalls>>(env, "queuedCalls"));
  add("useSearchRecall", Napi::Function::New<CatchOutOfMemory<UseSearchRecall>>(env, "useSearchRecall"));
  add("onSearchEnd", Napi::Function::New<CatchOutOfMemory<OnSearchEnd>>(env, "onSearchEnd"));
  add("searchCancel", Napi::Function::New<CatchOutOfMemory<Cancel>>(env, "searchCancel"));
  exports.Set("strategies", StrategyNames(env));
  AddDocumentListFunctions(env, exports);
  AddReplyFunctions(env, exports);
  AddSocketFunctions(env, exports);
  AddTextFunctions(env, exports);
  AddFineChunkFunctions(env, exports);
  AddLexiconFunctions(env, exports);
  AddRerankFunctions(env, exports);
  return exports;
}

}  // namespace
}  // namespace quarry

using quarry::Init;
NODE_API_MODULE(quarry, Init)
