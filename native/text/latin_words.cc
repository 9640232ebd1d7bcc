#include "text/latin_words.h"

#include <algorithm>
#include <functional>

namespace quarry::text {
namespace {

constexpr char16_t kTypographicApostrophe = 0x2019;

bool IsLower(char16_t unit) { return unit >= u'a' && unit <= u'z'; }
bool IsUpper(char16_t unit) { return unit >= u'A' && unit <= u'Z'; }
bool IsDigit(char16_t unit) { return unit >= u'0' && unit <= u'9'; }
bool IsApostrophe(char16_t unit) { return unit == u'\'' || unit == kTypographicApostrophe; }

// "word", "Word", "WORD" and "WORDs".
bool IsPlain(std::u16string_view run) {
  const std::u16string_view rest = run.substr(1);
  if (std::all_of(rest.begin(), rest.end(), IsLower)) return IsLower(run[0]) || IsUpper(run[0]);
  if (run.back() == u's') run.remove_suffix(1);
  return std::all_of(run.begin(), run.end(), IsUpper);
}

Piece ToLower(std::u16string_view run) {
  Piece piece(run.size(), ' ');
  std::transform(run.begin(), run.end(), piece.begin(),
                 [](char16_t unit) { return static_cast<char>(IsUpper(unit) ? unit + ('a' - 'A') : unit); });
  return piece;
}

// Splits at units that match, and leaves out empty parts.
template <typename IsSeparator>
std::vector<std::u16string_view> Split(std::u16string_view text, IsSeparator isSeparator) {
  std::vector<std::u16string_view> parts;
  for (auto start = text.begin(); start != text.end();) {
    const auto end = std::find_if(start, text.end(), isSeparator);
    if (end != start) parts.emplace_back(start, end);
    start = end == text.end() ? end : end + 1;
  }
  return parts;
}

void Add(Piece piece, std::vector<Piece>* pieces) {
  if (std::find(pieces->begin(), pieces->end(), piece) == pieces->end()) pieces->push_back(std::move(piece));
}

// Adds the pieces of words joined by hyphens: the whole without hyphens, and each word.
bool AddCompound(std::u16string_view compound, std::vector<Piece>* pieces) {
  const auto runs = Split(compound, [](char16_t unit) { return unit == u'-'; });
  if (!std::all_of(runs.begin(), runs.end(), IsPlain)) return false;
  Piece whole;
  for (const auto run : runs) whole += ToLower(run);
  if (!whole.empty()) Add(std::move(whole), pieces);
  const bool isAbbreviation = std::all_of(runs.begin(), runs.end(), [](auto run) { return run.size() == 1; });
  if (isAbbreviation) return true;
  for (const auto run : runs) Add(ToLower(run), pieces);
  return true;
}

}  // namespace

bool ToPieces(std::u16string_view word, std::vector<Piece>* pieces) {
  pieces->clear();
  if (word.empty()) return false;
  if (std::all_of(word.begin(), word.end(), IsDigit)) {
    pieces->push_back(ToLower(word));
    return true;
  }
  auto clauses = Split(word, IsApostrophe);
  const auto isLong = [](std::u16string_view clause) { return clause.size() > 1; };
  if (std::any_of(clauses.begin(), clauses.end(), isLong)) std::erase_if(clauses, std::not_fn(isLong));
  return std::all_of(clauses.begin(), clauses.end(), [&](auto clause) { return AddCompound(clause, pieces); });
}

}  // namespace quarry::text
