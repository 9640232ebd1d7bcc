// Queue that delivers results from the engine's threads to one JavaScript thread.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <vector>

#include "engine/mutex.h"

namespace quarry {

// Belongs to one environment (the main thread or one worker). Operations may end on engine threads at any
// time, even after the environment is gone: the completion is then dropped with everything it owns.
class CompletionQueue : public std::enable_shared_from_this<CompletionQueue> {
 public:
  // Runs on the JavaScript thread, inside a handle scope. Throws only if that thread can no longer create values.
  using Completion = std::function<void(Napi::Env)>;

  static std::shared_ptr<CompletionQueue> Create(Napi::Env env);
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  // Registers an operation: the environment stays alive until its completion has run. JavaScript thread only.
  void Begin(Napi::Env env);
  // Thread-safe. Call it exactly once per Begin. Completions posted together run together.
  void Post(Completion completion);

 private:
  CompletionQueue() = default;
  static void Drain(napi_env env, napi_value callback, void* context, void* data);
  static void OnEnvironmentEnd(void* self);

  napi_threadsafe_function wake_ = nullptr;
  size_t operations_ = 0;  // JavaScript thread only
  Mutex mutex_;
  bool alive_ GUARDED_BY(mutex_) = true;
  std::vector<Completion> posted_ GUARDED_BY(mutex_);
};

}  // namespace quarry
