#include "bridge/completion_queue.h"

#include <utility>

namespace quarry {

std::shared_ptr<CompletionQueue> CompletionQueue::Create(Napi::Env env) {
  const std::shared_ptr<CompletionQueue> completions(new CompletionQueue());
  // The environment holds one reference, released by OnEnvironmentEnd.
  auto* const held = new std::shared_ptr<CompletionQueue>(completions);
  const napi_status created = napi_create_threadsafe_function(env, nullptr, nullptr, Napi::String::New(env, "quarry"),
                                                              0, 1, nullptr, nullptr, held, Drain, &completions->wake_);
  if (created != napi_ok) {
    delete held;
    throw Napi::Error::New(env, "cannot create the completion queue");
  }
  // While idle, the function must not keep the process alive.
  napi_unref_threadsafe_function(env, completions->wake_);
  // Added after the function above, so it runs before the function is destroyed.
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, held);
  return completions;
}

void CompletionQueue::OnEnvironmentEnd(void* held) {
  auto* const self = static_cast<std::shared_ptr<CompletionQueue>*>(held);
  std::vector<Completion> dropped;
  {
    const MutexLock lock((*self)->mutex_);
    (*self)->alive_ = false;
    dropped.swap((*self)->posted_);
  }
  // Outside the lock: destructors of the completions may call Post.
  dropped.clear();
  delete self;
}

void CompletionQueue::Begin(Napi::Env env) {
  // Pending operations keep the process alive; otherwise Node would exit with unsettled promises.
  if (operations_++ == 0) napi_ref_threadsafe_function(env, wake_);
}

void CompletionQueue::Post(Completion completion) {
  Completion dropped;
  const MutexLock lock(mutex_);
  if (!alive_) {
    dropped = std::move(completion);
    return;
  }
  posted_.push_back(std::move(completion));
  // One wake-up for all completions posted until it is handled. Under the lock, the function is guaranteed to exist.
  if (posted_.size() == 1) napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
}

void CompletionQueue::Drain(napi_env env, napi_value, void* context, void*) {
  if (env == nullptr) return;  // the environment is ending
  const std::shared_ptr<CompletionQueue> self = *static_cast<std::shared_ptr<CompletionQueue>*>(context);
  std::vector<Completion> ready;
  {
    const MutexLock lock(self->mutex_);
    ready.swap(self->posted_);
  }
  for (Completion& completion : ready) {
    const Napi::HandleScope scope(env);
    try {
      completion(Napi::Env(env));
    } catch (const Napi::Error&) {
      // The environment is being terminated; no JavaScript code awaits the promise.
    }
    completion = nullptr;
  }
  self->operations_ -= ready.size();
  if (self->operations_ == 0) napi_unref_threadsafe_function(env, self->wake_);
}

}  // namespace quarry
