// Runs the searches of one JavaScript thread and delivers their replies.
#pragma once

#include <napi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "bridge/completion_queue.h"
#include "bridge/replies.h"
#include "engine/search.h"

namespace quarry {

// Replies are packed into pages of JavaScript memory, because allocating a page costs far more than filling
// it. A page lives as long as any of its replies is referenced.
class ReplyPages {
 public:
  // Returns the page if the reply starts a new one; otherwise the offset of the reply in the latest page.
  Napi::Value Write(Napi::Env env, const SearchHits& hits);

 private:
  Napi::Reference<Napi::ArrayBuffer> page_;
  uint8_t* start_ = nullptr;
  size_t size_ = 0;
  size_t used_ = 0;
};

// Used only on the JavaScript thread.
class SearchDispatcher {
 public:
  SearchDispatcher(std::shared_ptr<CompletionQueue> completions, ReplyCache* replies)
      : completions_(std::move(completions)), replies_(replies) {}
  // Cancels the searches that still run.
  ~SearchDispatcher();
  SearchDispatcher(const SearchDispatcher&) = delete;
  SearchDispatcher& operator=(const SearchDispatcher&) = delete;

  // Sets the callback that receives, by ticket, the outcome of searches that run on engine threads: a reply
  // or an error.
  void SetEndCallback(const Napi::Function& endCallback) { endCallback_ = Napi::Persistent(endCallback); }
  // Where a search writes its reply, and the buffer's owner.
  struct Target {
    ReplyTarget reply;
    Napi::ArrayBuffer buffer;
  };
  // Returns the outcome of a search that has begun, or undefined; then the callback receives the outcome: true if the
  // reply was written to the target, otherwise the hits.
  Napi::Value Run(Napi::Env env, uint32_t ticket, const std::shared_ptr<CollectionSearch>& search,
                  const std::optional<Target>& target);
  // Cancels a search soon. A search that has ended is ignored.
  void Cancel(uint32_t ticket);

 private:
  struct RunningSearch {
    std::shared_ptr<std::atomic<bool>> canceled;
    std::optional<ReplyTarget> target;
    Napi::Reference<Napi::ArrayBuffer> buffer;  // keeps the memory of the target
  };

  Napi::Value ToOutcome(Napi::Env env, const std::optional<ReplyTarget>& target, const SearchHits& hits);
  void Finish(Napi::Env env, uint32_t ticket, const Status& status, const SearchHits& hits);

  const std::shared_ptr<CompletionQueue> completions_;
  ReplyCache* const replies_;
  Napi::FunctionReference endCallback_;
  ReplyPages pages_;
  std::unordered_map<uint32_t, RunningSearch> running_;  // by ticket
};

}  // namespace quarry
