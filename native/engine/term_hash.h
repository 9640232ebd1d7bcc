// Hash that identifies a term in postings.
#pragma once

#include <cstdint>
#include <string_view>

namespace quarry {

// Returns SipHash-2-4 of the term's UTF-8 under the fixed key of the format, identical to src/text/term-hash.ts.
uint64_t TermHash(std::string_view term);

}  // namespace quarry
