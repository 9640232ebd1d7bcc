#include <algorithm>
#include <bit>
#include <cstring>

#include "text/light_stem.h"
#include "text/word_piece.h"

namespace quarry::text {
namespace {

constexpr char32_t kFirstAccent = 0x300;
constexpr char32_t kLastAccent = 0x36f;
constexpr std::u32string_view kContinuation = U"##";

bool IsAsciiWordPart(char16_t unit) {
  return (unit >= 'a' && unit <= 'z') || (unit >= 'A' && unit <= 'Z') || (unit >= '0' && unit <= '9');
}

char16_t AsciiLower(char16_t unit) { return unit >= 'A' && unit <= 'Z' ? unit + ('a' - 'A') : unit; }

// Classes of units: 0 separates words, kNotAscii may do anything, all others are lower-cased parts of words.
constexpr uint8_t kNotAscii = 0xff;
constexpr uint64_t kHighBits = 0x8080808080808080;
constexpr size_t kWordBytes = sizeof(uint64_t);

// Branch-free, so that the loop can be vectorized. The classes end with enough separators to read a short word
// and the unit after it anywhere.
void Classify(std::u16string_view text, std::vector<uint8_t>* classes) {
  classes->resize(text.size() + ShortWord::kUnitsMax + 1);
  uint8_t* const to = classes->data();
  for (size_t i = 0; i < text.size(); ++i) {
    const auto unit = static_cast<uint16_t>(text[i]);
    const auto lower = static_cast<uint16_t>(unit | 0x20);
    const bool isLetter = static_cast<uint16_t>(lower - 'a') < 26;
    const bool isDigit = static_cast<uint16_t>(unit - '0') < 10;
    const auto ascii = static_cast<uint16_t>(isLetter || isDigit ? lower : 0);
    to[i] = static_cast<uint8_t>(unit < 0x80 ? ascii : kNotAscii);
  }
  std::fill_n(to + text.size(), ShortWord::kUnitsMax + 1, uint8_t{0});
}

// Loads eight bytes, the first in the lowest one.
uint64_t Load(const uint8_t* from) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, from, sizeof bytes);
  if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
  return bytes;
}

// Clears all bytes from the first zero byte on. Returns the number of bytes before it.
size_t CutAtZero(uint64_t* bytes) {
  const uint64_t zeros = (*bytes - 0x0101010101010101) & ~*bytes & kHighBits;
  if (zeros == 0) return kWordBytes;
  const size_t kept = static_cast<size_t>(std::countr_zero(zeros)) / 8;
  *bytes &= (uint64_t{1} << (8 * kept)) - 1;
  return kept;
}

// Returns the length of the run of word parts at `from`; more than kUnitsMax if it is not a short word.
size_t ReadShortWord(const uint8_t* from, ShortWord* word) {
  word->low = Load(from);
  word->high = 0;
  size_t length = CutAtZero(&word->low);
  if (length == kWordBytes) {
    word->high = Load(from + kWordBytes);
    length += CutAtZero(&word->high);
  }
  const bool isShort = ((word->low | word->high) & kHighBits) == 0 && from[length] == 0;
  return isShort ? length : ShortWord::kUnitsMax + 1;
}

void AppendUtf8(char32_t c, std::string* text) {
  if (c < 0x80) {
    *text += static_cast<char>(c);
    return;
  }
  const int continuations = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static constexpr unsigned kLeads[] = {0, 0xc0, 0xe0, 0xf0};
  *text += static_cast<char>(kLeads[continuations] | (c >> (6 * continuations)));
  for (int i = continuations - 1; i >= 0; --i) *text += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3f));
}

uint16_t FlagsAt(std::u16string_view text, size_t at, size_t* after) {
  *after = at;
  return PropertiesOf(NextCharacter(text, after)).flags;
}

}  // namespace

std::unique_ptr<PlainTokenizer> PlainTokenizer::Create(const std::vector<std::u32string>& vocabulary) {
  if (vocabulary.empty() || vocabulary[0] != U"[UNK]") return nullptr;
  std::vector<PieceTrie::Piece> pieces;
  for (size_t id = 1; id < vocabulary.size(); ++id) {
    const bool continues = vocabulary[id].starts_with(kContinuation);
    pieces.push_back(
        {vocabulary[id].substr(continues ? kContinuation.size() : 0), continues, static_cast<int32_t>(id)});
  }
  auto tokenizer = std::make_unique<PlainTokenizer>();
  for (const auto& piece : pieces) {
    if (!piece.continues) tokenizer->shortWords_.Add(piece.text, piece.id);
  }
  tokenizer->size_ = vocabulary.size();
  if (!tokenizer->trie_.Build(std::move(pieces))) return nullptr;
  for (char16_t unit = 0; unit < 128; ++unit) {
    tokenizer->asciiSymbols_[unit] = tokenizer->trie_.SymbolOf(AsciiLower(unit));
  }
  return tokenizer;
}

std::u16string_view PlainTokenizer::NextWord(std::u16string_view text, size_t* at) {
  size_t start = *at;
  size_t after = start;
  for (;; start = after) {
    if (start == text.size()) return {};
    if (IsAsciiWordPart(text[start])) break;
    const uint16_t flags = FlagsAt(text, start, &after);
    if ((flags & kWordPart) != 0) break;
    if ((flags & kWholeWord) == 0) continue;
    *at = after;
    return text.substr(start, after - start);
  }
  size_t end = start;
  while (end < text.size()) {
    if (IsAsciiWordPart(text[end])) {
      after = end + 1;
    } else if (text[end] < 0x80 || (FlagsAt(text, end, &after) & kWordPart) == 0) {
      break;
    }
    if (after - start > kWordUnitsMax) break;
    end = after;
  }
  *at = end;
  return text.substr(start, end - start);
}

void PlainTokenizer::Normalize(std::u16string_view word, Scratch* scratch) {
  scratch->characters.clear();
  scratch->normalized.clear();
  scratch->decomposed.clear();
  for (size_t at = 0; at < word.size();) scratch->characters.push_back(NextCharacter(word, &at));
  ToLower(scratch->characters, &scratch->normalized);
  const auto& lower = scratch->normalized;
  if (std::all_of(lower.begin(), lower.end(), [](char32_t character) { return character < 0x80; })) return;
  Decompose(lower, Form::kCompatible, &scratch->decomposed);
  std::erase_if(scratch->decomposed, [](char32_t c) { return c >= kFirstAccent && c <= kLastAccent; });
  Compose(&scratch->decomposed);
  scratch->normalized.swap(scratch->decomposed);
}

void PlainTokenizer::EncodeWord(std::u16string_view word, Scratch* scratch, Ids* ids) const {
  auto& symbols = scratch->symbols;
  symbols.clear();
  if (std::all_of(word.begin(), word.end(), [](char16_t unit) { return unit < 0x80; })) {
    for (const char16_t unit : word) symbols.push_back(asciiSymbols_[unit]);
  } else {
    Normalize(word, scratch);
    for (const char32_t character : scratch->normalized) symbols.push_back(trie_.SymbolOf(character));
  }
  const size_t first = ids->size();
  for (size_t at = 0; at < symbols.size();) {
    const auto position = at == 0 ? PieceTrie::Position::kFirst : PieceTrie::Position::kNext;
    const auto match = trie_.Longest(position, &symbols[at], symbols.size() - at);
    if (match.id >= 0) {
      ids->push_back(match.id);
      at += match.length;
    } else {
      if (ids->size() == first || ids->back() != 0) ids->push_back(0);
      at += 1;
    }
  }
}

template <class OnWord>
void PlainTokenizer::ForEachWord(std::u16string_view text, Scratch* scratch, OnWord onWord) const {
  Classify(text, &scratch->classes);
  const uint8_t* const classes = scratch->classes.data();
  for (size_t at = 0;;) {
    while (at < text.size() && classes[at] == 0) ++at;
    if (at == text.size()) return;
    ShortWord word;
    const size_t length = ReadShortWord(classes + at, &word);
    if (length <= ShortWord::kUnitsMax) {
      onWord(at, at + length, shortWords_.Find(word));
      at += length;
      continue;
    }
    const auto longWord = NextWord(text, &at);
    if (longWord.empty()) return;
    onWord(at - longWord.size(), at, -1);
  }
}

void PlainTokenizer::Encode(std::u16string_view text, Scratch* scratch, Ids* ids) const {
  ForEachWord(text, scratch, [&](size_t start, size_t end, int32_t id) {
    if (id >= 0) {
      ids->push_back(id);
    } else {
      EncodeWord(text.substr(start, end - start), scratch, ids);
    }
  });
}

bool PlainTokenizer::EncodeWords(std::u16string_view text, Scratch* scratch, Ids* ids, std::vector<Word>* words) const {
  ForEachWord(text, scratch, [&](size_t start, size_t end, int32_t id) {
    if (id >= 0) {
      ids->push_back(id);
    } else {
      EncodeWord(text.substr(start, end - start), scratch, ids);
    }
    words->push_back({start, end, ids->size()});
  });
  return true;
}

void PlainTokenizer::Analyze(std::u16string_view text, Scratch* scratch, WordAnalysis* analysis) const {
  Ids& ids = analysis->ids;
  auto& words = analysis->words;
  auto& others = analysis->others;
  ids.clear();
  words.clear();
  others.clear();
  std::string& form = scratch->form;
  ForEachWord(text, scratch, [&](size_t start, size_t end, int32_t id) {
    if (id >= 0) {
      ids.push_back(id);
      words.push_back(static_cast<uint32_t>(id));
      return;
    }
    const auto word = text.substr(start, end - start);
    const size_t first = ids.size();
    EncodeWord(word, scratch, &ids);
    if (ids.size() == first + 1 && ids.back() > 0) {
      words.push_back(static_cast<uint32_t>(ids.back()));
      return;
    }
    NormalizeToUtf8(word, scratch, &form);
    const uint64_t formHash = HashWord(form);
    ToLightStem(&form);
    words.push_back(WordAnalysis::kOther + static_cast<uint32_t>(others.size()));
    others.push_back({formHash, HashWord(form)});
  });
}

void PlainTokenizer::NormalizeToUtf8(std::u16string_view word, Scratch* scratch, std::string* form) {
  form->clear();
  if (std::all_of(word.begin(), word.end(), [](char16_t unit) { return unit < 0x80; })) {
    for (const char16_t unit : word) *form += static_cast<char>(AsciiLower(unit));
    return;
  }
  Normalize(word, scratch);
  for (const char32_t character : scratch->normalized) AppendUtf8(character, form);
}

uint64_t HashWord(std::string_view word) {
  constexpr uint64_t kMultiplier = 0x9fb21c651e98df25;
  uint64_t hash = kMultiplier ^ word.size();
  for (size_t at = 0; at < word.size(); at += kWordBytes) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, word.data() + at, std::min(kWordBytes, word.size() - at));
    hash = (hash ^ bytes) * kMultiplier;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace quarry::text
