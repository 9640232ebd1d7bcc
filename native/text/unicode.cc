#include "text/unicode.h"

#include <algorithm>
#include <iterator>

namespace quarry::text {
namespace {

struct Composition {
  char32_t first;
  char32_t second;
  char32_t composed;
};

#include "text/unicode_tables.inc"

constexpr char32_t kCapitalSigma = 0x3a3;
constexpr char32_t kSmallSigma = 0x3c3;
constexpr char32_t kFinalSigma = 0x3c2;
constexpr char32_t kCapitalDottedI = 0x130;
constexpr char32_t kDotAbove = 0x307;

// Hangul syllables are arithmetic (The Unicode Standard, section 3.12).
constexpr char32_t kSyllables = 0xac00;
constexpr char32_t kLeads = 0x1100;
constexpr char32_t kVowels = 0x1161;
constexpr char32_t kTrails = 0x11a7;
constexpr uint32_t kLeadCount = 19;
constexpr uint32_t kVowelCount = 21;
constexpr uint32_t kTrailCount = 28;
constexpr uint32_t kSyllableCount = kLeadCount * kVowelCount * kTrailCount;

bool IsCasedAfterIgnorable(char32_t character, bool* cased) {
  const uint16_t flags = PropertiesOf(character).flags;
  if ((flags & kCaseIgnorable) != 0) return false;
  *cased = (flags & kCased) != 0;
  return true;
}

// A sigma is final if it follows a cased letter and none follows it, ignoring case-ignorable characters.
bool IsFinalSigma(const Characters& text, size_t at) {
  bool before = false;
  for (size_t i = at; i > 0 && !IsCasedAfterIgnorable(text[i - 1], &before);) --i;
  if (!before) return false;
  bool after = false;
  for (size_t i = at + 1; i < text.size() && !IsCasedAfterIgnorable(text[i], &after);) ++i;
  return !after;
}

void AppendDecomposed(char32_t character, Form form, Characters* out) {
  const uint32_t syllable = character - kSyllables;
  if (syllable < kSyllableCount) {
    out->push_back(kLeads + syllable / (kVowelCount * kTrailCount));
    out->push_back(kVowels + syllable / kTrailCount % kVowelCount);
    if (syllable % kTrailCount != 0) out->push_back(kTrails + syllable % kTrailCount);
    return;
  }
  const CharacterProperties& properties = PropertiesOf(character);
  const uint16_t at = form == Form::kCanonical ? properties.canonical : properties.compatible;
  if (at == 0) {
    out->push_back(character);
  } else {
    out->insert(out->end(), &kPool[at + 1], &kPool[at + 1] + kPool[at]);
  }
}

// Sorts every run of combining marks by class. Stable.
void Order(Characters* text) {
  const auto combining = [](char32_t character) { return PropertiesOf(character).combining; };
  for (size_t at = 0; at < text->size();) {
    size_t end = at;
    bool ordered = true;
    for (uint8_t last = 0; end < text->size() && combining((*text)[end]) != 0; ++end) {
      ordered = ordered && combining((*text)[end]) >= last;
      last = combining((*text)[end]);
    }
    if (!ordered) {
      std::stable_sort(text->begin() + at, text->begin() + end,
                       [&](char32_t left, char32_t right) { return combining(left) < combining(right); });
    }
    at = std::max(end, at + 1);
  }
}

// Returns 0 if the two characters do not compose.
char32_t Composed(char32_t first, char32_t second) {
  const uint32_t lead = first - kLeads;
  const uint32_t vowel = second - kVowels;
  if (lead < kLeadCount && vowel < kVowelCount) return kSyllables + (lead * kVowelCount + vowel) * kTrailCount;
  const uint32_t syllable = first - kSyllables;
  const uint32_t trail = second - kTrails;
  if (syllable < kSyllableCount && syllable % kTrailCount == 0 && trail > 0 && trail < kTrailCount)
    return first + trail;
  const auto* found =
      std::lower_bound(std::begin(kCompositions), std::end(kCompositions), Composition{first, second, 0},
                       [](const Composition& left, const Composition& right) {
                         return left.first != right.first ? left.first < right.first : left.second < right.second;
                       });
  const bool matches = found != std::end(kCompositions) && found->first == first && found->second == second;
  return matches ? found->composed : 0;
}

}  // namespace

const CharacterProperties& PropertiesOf(char32_t character) {
  return kRecords[kBlocks[kStages[character >> 7] * 128u + (character & 127)]];
}

WordClass WordClassOf(char32_t character) { return static_cast<WordClass>(PropertiesOf(character).wordClass); }

char32_t NextCharacter(std::u16string_view units, size_t* at) {
  const char32_t unit = units[(*at)++];
  if ((unit & 0xfc00) != 0xd800 || *at == units.size() || (units[*at] & 0xfc00) != 0xdc00) return unit;
  return 0x10000 + ((unit & 0x3ff) << 10) + (units[(*at)++] & 0x3ff);
}

void AppendUnits(char32_t character, std::u16string* units) {
  if (character > 0xffff) {
    *units += static_cast<char16_t>(0xd7c0 + (character >> 10));
    *units += static_cast<char16_t>(0xdc00 + (character & 0x3ff));
  } else {
    *units += static_cast<char16_t>(character);
  }
}

void ToLower(const Characters& text, Characters* lower) {
  for (size_t at = 0; at < text.size(); ++at) {
    const char32_t character = text[at];
    if (character == kCapitalSigma) {
      lower->push_back(IsFinalSigma(text, at) ? kFinalSigma : kSmallSigma);
    } else if (character == kCapitalDottedI) {
      lower->insert(lower->end(), {'i', kDotAbove});
    } else {
      lower->push_back(character + PropertiesOf(character).lowerDelta);
    }
  }
}

void Decompose(const Characters& text, Form form, Characters* decomposed) {
  for (const char32_t character : text) AppendDecomposed(character, form, decomposed);
  Order(decomposed);
}

void Compose(Characters* text) {
  size_t kept = 0;
  size_t starter = text->size();  // none yet
  uint8_t last = 0;
  for (const char32_t character : *text) {
    const uint8_t combining = PropertiesOf(character).combining;
    const bool isAdjacent = starter + 1 == kept;
    if (starter < kept && (isAdjacent || (last < combining && last != 0))) {
      const char32_t composed = Composed((*text)[starter], character);
      if (composed != 0) {
        (*text)[starter] = composed;
        continue;
      }
    }
    if (combining == 0) starter = kept;
    last = combining;
    (*text)[kept++] = character;
  }
  text->resize(kept);
}

}  // namespace quarry::text
