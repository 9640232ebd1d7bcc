#include "bridge/search_dispatcher.h"

#include <uv.h>

#include <algorithm>
#include <new>
#include <utility>

#include "bridge/values.h"
#include "engine/registry.h"

namespace quarry {
namespace {
constexpr size_t kPageBytes = size_t{16} << 10;

// Returns a number that is constant during one iteration of the environment's event loop: the loop's cached time.
// Iterations within the same millisecond count as one.
uint64_t LoopIterationOf(Napi::Env env) {
  uv_loop_t* loop = nullptr;
  return napi_get_uv_event_loop(env, &loop) == napi_ok ? uv_now(loop) : 0;
}
}  // namespace

Napi::Value ReplyPages::Write(Napi::Env env, const SearchHits& hits) {
  const size_t bytes = HitsBytes(hits);
  const bool fits = bytes <= size_ - used_;
  if (!fits) {
    const Napi::ArrayBuffer page = Napi::ArrayBuffer::New(env, std::max(kPageBytes, bytes));
    page_ = Napi::Persistent(page);
    start_ = static_cast<uint8_t*>(page_.Value().Data());
    size_ = page_.Value().ByteLength();
    used_ = 0;
  }
  const size_t at = used_;
  PutHits(hits, start_ + at);
  used_ += bytes;
  return fits ? Napi::Value(Napi::Number::New(env, static_cast<double>(at))) : Napi::Value(page_.Value());
}

SearchDispatcher::~SearchDispatcher() {
  for (const auto& [ticket, running] : running_) running.canceled->store(true, std::memory_order_relaxed);
}

Napi::Value SearchDispatcher::ToOutcome(Napi::Env env, const std::optional<ReplyTarget>& target,
                                        const SearchHits& hits) {
  if (target.has_value() && WriteReply(replies_, *target, hits)) return Napi::Boolean::New(env, true);
  return pages_.Write(env, hits);
}

Napi::Value SearchDispatcher::Run(Napi::Env env, uint32_t ticket, const std::shared_ptr<CollectionSearch>& search,
                                  const std::optional<Target>& target) {
  const std::optional<ReplyTarget> replyTarget = target.has_value() ? std::optional(target->reply) : std::nullopt;
  if (Registry::Instance().TrySearchInline(search.get(), LoopIterationOf(env))) {
    if (!search->status().ok()) throw ToError(env, search->status());
    return ToOutcome(env, replyTarget, search->hits());
  }
  const auto canceled = std::make_shared<std::atomic<bool>>(false);
  search->request().cancellation.canceled = canceled;
  RunningSearch& running = running_[ticket];
  running.canceled = canceled;
  running.target = replyTarget;
  if (target.has_value()) running.buffer = Napi::Persistent(target->buffer);
  Status rejected;
  try {
    rejected = Registry::Instance().Search(search, [completions = completions_, this, ticket, search](Status status) {
      completions->Post([this, ticket, search, status = std::move(status)](Napi::Env jsEnv) {
        Finish(jsEnv, ticket, status, search->hits());
      });
    });
  } catch (const std::bad_alloc&) {
    rejected = {StatusCode::kMemory, "out of memory"};
  }
  if (!rejected.ok()) {
    running_.erase(ticket);
    throw ToError(env, rejected);
  }
  completions_->Begin(env);
  return env.Undefined();
}

void SearchDispatcher::Finish(Napi::Env env, uint32_t ticket, const Status& status, const SearchHits& hits) {
  // Keeps the buffer until the reply is written.
  const auto running = running_.extract(ticket);
  const auto outcome = [&]() -> Napi::Value {
    try {
      return status.ok() ? ToOutcome(env, running.mapped().target, hits) : ToError(env, status).Value();
    } catch (const Napi::Error& error) {
      return error.Value();  // for example, out of memory for the reply
    }
  };
  endCallback_.Call({Napi::Number::New(env, ticket), outcome()});
}

void SearchDispatcher::Cancel(uint32_t ticket) {
  const auto found = running_.find(ticket);
  if (found != running_.end()) found->second.canceled->store(true, std::memory_order_relaxed);
}

}  // namespace quarry
