// Functions that list and count documents by their attributes.
#pragma once

#include <napi.h>

namespace quarry {

void AddDocumentListFunctions(Napi::Env env, Napi::Object exports);

}  // namespace quarry
