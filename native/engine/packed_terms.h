// Packed form of a term block, in which the store keeps it: about a third of the bytes for a document of several
// rows. native/FORMAT.md documents the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/postings.h"
#include "engine/status.h"

namespace quarry {

// Appends the packed form of a block.
void PackTerms(const TermBlock& block, std::vector<uint8_t>* bytes);

// Whether the bytes start like a packed block and not like a term block.
bool HasPackedTerms(const uint8_t* bytes, size_t length);

// Restores the bytes of a term block, in words for alignment. `blockLength`: receives their number. Returns kInvalid if
// the bytes are malformed.
Status UnpackTerms(const uint8_t* bytes, size_t length, std::vector<uint64_t>* block, size_t* blockLength);

}  // namespace quarry
