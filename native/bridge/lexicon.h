// The functions of native/text's lexicon that are declared in src/index/native-text.ts.
#pragma once

#include <napi.h>

namespace quarry {

void AddLexiconFunctions(Napi::Env env, Napi::Object exports);

}  // namespace quarry
