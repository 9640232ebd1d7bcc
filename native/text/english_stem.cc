#include "text/english_stem.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace quarry::text {
namespace {

// Marks a y that is a consonant, as in "yes" and "boyish".
constexpr char kConsonantY = 'Y';

bool IsVowel(char letter) { return std::string_view("aeiouy").find(letter) != std::string_view::npos; }

// Words before which an "li" is removed, by their last letter.
bool IsLiEnding(char letter) { return std::string_view("cdeghkmnrt").find(letter) != std::string_view::npos; }

struct Replacement {
  std::string_view from;
  std::string_view to;
};

constexpr std::array<Replacement, 18> kWholeWords = {{
    {"skis", "ski"},
    {"skies", "sky"},
    {"dying", "die"},
    {"lying", "lie"},
    {"tying", "tie"},
    {"idly", "idl"},
    {"gently", "gentl"},
    {"ugly", "ugli"},
    {"early", "earli"},
    {"only", "onli"},
    {"singly", "singl"},
    {"sky", "sky"},
    {"news", "news"},
    {"howe", "howe"},
    {"atlas", "atlas"},
    {"cosmos", "cosmos"},
    {"bias", "bias"},
    {"andes", "andes"},
}};

// Complete after the removal of a plural s.
constexpr std::array<std::string_view, 8> kCompleteWords = {"inning",  "outing",  "canning", "herring",
                                                            "earring", "proceed", "exceed",  "succeed"};

// Longer suffixes before their own suffixes.
constexpr std::array<Replacement, 24> kStep2 = {{
    {"ization", "ize"}, {"ational", "ate"}, {"fulness", "ful"}, {"ousness", "ous"}, {"iveness", "ive"},
    {"tional", "tion"}, {"biliti", "ble"},  {"lessli", "less"}, {"entli", "ent"},   {"ation", "ate"},
    {"alism", "al"},    {"aliti", "al"},    {"ousli", "ous"},   {"iviti", "ive"},   {"fulli", "ful"},
    {"enci", "ence"},   {"anci", "ance"},   {"abli", "able"},   {"izer", "ize"},    {"ator", "ate"},
    {"alli", "al"},     {"bli", "ble"},     {"ogi", "og"},      {"li", ""},
}};

constexpr std::array<Replacement, 9> kStep3 = {{
    {"ational", "ate"},
    {"tional", "tion"},
    {"alize", "al"},
    {"icate", "ic"},
    {"iciti", "ic"},
    {"ative", ""},
    {"ical", "ic"},
    {"ness", ""},
    {"ful", ""},
}};

constexpr std::array<std::string_view, 18> kStep4 = {"ement", "ance", "ence", "able", "ible", "ment",
                                                     "ant",   "ent",  "ism",  "ate",  "iti",  "ous",
                                                     "ive",   "ize",  "ion",  "al",   "er",   "ic"};

class Stemmer {
 public:
  explicit Stemmer(std::string* word) : word_(*word) {}

  void Run() {
    MarkConsonants();
    FindRegions();
    RemovePlural();
    if (std::find(kCompleteWords.begin(), kCompleteWords.end(), word_) == kCompleteWords.end()) {
      RemovePast();
      ReplaceFinalY();
      ReplaceInRegion1();
      ReplaceDerived();
      RemoveInRegion2();
      RemoveFinalLetter();
    }
    std::replace(word_.begin(), word_.end(), kConsonantY, 'y');
  }

 private:
  bool EndsWith(std::string_view suffix) const { return std::string_view(word_).ends_with(suffix); }
  size_t Before(std::string_view suffix) const { return word_.size() - suffix.size(); }
  void Replace(std::string_view suffix, std::string_view by) { word_.replace(Before(suffix), suffix.size(), by); }

  // Whether one of the first `end` letters is a vowel.
  bool HasVowel(size_t end) const {
    return std::any_of(word_.begin(), word_.begin() + static_cast<std::ptrdiff_t>(end), IsVowel);
  }

  // Whether the first `end` letters end with a short syllable.
  bool EndsShort(size_t end) const {
    if (end == 2) return IsVowel(word_[0]) && !IsVowel(word_[1]);
    if (end < 3) return false;
    const char last = word_[end - 1];
    const bool isClosed = !IsVowel(last) && last != 'w' && last != 'x' && last != kConsonantY;
    return isClosed && IsVowel(word_[end - 2]) && !IsVowel(word_[end - 3]);
  }

  void MarkConsonants() {
    for (size_t i = 0; i < word_.size(); ++i) {
      if (word_[i] == 'y' && (i == 0 || IsVowel(word_[i - 1]))) word_[i] = kConsonantY;
    }
  }

  // Returns the position after the first consonant that follows a vowel at or after `start`.
  size_t RegionAfter(size_t start) const {
    size_t at = start;
    while (at < word_.size() && !IsVowel(word_[at])) ++at;
    while (at < word_.size() && IsVowel(word_[at])) ++at;
    return std::min(at + 1, word_.size());
  }

  void FindRegions() {
    region1_ = RegionAfter(0);
    for (const std::string_view prefix : {"gener", "commun", "arsen"}) {
      if (std::string_view(word_).starts_with(prefix)) region1_ = prefix.size();
    }
    region2_ = RegionAfter(region1_);
  }

  // Step 1a.
  void RemovePlural() {
    if (EndsWith("sses")) return Replace("sses", "ss");
    if (EndsWith("ied")) return Replace("ied", word_.size() > 4 ? "i" : "ie");
    if (EndsWith("ies")) return Replace("ies", word_.size() > 4 ? "i" : "ie");
    if (EndsWith("us") || EndsWith("ss") || !EndsWith("s")) return;
    if (word_.size() > 2 && HasVowel(word_.size() - 2)) word_.pop_back();
  }

  // Step 1b.
  void RemovePast() {
    for (const std::string_view suffix : {"eedly", "eed"}) {
      if (!EndsWith(suffix)) continue;
      if (Before(suffix) >= region1_) Replace(suffix, "ee");
      return;
    }
    for (const std::string_view suffix : {"ingly", "edly", "ing", "ed"}) {
      if (!EndsWith(suffix)) continue;
      if (HasVowel(Before(suffix))) {
        Replace(suffix, "");
        RestoreEnd();
      }
      return;
    }
  }

  // Restores the end of a word after the removal of "ed" or "ing": "hop" from "hopp", "hope" from "hop".
  void RestoreEnd() {
    if (EndsWith("at") || EndsWith("bl") || EndsWith("iz")) return word_.push_back('e');
    for (const std::string_view twice : {"bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"}) {
      if (EndsWith(twice)) return word_.pop_back();
    }
    if (region1_ >= word_.size() && EndsShort(word_.size())) word_.push_back('e');
  }

  // Step 1c.
  void ReplaceFinalY() {
    const size_t size = word_.size();
    if (size < 3 || (word_[size - 1] != 'y' && word_[size - 1] != kConsonantY)) return;
    if (!IsVowel(word_[size - 2])) word_[size - 1] = 'i';
  }

  // Step 2.
  void ReplaceInRegion1() {
    for (const auto& [from, to] : kStep2) {
      if (!EndsWith(from)) continue;
      const size_t before = Before(from);
      if (before < region1_) return;
      if (from == "ogi" && (before == 0 || word_[before - 1] != 'l')) return;
      if (from == "li" && (before == 0 || !IsLiEnding(word_[before - 1]))) return;
      return Replace(from, to);
    }
  }

  // Step 3.
  void ReplaceDerived() {
    for (const auto& [from, to] : kStep3) {
      if (!EndsWith(from)) continue;
      if (Before(from) >= (from == "ative" ? region2_ : region1_)) Replace(from, to);
      return;
    }
  }

  // Step 4.
  void RemoveInRegion2() {
    for (const std::string_view suffix : kStep4) {
      if (!EndsWith(suffix)) continue;
      const size_t before = Before(suffix);
      if (before < region2_) return;
      if (suffix == "ion" && (before == 0 || (word_[before - 1] != 's' && word_[before - 1] != 't'))) return;
      return Replace(suffix, "");
    }
  }

  // Step 5.
  void RemoveFinalLetter() {
    if (word_.empty()) return;
    const size_t before = word_.size() - 1;
    if (EndsWith("e")) {
      if (before >= region2_ || (before >= region1_ && !EndsShort(before))) word_.pop_back();
    } else if (EndsWith("ll") && before >= region2_) {
      word_.pop_back();
    }
  }

  std::string& word_;
  size_t region1_ = 0;
  size_t region2_ = 0;
};

}  // namespace

void ToEnglishStem(std::string* word) {
  if (word->size() < 3) return;
  if (!std::all_of(word->begin(), word->end(), [](char letter) { return letter >= 'a' && letter <= 'z'; })) return;
  const auto whole = std::find_if(kWholeWords.begin(), kWholeWords.end(),
                                  [&](const Replacement& replacement) { return replacement.from == *word; });
  if (whole != kWholeWords.end()) {
    *word = whole->to;
    return;
  }
  Stemmer(word).Run();
}

}  // namespace quarry::text
