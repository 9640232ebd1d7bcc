// The functions of native/text's reranker that are declared in src/index/native-text.ts.
#pragma once

#include <napi.h>

namespace quarry {

void AddRerankFunctions(Napi::Env env, Napi::Object exports);

}  // namespace quarry
