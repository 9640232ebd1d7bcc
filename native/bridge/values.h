// JavaScript values to engine values and back. A wrong argument throws a Napi::TypeError.
#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/collection.h"
#include "engine/registry.h"
#include "engine/search.h"
#include "engine/spelling.h"
#include "engine/status.h"

namespace quarry {

// An Error with the status's message and a `code`.
Napi::Error ToError(Napi::Env env, const Status& status);

uint32_t ToUint32(const Napi::Value& value, const char* name);
// A whole number from 0 to 2^53 - 1.
uint64_t ToCount(const Napi::Value& value, const char* name);
std::optional<uint64_t> ToOptionalCount(const Napi::Value& value, const char* name);
// Null gives nothing. The bytes are those of FilterProgram::Parse.
std::optional<FilterProgram> ToFilter(const Napi::Value& value);
// {vector, terms bytes, attributes bytes} are copied: the caller may change them afterwards.
std::shared_ptr<DocumentInput> ToDocument(uint64_t version, const Napi::Value& vectors, const Napi::Value& terms,
                                          const Napi::Value& attributes);
CollectionOptions ToOptions(const Napi::Object& options);
// Reads what src/index/search-codec.ts wrote, into a request that is empty, and answers with its ticket.
uint32_t ToSearchRequest(const Napi::Value& packed, const Napi::Value& vector, const Napi::Value& filter,
                         uint32_t dimensions, SearchRequest* request);

// The terms of what it wrote.
void ToTerms(const Napi::Value& packed, std::vector<QueryTerm>* terms);

// What src/index/search-codec.ts reads: how many bytes, a multiple of eight, and the bytes, at such a multiple.
size_t HitsBytes(const SearchHits& hits);
void PutHits(const SearchHits& hits, uint8_t* start);
// An array of {forms, terms, letters, editsMax}.
std::vector<UnknownWord> ToUnknownWords(const Napi::Value& value);
Patience PatienceOf(uint32_t deadlineMs);
// An array of {word, term, edits, rows}.
Napi::Value FromSpellings(Napi::Env env, const std::vector<Spelling>& spellings);
Napi::Value FromVersions(Napi::Env env, const std::vector<double>& versions);
Napi::Value FromOpenings(Napi::Env env, const std::vector<ShardOpening>& openings);
Napi::Value FromStatistics(Napi::Env env, const CollectionStatistics& statistics);
Napi::Value FromSnapshot(Napi::Env env, const Collection::Snapshot& snapshot);

}  // namespace quarry
