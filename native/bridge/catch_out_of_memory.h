#pragma once

#include <napi.h>

#include <new>

#include "bridge/values.h"

namespace quarry {

// Lets nothing but Napi errors out: node-addon-api turns those into JavaScript exceptions.
template <Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value Guarded(const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const std::bad_alloc&) {
    throw ToError(info.Env(), {Code::kMemory, "there is no memory for this operation"});
  }
}

}  // namespace quarry
