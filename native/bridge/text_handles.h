// Handles of the objects of native/text that JavaScript holds.
#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <utility>

#include "text/static_embedding.h"
#include "text/word_piece.h"

namespace quarry {

// A tokenizer and the source from which it was created.
struct SharedTokenizer {
  std::u16string source;
  std::unique_ptr<const text::Tokenizer> tokenizer;
  const text::PlainTokenizer* plain = nullptr;  // null for other kinds
};

using TokenizerHandle = Napi::External<std::shared_ptr<const SharedTokenizer>>;
using EmbeddingHandle = Napi::External<std::shared_ptr<const text::StaticEmbedding>>;

template <class Resource>
Napi::Value ToHandle(Napi::Env env, std::shared_ptr<const Resource> resource) {
  using Pointer = std::shared_ptr<const Resource>;
  auto owned = std::make_unique<Pointer>(std::move(resource));
  const auto handle = Napi::External<Pointer>::New(env, owned.get(), [](Napi::Env, Pointer* held) { delete held; });
  owned.release();
  return handle;
}

// Returns the object of a handle. Errors: TypeError with `expected` for any other value.
template <class Resource>
const std::shared_ptr<const Resource>& FromHandle(const Napi::Value& value, const char* expected) {
  if (!value.IsExternal()) throw Napi::TypeError::New(value.Env(), std::string("an argument must be ") + expected);
  return *value.As<Napi::External<std::shared_ptr<const Resource>>>().Data();
}

}  // namespace quarry
