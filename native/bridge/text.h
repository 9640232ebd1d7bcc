// The functions of native/text that are declared in src/index/native-text.ts.
#pragma once

#include <napi.h>

namespace quarry {

void AddTextFunctions(Napi::Env env, Napi::Object exports);

}  // namespace quarry
