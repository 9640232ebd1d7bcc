// The functions of native/text's lexicon that src/index/addon.ts declares.
#pragma once

#include <napi.h>

namespace quarry {

void AddLexiconFunctions(Napi::Env env, Napi::Object exports);

}  // namespace quarry
