#include <algorithm>

#include "text/word_piece.h"

namespace quarry::text {
namespace {

constexpr std::u32string_view kContinuation = U"##";

bool IsAsciiSpace(char16_t unit) { return unit == ' ' || unit == '\n' || unit == '\r' || unit == '\t'; }
bool IsPrintableAscii(char16_t unit) { return unit > ' ' && unit < 0x7f; }
bool IsAsciiWordPart(char16_t unit) {
  return (unit >= 'a' && unit <= 'z') || (unit >= 'A' && unit <= 'Z') || (unit >= '0' && unit <= '9');
}

bool IsSpace(char32_t character) { return (PropertiesOf(character).flags & kSpace) != 0; }

// Only characters of the basic multilingual plane, as in the library.
bool IsIdeograph(char32_t character) {
  return (character >= 0x4e00 && character <= 0x9fff) || (character >= 0x3400 && character <= 0x4dbf) ||
         (character >= 0xf900 && character <= 0xfaff);
}

std::u16string_view TrimmedLeft(std::u16string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  return text;
}

std::u16string_view TrimmedRight(std::u16string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool IsSame(const Characters& characters, std::u16string_view text) {
  size_t at = 0;
  for (const char32_t character : characters) {
    if (at == text.size() || NextCharacter(text, &at) != character) return false;
  }
  return at == text.size();
}

}  // namespace

std::unique_ptr<BertTokenizer> BertTokenizer::Create(Options options) {
  std::vector<PieceTrie::Piece> pieces;
  for (const auto& [text, id] : options.pieces) {
    const bool continues = text.starts_with(kContinuation);
    // The mark alone continues no word.
    if (text.size() > (continues ? kContinuation.size() : 0)) {
      pieces.push_back({text.substr(continues ? kContinuation.size() : 0), continues, id});
    }
  }
  auto tokenizer = std::make_unique<BertTokenizer>();
  int32_t highest = options.unknown;
  for (const auto& [text, id] : options.pieces) highest = std::max(highest, id);
  for (const AddedToken& token : options.addedTokens) highest = std::max(highest, token.id);
  tokenizer->size_ = static_cast<size_t>(highest) + 1;
  if (!tokenizer->trie_.Build(std::move(pieces))) return nullptr;
  for (char16_t unit = 0; unit < 128; ++unit) {
    const bool lowers = options.lowercases && unit >= 'A' && unit <= 'Z';
    tokenizer->asciiSymbols_[unit] = tokenizer->trie_.SymbolOf(lowers ? unit + ('a' - 'A') : unit);
  }
  for (const AddedToken& token : options.addedTokens) tokenizer->addedStarts_ += token.content.front();
  options.pieces.clear();
  tokenizer->options_ = std::move(options);
  return tokenizer;
}

const BertTokenizer::AddedToken* BertTokenizer::AddedAt(std::u16string_view text, size_t at) const {
  const AddedToken* longest = nullptr;
  for (const AddedToken& token : options_.addedTokens) {
    const bool isLonger = longest == nullptr || token.content.size() > longest->content.size();
    if (isLonger && text.substr(at).starts_with(token.content)) longest = &token;
  }
  return longest;
}

void BertTokenizer::Encode(std::u16string_view text, Scratch* scratch, Ids* ids) const {
  size_t start = 0;
  bool stripsLeft = false;  // applies to the next section
  const auto encodeSection = [&](size_t end, bool stripsRight) {
    std::u16string_view section = text.substr(start, end - start);
    if (stripsLeft) section = TrimmedLeft(section);
    if (stripsRight) section = TrimmedRight(section);
    EncodeSection(section, scratch, ids);
  };
  for (size_t at = text.find_first_of(addedStarts_); at < text.size(); at = text.find_first_of(addedStarts_, at)) {
    const AddedToken* token = AddedAt(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    encodeSection(at, token->stripsLeft);
    ids->push_back(token->id);
    at += token->content.size();
    start = at;
    stripsLeft = token->stripsRight;
  }
  encodeSection(text.size(), false);
}

void BertTokenizer::EncodeSection(std::u16string_view section, Scratch* scratch, Ids* ids) const {
  for (size_t at = 0; at < section.size();) {
    if (IsAsciiSpace(section[at])) {
      ++at;
      continue;
    }
    const size_t start = at;
    bool isPlain = true;
    for (; at < section.size() && !IsAsciiSpace(section[at]); ++at) isPlain = isPlain && IsPrintableAscii(section[at]);
    const auto stretch = section.substr(start, at - start);
    // A section whose normalized form equals an added token is encoded as that token.
    const bool isSection = !options_.addedTokens.empty() && stretch.size() == section.size();
    if (isPlain && !isSection) {
      EncodePlainStretch(stretch, scratch, ids);
    } else {
      EncodeStretch(stretch, isSection, scratch, ids);
    }
  }
}

void BertTokenizer::EncodePlainStretch(std::u16string_view stretch, Scratch* scratch, Ids* ids) const {
  auto& symbols = scratch->symbols;
  for (size_t at = 0; at < stretch.size();) {
    symbols.clear();
    const bool isWord = IsAsciiWordPart(stretch[at]);
    do {
      symbols.push_back(asciiSymbols_[stretch[at++]]);
    } while (isWord && at < stretch.size() && IsAsciiWordPart(stretch[at]));
    EncodeWord(symbols, ids);
  }
}

void BertTokenizer::EncodeStretch(std::u16string_view stretch, bool isSection, Scratch* scratch, Ids* ids) const {
  Normalize(stretch, scratch);
  if (isSection) {
    for (const AddedToken& token : options_.addedTokens) {
      if (IsSame(scratch->normalized, token.content)) return ids->push_back(token.id);
    }
  }
  auto& symbols = scratch->symbols;
  symbols.clear();
  const auto finish = [&] {
    if (!symbols.empty()) EncodeWord(symbols, ids);
    symbols.clear();
  };
  for (const char32_t character : scratch->normalized) {
    const uint16_t flags = PropertiesOf(character).flags;
    if ((flags & (kSpace | kPunctuation)) != 0) finish();
    if ((flags & kSpace) == 0) symbols.push_back(trie_.SymbolOf(character));
    if ((flags & kPunctuation) != 0) finish();
  }
  finish();
}

void BertTokenizer::Normalize(std::u16string_view stretch, Scratch* scratch) const {
  auto& characters = scratch->characters;
  auto& normalized = scratch->normalized;
  characters.clear();
  normalized.clear();
  for (size_t at = 0; at < stretch.size();) {
    const char32_t character = NextCharacter(stretch, &at);
    const uint16_t flags = PropertiesOf(character).flags;
    if (options_.cleansText && (flags & kControl) != 0) continue;
    if (options_.cleansText && (flags & kSpace) != 0) {
      characters.push_back(' ');
    } else if (options_.spacesIdeographs && IsIdeograph(character)) {
      characters.insert(characters.end(), {' ', character, ' '});
    } else {
      characters.push_back(character);
    }
  }
  if (options_.lowercases) {
    ToLower(characters, &normalized);
  } else {
    normalized.swap(characters);
  }
  if (!options_.stripsAccents) return;
  characters.clear();
  Decompose(normalized, Form::kCanonical, &characters);
  std::erase_if(characters, [](char32_t character) { return (PropertiesOf(character).flags & kNonspacing) != 0; });
  normalized.swap(characters);
}

// A word with a character that no piece covers is encoded as one unknown token.
void BertTokenizer::EncodeWord(const std::vector<uint32_t>& symbols, Ids* ids) const {
  const size_t first = ids->size();
  bool isKnown = symbols.size() <= options_.wordCharactersMax;
  for (size_t at = 0; isKnown && at < symbols.size();) {
    const auto position = at == 0 ? PieceTrie::Position::kFirst : PieceTrie::Position::kNext;
    const auto match = trie_.Longest(position, &symbols[at], symbols.size() - at);
    isKnown = match.id >= 0;
    at += match.length;
    if (isKnown) ids->push_back(match.id);
  }
  if (isKnown) return;
  ids->resize(first);
  ids->push_back(options_.unknown);
}

}  // namespace quarry::text
