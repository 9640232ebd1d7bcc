// The terms of a document's rows. How a spelling becomes terms is known to the caller, who is asked once for each
// spelling; this remembers the answers, finds the words, and counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/term_scan.h"

namespace quarry::text {

// Languages are positions in a list of the caller's; kUnsure is no language.
constexpr int kUnsure = -1;

struct Analyser {
  Segment segment;
  // Languages that have the word as a function word; false when the word has nothing to index.
  std::function<bool(std::u16string_view word, std::vector<uint8_t>* languages)> expand;
  // Hashes of the distinct terms of a word or gram in a text of a language.
  std::function<void(std::u16string_view term, bool isGram, int language, std::vector<uint64_t>* hashes)> hash;
  // The language of a passage: votes per language and the number of words.
  std::function<int(const std::vector<double>& votes, uint32_t words)> choose;
};

struct LexiconLimits {
  ScanLimits scan;
  size_t entriesMax = 0;  // remembered spellings; then all are forgotten
  size_t languages = 0;
};

// For one thread. What was analysed before changes no result.
class Lexicon {
 public:
  explicit Lexicon(LexiconLimits limits);

  size_t languages() const { return limits_.languages; }

  // Begins a document: what is left of one that was given up is forgotten.
  void Begin();

  // The language of some texts together. May be called while a row is added.
  int Language(const std::vector<std::u16string>& texts, const Analyser& analyser);

  // Adds a row to the block. A text without words has no entries, whatever its prefix says. Returns the language the
  // row was analysed in: that of its own words, or what `fallback` says when they leave doubt.
  int AddRow(std::u16string_view text, std::u16string_view prefix, const std::function<int()>& fallback,
             const Analyser& analyser);

  // The rows of the document as a TermBlock (src/text/terms.ts describes it).
  std::vector<uint32_t> Block() const;
  // Occurrences of terms, and distinct terms summed over the rows.
  uint64_t occurrences() const { return occurrences_; }
  uint64_t entries() const { return block_.size() / 4; }

 private:
  static constexpr int16_t kNone = -2;

  // Small, and with what nearly every word needs inside: texts jump between entries, which are more than near caches
  // hold.
  struct Entry {
    uint64_t textHash = 0;
    uint64_t onlyTerm = 0;  // hash of the only term in `language`
    uint32_t textAt = 0;    // in texts_
    uint32_t textUnits = 0;
    uint32_t stopsAt = 0;      // in stops_
    int16_t language = kNone;  // that the word was first hashed for; kNone when it has other than one term there
    uint8_t stops = 0;
    bool isGram : 1 = false;
    bool hasTerms : 1 = true;
  };
  // Where an entry may be: the upper half of its text's hash tells most strangers apart.
  struct Slot {
    uint32_t tag = 0;
    uint32_t number = 0;  // of an entry + 1, or 0
  };

  struct Votes {
    std::vector<double> perLanguage;
    uint32_t words = 0;
  };

  // The text of an entry; until something is remembered.
  std::u16string_view TextOf(const Entry& entry) const {
    return std::u16string_view(texts_).substr(entry.textAt, entry.textUnits);
  }

  // `votes` may be null.
  void Scan(std::u16string_view text, const Analyser& analyser, Votes* votes, std::vector<uint32_t>* found);
  uint32_t Find(std::u16string_view text, bool isGram, uint64_t hash, const Analyser& analyser);
  // Has the entry that a text of this hash may have brought from memory.
  void FetchEntry(uint64_t hash) const;
  uint32_t Remember(std::u16string_view text, bool isGram, uint64_t hash, const Analyser& analyser);
  void AppendHashes(uint32_t number, int language, const Analyser& analyser, std::vector<uint64_t>* hashes);
  uint64_t HashText(std::u16string_view text, bool isGram) const;
  void Collect(const std::vector<uint32_t>& found, int language, const Analyser& analyser,
               std::vector<uint64_t>* hashes);
  // Adds the terms of the row's first words to those of its body once more.
  void CountLeadAgain(int language, const Analyser& analyser);
  void Place(uint32_t number);
  void Grow();
  void Forget();
  void AppendCounts();

  LexiconLimits limits_;
  uint64_t seed_;
  std::vector<Entry> all_;
  std::vector<Slot> slots_;  // open addressing
  std::u16string texts_;
  std::vector<uint8_t> stops_;
  // Of entries in languages where they have other than one term, or that were not the first.
  std::unordered_map<uint64_t, std::vector<uint64_t>> otherHashes_;
  std::vector<uint32_t> body_;
  std::vector<uint32_t> prefix_;
  std::vector<uint64_t> bodyHashes_;
  std::vector<uint64_t> prefixHashes_;
  std::vector<uint32_t> sizes_;
  std::vector<uint32_t> block_;
  uint64_t occurrences_ = 0;
};

}  // namespace quarry::text
