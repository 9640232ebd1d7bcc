// The name of a term in postings.
#pragma once

#include <cstdint>
#include <string_view>

namespace quarry {

// SipHash-2-4 of the term's UTF-8 under the fixed key of the format, as src/text/term-hash.ts computes it.
uint64_t TermHash(std::string_view term);

}  // namespace quarry
