// Lists documents in the order of their attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/cancellation.h"
#include "engine/document_selection.h"
#include "engine/status.h"

namespace quarry {

// A document of a sorted list.
struct ListedDocument {
  uint64_t version;
  uint32_t selection;  // position among the selections
};

struct SortField {
  std::string attribute;
  bool descending = false;
  // Order strings that are dates by their instants. Other values count as missing.
  bool isDate = false;
};

// Parses u32 count, then for each field: attribute (u32 length, UTF-8), u8 flags: 1 descending, 2 dates. Returns kInvalid
// for malformed bytes and for no field.
Status ParseSort(const uint8_t* bytes, size_t length, std::vector<SortField>* fields);

// Returns the first `limit` documents of all selections whose version is not in `excluded`, which must be sorted.
// Values are ordered as in the attribute index: strings by bytes, then numbers, then booleans. Documents without a value, or
// with a point, come last in both directions. Ties are in ascending order of versions.
Status ListSorted(const std::vector<DocumentSelection>& selections, const std::vector<SortField>& fields,
                  const std::vector<uint64_t>& excluded, uint64_t limit, const CancellationToken& cancellation,
                  std::vector<ListedDocument>* documents);

}  // namespace quarry
