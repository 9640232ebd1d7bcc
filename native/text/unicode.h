// Facts about characters and the text forms of the Unicode standard, from tables that a script of ours generates
// (generate_tables.mjs): lower case, canonical and compatibility decomposition, composition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::text {

// Code points. Lone surrogates are kept as they are; nothing here produces one.
using Characters = std::vector<char32_t>;

// Bits of CharacterFacts::flags.
constexpr uint16_t kControl = 1;      // Cc, Cf, Co, Cs and U+FFFD, but not tab, line feed, carriage return
constexpr uint16_t kSpace = 2;        // what \s matches in JavaScript
constexpr uint16_t kPunctuation = 4;  // P, and every ASCII symbol
constexpr uint16_t kNonspacing = 8;   // Mn
constexpr uint16_t kWordPart = 16;    // letters, digits and marks, unless kWholeWord
constexpr uint16_t kWholeWord = 32;   // Han, Hiragana, Katakana: each character is a word
constexpr uint16_t kCased = 64;       // Cased
constexpr uint16_t kCaseIgnorable = 128;

// What a character is to the lexical analysis.
enum class WordClass : uint8_t { kOther, kLetter, kDigit, kMark, kHan, kKana, kHangul, kUnspaced };

struct CharacterFacts {
  uint16_t flags;
  uint8_t combining;  // 0, or the rank of the canonical combining class
  uint8_t wordClass;  // a WordClass
  int32_t lowerDelta;
  uint16_t canonical;   // where the pool holds the decomposition, 0 for none; Hangul is computed instead
  uint16_t compatible;  // the same for compatibility decomposition
};

enum class Form { kCanonical, kCompatible };

const CharacterFacts& FactsOf(char32_t character);
WordClass WordClassOf(char32_t character);

// The code point at `*at`, which moves behind it; a lone surrogate is a character of its own.
char32_t NextCharacter(std::u16string_view units, size_t* at);
void AppendUnits(char32_t character, std::u16string* units);

// Lower case as JavaScript's toLowerCase: full mappings, and a final sigma at the end of a word.
void ToLower(const Characters& text, Characters* lower);
// Appends nothing but the decomposition in canonical order: NFD or NFKD.
void Decompose(const Characters& text, Form form, Characters* decomposed);
// Composes text in canonical order in place, which makes NFC or NFKC of it.
void Compose(Characters* text);

}  // namespace quarry::text
