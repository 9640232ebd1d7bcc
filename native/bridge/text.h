// The functions of native/text that src/index/addon.ts declares.
#pragma once

#include <napi.h>

namespace quarry {

void AddTextFunctions(Napi::Env env, Napi::Object exports);

}  // namespace quarry
