#include "bridge/values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

namespace quarry {
namespace {

constexpr double kCountMax = 9007199254740991;  // 2^53 - 1
constexpr uint32_t kDimensionsMax = 65536;

Napi::TypeError InvalidArgument(Napi::Env env, const char* name, const char* expected) {
  return Napi::TypeError::New(env, std::string(name) + " must be " + expected);
}

// Returns a view of the elements with a single Node-API call: each call takes longer than copying a few elements.
template <class T>
std::span<const T> ToElements(const Napi::Value& value, napi_typedarray_type expectedType, const char* name,
                              const char* expected) {
  napi_typedarray_type type{};
  size_t count = 0;
  void* data = nullptr;
  const napi_status status = napi_get_typedarray_info(value.Env(), value, &type, &count, &data, nullptr, nullptr);
  if (status != napi_ok || type != expectedType) throw InvalidArgument(value.Env(), name, expected);
  return {static_cast<const T*>(data), count};
}

std::span<const float> ToFloats(const Napi::Value& value, const char* name) {
  return ToElements<float>(value, napi_float32_array, name, "a Float32Array");
}
std::span<const uint8_t> ToBytes(const Napi::Value& value, const char* name) {
  return ToElements<uint8_t>(value, napi_uint8_array, name, "a Uint8Array");
}

// Whether all values are finite. Without early exit, so that the loop can be vectorized.
bool AllFinite(std::span<const float> values) {
  int32_t largest = 0;
  for (const float value : values) largest = std::max(largest, std::bit_cast<int32_t>(value) & 0x7fffffff);
  return largest < 0x7f800000;
}

// Appends the values and returns the end.
template <class T>
uint8_t* Put(uint8_t* to, const std::vector<T>& values) {
  if (!values.empty()) std::memcpy(to, values.data(), values.size() * sizeof(T));
  return to + values.size() * sizeof(T);
}

// Header that src/index/search-codec.ts writes before the terms of a query. Each term has the layout of QueryTerm.
struct PackedRequest {
  uint32_t vectorCandidates;
  uint32_t lexicalCandidates;
  uint32_t ef;
  uint32_t deadlineMs;
  uint32_t terms;
  uint32_t ticket;
};
static_assert(sizeof(PackedRequest) == 24 && sizeof(QueryTerm) == 16 && offsetof(QueryTerm, weight) == 8 &&
              offsetof(QueryTerm, group) == 12);

// Header of a reply, which search-codec.ts reads before the columns of the rows. After them follows one
// PackedShard per shard.
struct PackedReply {
  uint32_t rows;
  uint32_t shards;
  uint32_t calibrated;
  uint32_t unused;
};
struct PackedShard {
  uint32_t shard;
  uint32_t strategy;
  uint32_t ef;
  uint32_t candidates;
  float ms;
};
static_assert(sizeof(PackedReply) == 16 && sizeof(PackedShard) == 20);

// Offset after the columns, rounded up to a multiple of four bytes.
size_t ShardsStart(const SearchHits& hits) {
  const size_t rowBytes = sizeof(double) + 2 * sizeof(float) + sizeof(uint32_t) + sizeof(uint16_t);
  return (sizeof(PackedReply) + hits.version.size() * rowBytes + 3) / 4 * 4;
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
    throw InvalidArgument(value.Env(), name, "an integer from 0 to 2^53 - 1");
  }
  return static_cast<uint64_t>(number);
}

uint32_t ToUint32(const Napi::Value& value, const char* name) {
  const uint64_t number = ToCount(value, name);
  if (number > 0xffffffff) throw InvalidArgument(value.Env(), name, "below 2^32");
  return static_cast<uint32_t>(number);
}

std::optional<uint64_t> ToOptionalCount(const Napi::Value& value, const char* name) {
  if (value.IsUndefined()) return std::nullopt;
  return ToCount(value, name);
}

std::optional<FilterProgram> ToFilter(const Napi::Value& value) {
  if (value.IsNull()) return std::nullopt;
  const auto bytes = ToBytes(value, "filter");
  FilterProgram program;
  if (const Status status = FilterProgram::Parse(bytes.data(), bytes.size(), &program); !status.ok()) {
    throw ToError(value.Env(), status);
  }
  return program;
}

std::vector<FacetRequest> ToFacets(const Napi::Value& value) {
  const auto bytes = ToBytes(value, "facets");
  std::vector<FacetRequest> facets;
  if (const Status status = ParseFacets(bytes.data(), bytes.size(), &facets); !status.ok()) {
    throw ToError(value.Env(), status);
  }
  return facets;
}

std::vector<SortField> ToSort(const Napi::Value& value) {
  const auto bytes = ToBytes(value, "sort");
  std::vector<SortField> fields;
  if (const Status status = ParseSort(bytes.data(), bytes.size(), &fields); !status.ok()) {
    throw ToError(value.Env(), status);
  }
  return fields;
}

std::vector<uint64_t> ToVersions(const Napi::Value& value) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array) {
    throw Napi::TypeError::New(value.Env(), "versions must be a Float64Array");
  }
  const auto numbers = value.As<Napi::Float64Array>();
  std::vector<uint64_t> versions;
  for (size_t i = 0; i < numbers.ElementLength(); i++) versions.push_back(static_cast<uint64_t>(numbers[i]));
  return versions;
}

std::shared_ptr<DocumentInput> ToDocument(uint64_t version, const Napi::Value& vectors, const Napi::Value& terms,
                                          const Napi::Value& attributes) {
  const auto floats = ToFloats(vectors, "vectors");
  const auto block = ToBytes(terms, "terms");
  const auto pairs = ToBytes(attributes, "attributes");
  auto input = std::make_shared<DocumentInput>();
  input->version = version;
  input->vectors.assign(floats.begin(), floats.end());
  input->terms.resize((block.size() + 7) / 8);
  input->termBytes = block.size();
  if (input->termBytes > 0) std::memcpy(input->terms.data(), block.data(), input->termBytes);
  if (const Status status = ParseAttributes(pairs.data(), pairs.size(), &input->attributes); !status.ok()) {
    throw ToError(vectors.Env(), status);
  }
  return input;
}

CollectionOptions ToOptions(const Napi::Object& options) {
  CollectionOptions result;
  const Napi::Value id = options.Get("collectionId");
  const Napi::Value directory = options.Get("directory");
  if (!id.IsString()) throw InvalidArgument(options.Env(), "collectionId", "a string");
  if (!directory.IsString()) throw InvalidArgument(options.Env(), "directory", "a string");
  result.id = id.As<Napi::String>().Utf8Value();
  result.directory = directory.As<Napi::String>().Utf8Value();
  result.dimensions = ToUint32(options.Get("dimensions"), "dimensions");
  result.shards = ToUint32(options.Get("shards"), "shards");
  if (result.dimensions == 0 || result.dimensions > kDimensionsMax) {
    throw InvalidArgument(options.Env(), "dimensions", "from 1 to 65536");
  }
  if (result.shards == 0 || result.shards > 64) throw InvalidArgument(options.Env(), "shards", "from 1 to 64");
  return result;
}

namespace {

PackedRequest HeaderOf(Napi::Env env, std::span<const uint8_t> bytes) {
  PackedRequest header{};
  if (bytes.size() < sizeof header) throw InvalidArgument(env, "request", "at least as long as its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

void CopyTerms(Napi::Env env, const PackedRequest& header, std::span<const uint8_t> bytes,
               std::vector<QueryTerm>* terms) {
  if ((bytes.size() - sizeof header) / sizeof(QueryTerm) < header.terms)
    throw InvalidArgument(env, "request", "long enough for its terms");
  terms->resize(header.terms);
  if (header.terms > 0) std::memcpy(terms->data(), bytes.data() + sizeof header, header.terms * sizeof(QueryTerm));
  for (const QueryTerm& term : *terms) {
    if (!std::isfinite(term.weight) || term.weight < 0)
      throw InvalidArgument(env, "weights", "finite and not negative");
  }
}

}  // namespace

void ToTerms(const Napi::Value& packed, std::vector<QueryTerm>* terms) {
  const auto bytes = ToBytes(packed, "request");
  CopyTerms(packed.Env(), HeaderOf(packed.Env(), bytes), bytes, terms);
}

uint32_t ToSearchRequest(const Napi::Value& packed, const Napi::Value& vector, const Napi::Value& filter,
                         uint32_t dimensions, SearchRequest* request) {
  const Napi::Env env = packed.Env();
  const auto bytes = ToBytes(packed, "request");
  const PackedRequest header = HeaderOf(env, bytes);
  if (!vector.IsNull()) {
    const auto floats = ToFloats(vector, "vector");
    if (floats.size() != dimensions) throw InvalidArgument(env, "vector", "of the dimensions of the collection");
    if (!AllFinite(floats)) throw InvalidArgument(env, "vector", "of finite numbers");
    request->vector.assign(floats.begin(), floats.end());
  }
  CopyTerms(env, header, bytes, &request->terms);
  request->filter = ToFilter(filter);
  request->vectorCandidates = header.vectorCandidates;
  request->lexicalCandidates = header.lexicalCandidates;
  request->ef = header.ef;
  request->cancellation = MakeCancellationToken(header.deadlineMs);
  return header.ticket;
}

size_t ShardReportsBytes(const SearchHits& hits) { return hits.shards.size() * sizeof(PackedShard); }

void PutShardReports(const SearchHits& hits, uint8_t* to) {
  for (const ShardReport& report : hits.shards) {
    const PackedShard shard{report.shard, static_cast<uint32_t>(report.strategy), report.ef, report.candidates,
                            report.ms};
    std::memcpy(to, &shard, sizeof shard);
    to += sizeof shard;
  }
}

size_t HitsBytes(const SearchHits& hits) { return (ShardsStart(hits) + ShardReportsBytes(hits) + 7) / 8 * 8; }

void PutHits(const SearchHits& hits, uint8_t* start) {
  const size_t count = hits.version.size();
  const PackedReply header{static_cast<uint32_t>(count), static_cast<uint32_t>(hits.shards.size()),
                           hits.calibrated ? 1U : 0U, 0};
  std::memcpy(start, &header, sizeof header);
  uint8_t* to = start + sizeof header;
  // Widest elements first, so that every column is aligned.
  to = Put(to, hits.version);
  to = Put(to, hits.chunk);
  to = Put(to, hits.similarity);
  to = Put(to, hits.lexical);
  Put(to, hits.shard);
  PutShardReports(hits, start + ShardsStart(hits));
}

CancellationToken MakeCancellationToken(uint32_t deadlineMs) {
  return {std::chrono::steady_clock::now() + std::chrono::milliseconds(deadlineMs), nullptr};
}

namespace {

std::vector<std::u16string> ToStrings(const Napi::Value& value) {
  const auto array = value.As<Napi::Array>();
  std::vector<std::u16string> strings;
  for (uint32_t i = 0; i < array.Length(); i++) strings.push_back(array.Get(i).As<Napi::String>().Utf16Value());
  return strings;
}

}  // namespace

std::vector<UnknownWord> ToUnknownWords(const Napi::Value& value) {
  const auto array = value.As<Napi::Array>();
  std::vector<UnknownWord> words;
  for (uint32_t i = 0; i < array.Length(); i++) {
    const auto word = array.Get(i).As<Napi::Object>();
    words.push_back({ToStrings(word.Get("forms")), ToStrings(word.Get("terms")),
                     word.Get("letters").As<Napi::String>().Utf16Value(), ToUint32(word.Get("editsMax"), "editsMax")});
  }
  return words;
}

Napi::Value FromCorrections(Napi::Env env, const std::vector<Correction>& corrections) {
  Napi::Array array = Napi::Array::New(env, corrections.size());
  for (uint32_t i = 0; i < corrections.size(); i++) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("word", corrections[i].word);
    entry.Set("term", Napi::String::New(env, corrections[i].term));
    entry.Set("edits", corrections[i].edits);
    entry.Set("rows", static_cast<double>(corrections[i].rows));
    array.Set(i, entry);
  }
  return array;
}

Napi::Value FromVersions(Napi::Env env, const std::vector<double>& versions) {
  Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, versions.size() * sizeof(double));
  Put(static_cast<uint8_t*>(buffer.Data()), versions);
  return Napi::Float64Array::New(env, versions.size(), buffer, 0);
}

Napi::Value FromOpenResults(Napi::Env env, const std::vector<ShardOpenResult>& openings) {
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
  bytes.Set("vectors_in_memory", static_cast<double>(statistics.memory.vectorsInMemory));
  bytes.Set("vectors_in_file", static_cast<double>(statistics.memory.vectorsInFile));
  bytes.Set("codes", static_cast<double>(statistics.memory.codes));
  bytes.Set("links", static_cast<double>(statistics.memory.links));
  bytes.Set("postings", static_cast<double>(statistics.memory.postings));
  bytes.Set("attributes", static_cast<double>(statistics.memory.attributes));
  bytes.Set("documents", static_cast<double>(statistics.memory.documents));
  Napi::Object result = Napi::Object::New(env);
  result.Set("rows", static_cast<double>(statistics.rows));
  result.Set("deadRows", static_cast<double>(statistics.deadRows));
  result.Set("documents", static_cast<double>(statistics.documents));
  result.Set("compactions", static_cast<double>(statistics.compactions));
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
