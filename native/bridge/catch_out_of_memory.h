#pragma once

#include <napi.h>

#include <new>

#include "bridge/values.h"

namespace quarry {

// Converts std::bad_alloc to a Napi error: only Napi errors may leave a callback, node-addon-api turns them
// into JavaScript exceptions.
template <Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value CatchOutOfMemory(const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const std::bad_alloc&) {
    throw ToError(info.Env(), {StatusCode::kMemory, "out of memory"});
  }
}

}  // namespace quarry
