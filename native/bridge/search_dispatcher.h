// Searches of one JavaScript thread: the way in and the way back.
#pragma once

#include <napi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "bridge/completion_queue.h"
#include "engine/search.h"

namespace quarry {

// Replies lie one behind the other in pages of JavaScript memory, which cost far more to make than to fill. A page lives
// for as long as somebody looks at one of its replies.
class ReplyPages {
 public:
  // The page, when the reply begins a new one; otherwise its place in the page that came last.
  Napi::Value Write(Napi::Env env, const SearchHits& hits);

 private:
  Napi::Reference<Napi::ArrayBuffer> page_;
  uint8_t* start_ = nullptr;
  size_t size_ = 0;
  size_t used_ = 0;
};

// Used on the JavaScript thread alone.
class Searches {
 public:
  explicit Searches(std::shared_ptr<Completions> completions) : completions_(std::move(completions)) {}
  // Nobody waits any more for what still runs.
  ~Searches();
  Searches(const Searches&) = delete;
  Searches& operator=(const Searches&) = delete;

  // Who is told, by ticket, what became of the searches that threads of the engine ran: a reply or an error.
  void Tell(const Napi::Function& ended) { ended_ = Napi::Persistent(ended); }
  // Answers with the reply of a search that has begun, or with nothing: then it will be told.
  Napi::Value Run(Napi::Env env, uint32_t ticket, const std::shared_ptr<CollectionSearch>& search);
  // Ends a search soon; one that has ended is fine.
  void Cancel(uint32_t ticket);

 private:
  void End(Napi::Env env, uint32_t ticket, const Status& status, const SearchHits& hits);

  const std::shared_ptr<Completions> completions_;
  Napi::FunctionReference ended_;
  ReplyPages pages_;
  std::unordered_map<uint32_t, std::shared_ptr<std::atomic<bool>>> running_;  // by ticket; to be set to cancel
};

}  // namespace quarry
