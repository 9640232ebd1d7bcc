#include <algorithm>

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

void PlainTokenizer::Encode(std::u16string_view text, Scratch* scratch, Ids* ids) const {
  size_t at = 0;
  for (auto word = NextWord(text, &at); !word.empty(); word = NextWord(text, &at)) EncodeWord(word, scratch, ids);
}

bool PlainTokenizer::EncodeWords(std::u16string_view text, Scratch* scratch, Ids* ids, std::vector<Word>* words) const {
  size_t at = 0;
  for (auto word = NextWord(text, &at); !word.empty(); word = NextWord(text, &at)) {
    EncodeWord(word, scratch, ids);
    words->push_back({at - word.size(), at, ids->size()});
  }
  return true;
}

}  // namespace quarry::text
