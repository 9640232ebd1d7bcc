// The functions for sockets that are declared in src/index/addon.ts.
#pragma once

#include <napi.h>

namespace quarry {

void AddSocketFunctions(Napi::Env env, Napi::Object exports);

}  // namespace quarry
