#include "bridge/values.h"

#include <cmath>
#include <cstring>

namespace quarry {
namespace {

constexpr double kCountMax = 9007199254740991;  // 2^53 - 1
constexpr uint32_t kDimensionsMax = 65536;

Napi::TypeError Wrong(Napi::Env env, const char* name, const char* wanted) {
  return Napi::TypeError::New(env, std::string(name) + " must be " + wanted);
}

template <class T>
T ToTypedArray(const Napi::Value& value, napi_typedarray_type type, const char* name, const char* wanted) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
    throw Wrong(value.Env(), name, wanted);
  }
  return value.As<T>();
}

Napi::Float32Array ToFloats(const Napi::Value& value, const char* name) {
  return ToTypedArray<Napi::Float32Array>(value, napi_float32_array, name, "a Float32Array");
}
Napi::Uint8Array ToBytes(const Napi::Value& value, const char* name) {
  return ToTypedArray<Napi::Uint8Array>(value, napi_uint8_array, name, "a Uint8Array");
}

template <class Array, class T>
Napi::Value View(Napi::Env env, Napi::ArrayBuffer buffer, size_t* offset, const std::vector<T>& values) {
  if (!values.empty()) {
    std::memcpy(static_cast<uint8_t*>(buffer.Data()) + *offset, values.data(), values.size() * sizeof(T));
  }
  const Array array = Array::New(env, values.size(), buffer, *offset);
  *offset += values.size() * sizeof(T);
  return array;
}

}  // namespace

Napi::Error ToError(Napi::Env env, const Status& status) {
  Napi::Error error = Napi::Error::New(env, status.message());
  error.Set("code", Napi::String::New(env, status.CodeName()));
  return error;
}

uint64_t ToCount(const Napi::Value& value, const char* name) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0) || number > kCountMax || number != std::floor(number)) {
    throw Wrong(value.Env(), name, "a whole number from 0 to 2^53 - 1");
  }
  return static_cast<uint64_t>(number);
}

uint32_t ToUint32(const Napi::Value& value, const char* name) {
  const uint64_t number = ToCount(value, name);
  if (number > 0xffffffff) throw Wrong(value.Env(), name, "below 2^32");
  return static_cast<uint32_t>(number);
}

std::optional<uint64_t> ToOptionalCount(const Napi::Value& value, const char* name) {
  if (value.IsUndefined()) return std::nullopt;
  return ToCount(value, name);
}

std::optional<FilterProgram> ToFilter(const Napi::Value& value) {
  if (value.IsNull()) return std::nullopt;
  const Napi::Uint8Array bytes = ToBytes(value, "filter");
  FilterProgram program;
  if (const Status status = FilterProgram::Parse(bytes.Data(), bytes.ByteLength(), &program); !status.ok()) {
    throw ToError(value.Env(), status);
  }
  return program;
}

std::shared_ptr<DocumentInput> ToDocument(uint64_t version, const Napi::Value& vectors, const Napi::Value& terms,
                                          const Napi::Value& attributes) {
  const Napi::Float32Array floats = ToFloats(vectors, "vectors");
  const Napi::Uint8Array block = ToBytes(terms, "terms");
  const Napi::Uint8Array pairs = ToBytes(attributes, "attributes");
  auto input = std::make_shared<DocumentInput>();
  input->version = version;
  input->vectors.assign(floats.Data(), floats.Data() + floats.ElementLength());
  input->terms.resize((block.ByteLength() + 7) / 8);
  input->termBytes = block.ByteLength();
  if (input->termBytes > 0) std::memcpy(input->terms.data(), block.Data(), input->termBytes);
  if (const Status status = ParseAttributes(pairs.Data(), pairs.ByteLength(), &input->attributes); !status.ok()) {
    throw ToError(vectors.Env(), status);
  }
  return input;
}

CollectionOptions ToOptions(const Napi::Object& options) {
  CollectionOptions result;
  const Napi::Value id = options.Get("collectionId");
  const Napi::Value directory = options.Get("directory");
  if (!id.IsString()) throw Wrong(options.Env(), "collectionId", "a string");
  if (!directory.IsString()) throw Wrong(options.Env(), "directory", "a string");
  result.id = id.As<Napi::String>().Utf8Value();
  result.directory = directory.As<Napi::String>().Utf8Value();
  result.dimensions = ToUint32(options.Get("dimensions"), "dimensions");
  result.shards = ToUint32(options.Get("shards"), "shards");
  if (result.dimensions == 0 || result.dimensions > kDimensionsMax) {
    throw Wrong(options.Env(), "dimensions", "from 1 to 65536");
  }
  if (result.shards == 0 || result.shards > 64) throw Wrong(options.Env(), "shards", "from 1 to 64");
  return result;
}

SearchRequest ToSearchRequest(const Napi::Object& query, uint32_t dimensions) {
  const Napi::Env env = query.Env();
  SearchRequest request;
  if (const Napi::Value vector = query.Get("vector"); !vector.IsNull()) {
    const Napi::Float32Array floats = ToFloats(vector, "vector");
    if (floats.ElementLength() != dimensions) throw Wrong(env, "vector", "of the collection's dimensions");
    request.vector.assign(floats.Data(), floats.Data() + dimensions);
    for (const float value : request.vector) {
      if (!std::isfinite(value)) throw Wrong(env, "vector", "of finite numbers");
    }
  }
  const auto hashes =
      ToTypedArray<Napi::BigUint64Array>(query.Get("hashes"), napi_biguint64_array, "hashes", "a BigUint64Array");
  const Napi::Float32Array weights = ToFloats(query.Get("weights"), "weights");
  const auto groups =
      ToTypedArray<Napi::Uint32Array>(query.Get("groups"), napi_uint32_array, "groups", "a Uint32Array");
  const size_t count = hashes.ElementLength();
  if (weights.ElementLength() != count || groups.ElementLength() != count) {
    throw Wrong(env, "weights and groups", "as many as hashes");
  }
  for (size_t i = 0; i < count; i++) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) throw Wrong(env, "weights", "finite and not negative");
    request.terms.push_back({hashes[i], weights[i], groups[i]});
  }
  request.filter = ToFilter(query.Get("filter"));
  request.vectorCandidates = ToUint32(query.Get("vectorCandidates"), "vectorCandidates");
  request.lexicalCandidates = ToUint32(query.Get("lexicalCandidates"), "lexicalCandidates");
  request.effort = ToUint32(query.Get("effort"), "effort");
  const uint32_t deadlineMs = ToUint32(query.Get("deadlineMs"), "deadlineMs");
  request.patience.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadlineMs);
  return request;
}

Napi::Value FromHits(Napi::Env env, const SearchHits& hits) {
  const size_t count = hits.version.size();
  const size_t bytes = count * (sizeof(double) + 2 * sizeof(float) + sizeof(uint32_t) + sizeof(uint16_t));
  const Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, bytes);
  Napi::Object result = Napi::Object::New(env);
  size_t offset = 0;
  // Widest elements first, so that every view is aligned.
  result.Set("count", static_cast<double>(count));
  result.Set("version", View<Napi::Float64Array>(env, buffer, &offset, hits.version));
  result.Set("chunk", View<Napi::Uint32Array>(env, buffer, &offset, hits.chunk));
  result.Set("similarity", View<Napi::Float32Array>(env, buffer, &offset, hits.similarity));
  result.Set("lexical", View<Napi::Float32Array>(env, buffer, &offset, hits.lexical));
  result.Set("shard", View<Napi::Uint16Array>(env, buffer, &offset, hits.shard));
  const Napi::Array shards = Napi::Array::New(env, hits.shards.size());
  for (uint32_t i = 0; i < hits.shards.size(); i++) {
    const ShardReport& report = hits.shards[i];
    Napi::Object shard = Napi::Object::New(env);
    shard.Set("shard", report.shard);
    shard.Set("strategy", StrategyName(report.strategy));
    shard.Set("candidates", report.candidates);
    shard.Set("ms", report.ms);
    shards.Set(i, shard);
  }
  result.Set("shards", shards);
  return result;
}

Napi::Value FromVersions(Napi::Env env, const std::vector<double>& versions) {
  const Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, versions.size() * sizeof(double));
  size_t offset = 0;
  return View<Napi::Float64Array>(env, buffer, &offset, versions);
}

Napi::Value FromOpenings(Napi::Env env, const std::vector<ShardOpening>& openings) {
  const auto name = [](ShardState state) {
    switch (state) {
      case ShardState::kFresh: return "fresh";
      case ShardState::kLoaded: return "loaded";
      case ShardState::kMissing: return "missing";
      case ShardState::kDamaged: return "damaged";
    }
    return "unknown";
  };
  const Napi::Array result = Napi::Array::New(env, openings.size());
  for (uint32_t i = 0; i < openings.size(); i++) {
    Napi::Object opening = Napi::Object::New(env);
    opening.Set("shard", openings[i].shard);
    opening.Set("sequence", static_cast<double>(openings[i].sequence));
    opening.Set("state", name(openings[i].state));
    opening.Set("reason",
                openings[i].reason.empty() ? env.Null() : Napi::Value(Napi::String::New(env, openings[i].reason)));
    result.Set(i, opening);
  }
  return result;
}

Napi::Value FromStatistics(Napi::Env env, const CollectionStatistics& statistics) {
  Napi::Object bytes = Napi::Object::New(env);
  bytes.Set("vectors", static_cast<double>(statistics.memory.vectors));
  bytes.Set("graph", static_cast<double>(statistics.memory.graph));
  bytes.Set("postings", static_cast<double>(statistics.memory.postings));
  bytes.Set("attributes", static_cast<double>(statistics.memory.attributes));
  bytes.Set("documents", static_cast<double>(statistics.memory.documents));
  Napi::Object result = Napi::Object::New(env);
  result.Set("rows", static_cast<double>(statistics.rows));
  result.Set("deadRows", static_cast<double>(statistics.deadRows));
  result.Set("documents", static_cast<double>(statistics.documents));
  result.Set("bytes", bytes);
  return result;
}

Napi::Value FromSnapshot(Napi::Env env, const Collection::Snapshot& snapshot) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("sequence", static_cast<double>(snapshot.sequence));
  result.Set("bytes", static_cast<double>(snapshot.bytes));
  return result;
}

}  // namespace quarry
