#include "text/light_stem.h"

#include <algorithm>
#include <cstddef>

namespace quarry::text {
namespace {

bool IsAnyOf(char letter, std::string_view letters) { return letters.find(letter) != std::string_view::npos; }

bool IsVowel(char letter) { return IsAnyOf(letter, "aeiouy"); }

// Removes a doubled final consonant, as in "stopp"; l, s and z may stay doubled.
void RemoveDoubledConsonant(std::string* stem) {
  const size_t size = stem->size();
  const char last = stem->back();
  if (size >= 2 && (*stem)[size - 2] == last && !IsAnyOf(last, "aeioulsz")) stem->pop_back();
}

void StripPlural(std::string* word) {
  const std::string_view view = *word;
  if (view.back() != 's' || view.ends_with("ss") || view.ends_with("us") || view.ends_with("is")) return;
  size_t removed = 1;
  if (view.ends_with("ies")) {
    if (view.size() > 4) {
      word->erase(view.size() - 2);
      word->back() = 'y';
      return;
    }
  } else {
    for (const std::string_view ending : {"sses", "shes", "ches", "xes", "zes"}) {
      if (view.ends_with(ending)) removed = 2;
    }
  }
  word->erase(word->size() - removed);
}

// Strips the first ending in the list that the word has, if enough of the word remains.
void StripEnding(std::string* word) {
  for (const std::string_view ending : {"ingly", "edly", "ing", "ed", "ly"}) {
    if (!word->ends_with(ending)) continue;
    const size_t kept = word->size() - ending.size();
    if (kept < 3 || std::none_of(word->begin(), word->begin() + static_cast<std::ptrdiff_t>(kept), IsVowel)) return;
    word->erase(kept);
    RemoveDoubledConsonant(word);
    return;
  }
}

}  // namespace

void ToLightStem(std::string* word) {
  const auto isLetter = [](char letter) { return letter >= 'a' && letter <= 'z'; };
  if (word->size() < 4 || !std::all_of(word->begin(), word->end(), isLetter)) return;
  StripPlural(word);
  StripEnding(word);
  if (word->size() <= 3) return;
  if (word->back() == 'e') {
    word->pop_back();
  } else if (word->back() == 'y') {
    word->back() = 'i';
  }
}

}  // namespace quarry::text
