#include "text/term_scan.h"

#include <algorithm>

namespace quarry::text {
namespace {

constexpr char32_t kHiraganaFirst = 0x3041;
constexpr char32_t kHiraganaLast = 0x309f;

// Class of one UTF-16 unit: kOther for surrogates and beyond the end.
WordClass ClassOfUnit(std::u16string_view text, size_t at) {
  return at < text.size() ? WordClassOf(text[at]) : WordClass::kOther;
}

WordClass ClassAt(std::u16string_view text, size_t at) {
  return at < text.size() ? WordClassOf(NextCharacter(text, &at)) : WordClass::kOther;
}

bool IsWordClass(WordClass kind) { return kind == WordClass::kLetter || kind == WordClass::kDigit; }

bool IsGramClass(WordClass kind) {
  return kind == WordClass::kHan || kind == WordClass::kKana || kind == WordClass::kHangul;
}

// Whether the comma at `at` separates thousands.
bool IsThousands(std::u16string_view text, size_t at) {
  const auto isDigit = [&](size_t position) { return ClassOfUnit(text, position) == WordClass::kDigit; };
  return at > 0 && isDigit(at - 1) && isDigit(at + 1) && isDigit(at + 2) && isDigit(at + 3) && !isDigit(at + 4);
}

// Whether the unit at `at` joins the run before it to the letter or digit after it.
bool IsJoint(std::u16string_view text, size_t at) {
  if (at >= text.size()) return false;
  switch (text[at]) {
    case u'&':
    case u'\'':
    case u'-':
    case u'.':
    case u'@':
    case u'_':
    case 0x2010:
    case 0x2011:
    case 0x2019: return IsWordClass(ClassAt(text, at + 1));
    case u',': return IsThousands(text, at);
    default: return false;
  }
}

// Han and kana form one run, because Japanese inflection mixes them; Hangul forms separate runs.
size_t GramRunEnd(std::u16string_view text, size_t start, bool isHangul) {
  size_t end = start;
  for (size_t at = start; at < text.size(); end = at) {
    const WordClass kind = WordClassOf(NextCharacter(text, &at));
    if (!IsGramClass(kind) || (kind == WordClass::kHangul) != isHangul) break;
  }
  return end;
}

bool IsHiragana(char32_t character) { return character >= kHiraganaFirst && character <= kHiraganaLast; }

}  // namespace

void TermScanner::Scan(std::u16string_view text, const Sink& sink) {
  for (size_t at = 0; at < text.size();) {
    size_t after = at;
    const WordClass kind = WordClassOf(NextCharacter(text, &after));
    if (IsWordClass(kind)) {
      after = CompoundEnd(text, at);
      sink(text.substr(at, after - at), TermKind::kWord);
    } else if (IsGramClass(kind)) {
      after = GramRunEnd(text, at, kind == WordClass::kHangul);
      ScanGrams(text.substr(at, after - at), kind == WordClass::kHangul, sink);
    } else if (kind == WordClass::kUnspaced) {
      after = at + ScanUnspaced(text, at, sink);
    }
    at = after;
  }
}

size_t TermScanner::RunEnd(std::u16string_view text, size_t start) const {
  const size_t last = std::min(text.size(), start + limits_.termUnitsMax);
  size_t end = start;
  while (end < last) {
    size_t after = end;
    const char32_t character = NextCharacter(text, &after);
    const WordClass kind = WordClassOf(character);
    if (!IsWordClass(kind) && kind != WordClass::kMark) break;
    end = after;
  }
  return end;
}

size_t TermScanner::CompoundEnd(std::u16string_view text, size_t start) const {
  size_t end = RunEnd(text, start);
  for (size_t runs = 1; runs < limits_.compoundRunsMax && IsJoint(text, end); ++runs) end = RunEnd(text, end + 1);
  const std::u16string_view rest = text.substr(end);
  if (rest.starts_with(u"++")) return end + 2;
  return rest.starts_with(u'#') && end - start == 1 ? end + 1 : end;
}

void TermScanner::ScanGrams(std::u16string_view run, bool isHangul, const Sink& sink) {
  characters_.clear();
  lower_.clear();
  normal_.clear();
  for (size_t at = 0; at < run.size();) lower_.push_back(NextCharacter(run, &at));
  // NFKC, lower case, NFC: the same normalization as for foldable words.
  Decompose(lower_, Form::kCompatible, &normal_);
  Compose(&normal_);
  lower_.clear();
  ToLower(normal_, &lower_);
  Decompose(lower_, Form::kCanonical, &characters_);
  Compose(&characters_);
  const auto emit = [&](size_t from, size_t to, TermKind kind) {
    gram_.clear();
    for (size_t i = from; i < to; ++i) AppendUnits(characters_[i], &gram_);
    sink(gram_, kind);
  };
  const size_t count = characters_.size();
  if (count == 1) return emit(0, 1, TermKind::kSingle);
  for (size_t i = 0; i < count; ++i) {
    const bool standsAlone = isHangul ? i == 0 : WordClassOf(characters_[i]) == WordClass::kHan;
    if (standsAlone) emit(i, i + 1, TermKind::kUnigram);
    if (i + 1 == count) continue;
    const bool isWeak = IsHiragana(characters_[i]) && IsHiragana(characters_[i + 1]);
    emit(i, i + 2, isWeak ? TermKind::kWeakBigram : TermKind::kBigram);
  }
}

// Emits the words of the unspaced run at `start`, or of its first slice, and returns the number of units processed.
// The last words of a slice that does not end its run may be truncated, so they are left for the next slice.
size_t TermScanner::ScanUnspaced(std::u16string_view text, size_t start, const Sink& sink) {
  constexpr size_t kSegmentsMin = 5;
  constexpr size_t kSegmentsLeft = 3;
  const auto belongs = [](WordClass kind) { return kind == WordClass::kUnspaced || kind == WordClass::kMark; };
  const size_t last = std::min(text.size(), start + limits_.segmenterUnitsMax);
  size_t end = start + 1;
  while (end < last && belongs(ClassOfUnit(text, end))) ++end;
  lengths_.clear();
  segment_(text.substr(start, end - start), &lengths_);
  const bool isWhole = !belongs(ClassOfUnit(text, end));
  if (!isWhole && lengths_.size() >= kSegmentsMin) lengths_.resize(lengths_.size() - kSegmentsLeft);
  size_t at = start;
  for (const uint32_t length : lengths_) {
    sink(text.substr(at, length), TermKind::kWord);
    at += length;
  }
  return at - start;
}

}  // namespace quarry::text
