// The function of native/text for fine chunks that is declared in src/index/native-text.ts.
#pragma once

#include <napi.h>

namespace quarry {

void AddFineChunkFunctions(Napi::Env env, Napi::Object exports);

}  // namespace quarry
