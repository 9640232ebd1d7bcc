// State of one JavaScript thread, and asynchronous operations of it.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "bridge/completion_queue.h"
#include "bridge/search_dispatcher.h"
#include "bridge/values.h"
#include "engine/reply_cache.h"
#include "engine/status.h"

namespace quarry {

struct Environment {
  explicit Environment(const std::shared_ptr<CompletionQueue>& queue) : completions(queue), searches(queue, &replies) {}

  const std::shared_ptr<CompletionQueue> completions;
  ReplyCache replies;
  SearchDispatcher searches;
};

inline Environment& EnvironmentOf(Napi::Env env) { return *env.GetInstanceData<Environment>(); }

// Starts an asynchronous operation of the engine and returns its promise. `start` receives the callback to
// call when the operation is done; `value` then creates the result on the JavaScript thread.
template <class Result>
using Finish = std::function<void(Status, Result)>;

template <class Result, class Start, class Value>
Napi::Value RunAsync(Napi::Env env, Start start, Value value) {
  const auto deferred = Napi::Promise::Deferred::New(env);
  const std::shared_ptr<CompletionQueue> completions = EnvironmentOf(env).completions;
  completions->Begin(env);
  const auto settle = [deferred, value](Napi::Env jsEnv, const Status& status, Result& result) {
    try {
      if (status.ok()) {
        deferred.Resolve(value(jsEnv, result));
      } else {
        deferred.Reject(ToError(jsEnv, status).Value());
      }
    } catch (const Napi::Error& error) {
      deferred.Reject(error.Value());  // for example, out of memory for the result
    }
  };
  const Finish<Result> finish = [completions, settle](Status status, Result result) {
    const auto outcome = std::make_shared<std::pair<Status, Result>>(std::move(status), std::move(result));
    completions->Post([settle, outcome](Napi::Env jsEnv) { settle(jsEnv, outcome->first, outcome->second); });
  };
  Status rejected;
  try {
    rejected = start(finish);
  } catch (const std::bad_alloc&) {
    rejected = {StatusCode::kMemory, "out of memory"};
  }
  if (!rejected.ok()) finish(std::move(rejected), Result());
  return deferred.Promise();
}

}  // namespace quarry
