// Analyzes the rows of a document into terms. The caller provides the rules that map a word to terms and is
// called once per distinct word; the lexicon caches the results, finds the words, and counts terms.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/fine_terms.h"
#include "text/latin_words.h"
#include "text/term_scan.h"

namespace quarry::text {

// Languages are indexes into a list of the caller; kUnknownLanguage means undetermined.
constexpr int kUnknownLanguage = -1;

struct Analyzer {
  Segment segment;
  // Sets the languages in which the word is a function word. Returns false if the word has nothing to index.
  std::function<bool(std::u16string_view word, std::vector<uint8_t>* languages)> expand;
  // Appends the hashes of the distinct terms of a word or gram in a text of a language.
  std::function<void(std::u16string_view term, bool isGram, int language, std::vector<uint64_t>* hashes)> hash;
  // Returns the language of a text, given the votes per language and the number of words.
  std::function<int(const std::vector<double>& votes, uint32_t words)> choose;
};

// How words of a language become terms: unchanged, by ToEnglishStem, or by Analyzer::hash.
enum class Stemming : uint8_t { kNone, kEnglish, kCaller };

struct LexiconOptions {
  ScanLimits scan;
  size_t entriesMax = 0;    // maximum number of cached words; then the cache is cleared
  size_t stemUnitsMax = 0;  // longer words are not stemmed
  // By language.
  std::vector<Stemming> stemming;
  // Languages in which a word is a function word; the same as Analyzer::expand sets.
  std::unordered_map<std::string, std::vector<uint8_t>> functionWords;
};

// Words that ToPieces expands are analyzed here, in languages without stemming and in English; the others by the
// analyzer, with the same rules. Gain, chunk worker, articles of Wikipedia: 226 -> 78 ms of CPU per MB.
//
// Not thread-safe. Texts analyzed before do not affect results.
class Lexicon {
 public:
  explicit Lexicon(LexiconOptions options);

  size_t languages() const { return options_.stemming.size(); }

  // Begins a document and discards the state of an unfinished one.
  void Begin();

  // Returns the common language of the texts. May be called while a row is added.
  int Language(const std::vector<std::u16string>& texts, const Analyzer& analyzer);

  struct Row {
    std::u16string_view text;
    std::u16string_view prefix;
    // End of each fine chunk in the text, ascending; the last is the end of the text. Empty for no fine chunks.
    std::span<const uint32_t> fineEnds;
  };

  // Adds a row to the block. A text without words has no entries, regardless of its prefix. Returns the language in
  // which the row was analyzed: that of its own words, or the result of `fallback` if it is undetermined. Appends the
  // terms of the fine chunks to *fineTerms (see text/fine_terms.h).
  int AddRow(const Row& row, const std::function<int()>& fallback, const Analyzer& analyzer,
             std::vector<uint8_t>* fineTerms);

  // Appends the terms of the fine chunks of a text in a language, identical to those of AddRow.
  void AppendFineTermsOf(std::u16string_view text, std::span<const uint32_t> fineEnds, int language,
                         const Analyzer& analyzer, std::vector<uint8_t>* fineTerms);

  // Returns the rows of the document as a TermBlock, described in src/text/terms.ts.
  std::vector<uint32_t> Block() const;
  // Total occurrences of terms, and the number of distinct terms summed over the rows.
  uint64_t occurrences() const { return occurrences_; }
  uint64_t entries() const { return block_.size() / 4; }

 private:
  static constexpr int16_t kNone = -2;

  // Kept small, with the data that nearly every word needs inline: accesses are random, and all entries
  // exceed the near CPU caches.
  struct Entry {
    uint64_t textHash = 0;
    uint64_t onlyTerm = 0;  // hash of the only term in `language`
    uint32_t textAt = 0;    // offset in texts_
    uint32_t textUnits = 0;
    uint32_t stopsAt = 0;      // offset in stops_
    int16_t language = kNone;  // language of the first hash; kNone if it has not exactly one term there
    uint8_t stops = 0;
    bool isGram : 1 = false;
    bool hasPieces : 1 = false;  // whether ToPieces expands it
    bool hasTerms : 1 = true;
  };
  // Hash table slot. The upper half of the text's hash rejects most other entries.
  struct Slot {
    uint32_t tag = 0;
    uint32_t number = 0;  // entry number + 1, or 0
  };

  struct Votes {
    std::vector<double> perLanguage;
    uint32_t words = 0;
  };

  // Returns the text of an entry. Valid until the next call of AddEntry.
  std::u16string_view TextOf(const Entry& entry) const {
    return std::u16string_view(texts_).substr(entry.textAt, entry.textUnits);
  }

  // Finds the words of the text in body_, and those of each fine chunk alone in fineWords_. `votes` may be null.
  void ScanBody(std::u16string_view text, std::span<const uint32_t> fineEnds, const Analyzer& analyzer, Votes* votes);
  void AddFineWords(const std::vector<uint32_t>& words);
  void EncodeFineTerms(std::u16string_view text, std::span<const uint32_t> fineEnds, int language,
                       const Analyzer& analyzer, std::vector<uint8_t>* fineTerms);
  // `votes` may be null.
  void Scan(std::u16string_view text, const Analyzer& analyzer, Votes* votes, std::vector<uint32_t>* found);
  uint32_t Find(std::u16string_view text, bool isGram, uint64_t hash, const Analyzer& analyzer);
  // Prefetches the entry that a text of this hash may have.
  void PrefetchEntry(uint64_t hash) const;
  uint32_t AddEntry(std::u16string_view text, bool isGram, uint64_t hash, const Analyzer& analyzer);
  // Sets the fields that depend on the word, and appends its function-word languages to stops_.
  void Expand(std::u16string_view word, const Analyzer& analyzer, Entry* entry);
  void AppendHashes(uint32_t number, int language, const Analyzer& analyzer, std::vector<uint64_t>* hashes);
  // Returns the hashes of the distinct terms of an entry.
  std::vector<uint64_t> HashesOf(const Entry& entry, int language, const Analyzer& analyzer);
  uint64_t HashText(std::u16string_view text, bool isGram) const;
  void Collect(const std::vector<uint32_t>& found, int language, const Analyzer& analyzer,
               std::vector<uint64_t>* hashes);
  // Counts the terms of the row's first words in the body once more.
  void CountLeadTwice(int language, const Analyzer& analyzer);
  void InsertSlot(uint32_t number);
  void Grow();
  void Clear();
  void AppendCounts();

  LexiconOptions options_;
  uint64_t seed_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // open addressing
  std::u16string texts_;
  std::vector<uint8_t> stops_;
  // Hashes of entries in languages where they do not have exactly one term, or that were not the first to be looked up.
  std::unordered_map<uint64_t, std::vector<uint64_t>> otherHashes_;
  std::vector<Piece> pieces_;
  std::vector<uint32_t> body_;
  std::vector<uint32_t> prefix_;
  std::vector<uint32_t> found_;
  std::vector<uint32_t> fineWords_;   // of all fine chunks of the row
  std::vector<size_t> fineWordEnds_;  // end of those of each fine chunk
  std::vector<FineTerm> fineTerms_;
  std::vector<uint64_t> fineHashes_;
  std::vector<uint8_t> fineBlanks_;
  std::vector<uint64_t> bodyHashes_;
  std::vector<uint64_t> prefixHashes_;
  std::vector<uint32_t> sizes_;
  std::vector<uint32_t> block_;
  uint64_t occurrences_ = 0;
};

}  // namespace quarry::text
