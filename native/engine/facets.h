// Counts documents by the values of their attributes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cancellation.h"
#include "engine/document_selection.h"
#include "engine/status.h"

namespace quarry {

// Values in [from, to), as bytes of the attribute index. A range of dates has instants, or without a bound the start and
// the end of their type.
struct FacetRange {
  std::string from;
  std::string to;
};

struct FacetRequest {
  std::string attribute;
  uint32_t valuesMax = 0;          // without ranges: the most frequent values
  std::vector<FacetRange> ranges;  // if there are any, one count each
};

struct FacetCount {
  std::string value;  // empty for a range
  uint64_t documents = 0;
};

struct FacetResult {
  uint64_t values = 0;  // distinct values of the matching documents; 0 for ranges
  std::vector<FacetCount> counts;
};

// Parses u32 count, then for each facet: attribute, u32 valuesMax, u32 number of ranges, their bounds. Each text is a u32
// length followed by its bytes. Returns kInvalid for malformed bytes and for a range whose end is before its start.
Status ParseFacets(const uint8_t* bytes, size_t length, std::vector<FacetRequest>* facets);

// Counts the documents of all selections whose version is not in `excluded`, which must be sorted. The most frequent values
// come first, and values with equal counts in ascending order. Points have no values here. Values beyond 128 KiB of one
// facet are left out.
Status CountFacets(const std::vector<DocumentSelection>& selections, const std::vector<FacetRequest>& facets,
                   const std::vector<uint64_t>& excluded, const CancellationToken& cancellation,
                   std::vector<FacetResult>* results);

// Encodes, for each result: u32 number of counts, f64 values, then for each count its value and f64 documents.
std::vector<uint8_t> EncodeFacets(const std::vector<FacetResult>& results);

}  // namespace quarry
