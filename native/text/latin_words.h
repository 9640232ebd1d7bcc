// Terms of common English words: the rules of expandWord in src/text/words.ts for the words that consist of ASCII
// letters, so that a new word of a text rarely needs a call into JavaScript.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quarry::text {

// One searchable spelling of a word: lower-case letters, which a stemmer may shorten, or digits.
using Piece = std::string;

// Sets the distinct pieces of a word of ASCII letters, hyphens and apostrophes, or of ASCII digits. Returns false for
// all other words, and for words with capitals inside ("getUserName").
bool ToPieces(std::u16string_view word, std::vector<Piece>* pieces);

}  // namespace quarry::text
