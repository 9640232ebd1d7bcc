// Converts JavaScript values to engine values and back. An invalid argument throws a Napi::TypeError.
#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/collection.h"
#include "engine/facets.h"
#include "engine/registry.h"
#include "engine/search.h"
#include "engine/sorted_list.h"
#include "engine/spelling.h"
#include "engine/status.h"

namespace quarry {

// Returns an Error with the message of the status and its name in `code`.
Napi::Error ToError(Napi::Env env, const Status& status);

uint32_t ToUint32(const Napi::Value& value, const char* name);
// Converts an integer from 0 to 2^53 - 1.
uint64_t ToCount(const Napi::Value& value, const char* name);
std::optional<uint64_t> ToOptionalCount(const Napi::Value& value, const char* name);
// Returns nullopt for null. The bytes have the format of FilterProgram::Parse.
std::optional<FilterProgram> ToFilter(const Napi::Value& value);
// The bytes have the format of ParseFacets.
std::vector<FacetRequest> ToFacets(const Napi::Value& value);
// The bytes have the format of ParseSort.
std::vector<SortField> ToSort(const Napi::Value& value);
// Converts a Float64Array of ascending integers.
std::vector<uint64_t> ToVersions(const Napi::Value& value);
// Copies the vectors, the term bytes and the attribute bytes: the caller may change them afterwards.
std::shared_ptr<DocumentInput> ToDocument(uint64_t version, const Napi::Value& vectors, const Napi::Value& terms,
                                          const Napi::Value& attributes);
CollectionOptions ToOptions(const Napi::Object& options);
// Reads a request written by src/index/search-codec.ts into an empty request, and returns its ticket.
uint32_t ToSearchRequest(const Napi::Value& packed, const Napi::Value& vector, const Napi::Value& filter,
                         uint32_t dimensions, SearchRequest* request);

// Reads only the terms of such a request.
void ToTerms(const Napi::Value& packed, std::vector<QueryTerm>* terms);

// Encodes a reply for src/index/search-codec.ts: size in bytes, a multiple of eight, and the bytes, at an
// offset that is a multiple of eight.
size_t HitsBytes(const SearchHits& hits);
void PutHits(const SearchHits& hits, uint8_t* start);
// The part of it that describes how the shards were searched.
size_t ShardReportsBytes(const SearchHits& hits);
void PutShardReports(const SearchHits& hits, uint8_t* to);
// Converts an array of {forms, terms, letters, editsMax}.
std::vector<UnknownWord> ToUnknownWords(const Napi::Value& value);
CancellationToken MakeCancellationToken(uint32_t deadlineMs);
// Returns an array of {word, term, edits, rows}.
Napi::Value FromCorrections(Napi::Env env, const std::vector<Correction>& corrections);
Napi::Value FromVersions(Napi::Env env, const std::vector<double>& versions);
Napi::Value FromOpenResults(Napi::Env env, const std::vector<ShardOpenResult>& openings);
Napi::Value FromStatistics(Napi::Env env, const CollectionStatistics& statistics);
Napi::Value FromSnapshot(Napi::Env env, const Collection::Snapshot& snapshot);

}  // namespace quarry
