// Handles of the collections that JavaScript holds.
#pragma once

#include <napi.h>

#include <memory>

#include "bridge/values.h"
#include "engine/registry.h"

namespace quarry {

// The handle is null after `collectionRelease`.
using CollectionHandleValue = Napi::External<std::unique_ptr<CollectionHandle>>;

// Returns the collection of a handle. Errors: `closed` after it was released, TypeError for any other value.
inline std::shared_ptr<Collection> ToCollection(const Napi::Value& value) {
  if (!value.IsExternal()) throw Napi::TypeError::New(value.Env(), "an argument must be a collection");
  const auto& handle = *value.As<CollectionHandleValue>().Data();
  if (handle == nullptr) throw ToError(value.Env(), {StatusCode::kClosed, "the collection is closed"});
  return handle->collection();
}

}  // namespace quarry
