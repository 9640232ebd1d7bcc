// WordPiece tokenizers: convert text to ids of vocabulary pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/unicode.h"
#include "text/word_table.h"

namespace quarry::text {

using Ids = std::vector<int32_t>;

// A WordPiece vocabulary, and the rules that split text into words and normalize them before their pieces are looked
// up. Immutable and thread-safe. Working memory comes from the caller, so that nothing is allocated per text.
class Tokenizer {
 public:
  struct Scratch {
    std::vector<uint32_t> symbols;
    Characters characters;
    Characters normalized;
    Characters decomposed;
    std::vector<uint8_t> classes;
    std::string form;
  };

  // A word of a text, in units, and the end of its ids.
  struct Word {
    size_t start = 0;
    size_t end = 0;
    size_t idsEnd = 0;
  };

  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  // One more than the highest id.
  size_t size() const { return size_; }

  // Appends the ids of `text`. Any UTF-16 is valid; time and memory are linear in it.
  virtual void Encode(std::u16string_view text, Scratch* scratch, Ids* ids) const = 0;

  // As Encode, and also appends the words of the ids, in order: a part of the text that splits no word has
  // the ids of its words. Returns false without effect if the tokenizer cannot guarantee this.
  virtual bool EncodeWords(std::u16string_view /*text*/, Scratch* /*scratch*/, Ids* /*ids*/,
                           std::vector<Word>* /*words*/) const {
    return false;
  }

 protected:
  PieceTrie trie_;
  size_t size_ = 0;
};

// The words of a text, independent of any query. Words are compared by the hashes of their normalized forms and
// of their stems.
struct WordAnalysis {
  static constexpr uint32_t kOther = 0x80000000;

  struct OtherWord {
    uint64_t form = 0;
    uint64_t stem = 0;
  };

  Ids ids;                        // pieces of all words
  std::vector<uint32_t> words;    // of each word its only piece, or kOther + its index in `others`
  std::vector<OtherWord> others;  // words of no or several pieces, or with an unknown piece
};

// Hash of a normalized word or a stem in UTF-8.
uint64_t HashWord(std::string_view word);

// The tokenizer of the built-in models. A word is a maximal run of letters, digits and marks, or one
// ideograph; a run longer than kWordUnitsMax is split into several words. Words are lower-cased, brought to
// NFKD without the accents of the combining block, composed again, and split greedily into the longest
// pieces. A run of characters inside a word that no piece covers becomes one [UNK], id 0.
class PlainTokenizer final : public Tokenizer {
 public:
  static constexpr size_t kWordUnitsMax = 256;

  // The index of a piece is its id; "##" marks pieces that continue a word. Returns null if the first piece
  // is not [UNK], or if the others are not distinct and non-empty.
  static std::unique_ptr<PlainTokenizer> Create(const std::vector<std::u32string>& vocabulary);

  void Encode(std::u16string_view text, Scratch* scratch, Ids* ids) const override;
  bool EncodeWords(std::u16string_view text, Scratch* scratch, Ids* ids, std::vector<Word>* words) const override;
  // Replaces the contents of `analysis`; its ids are those of Encode.
  void Analyze(std::u16string_view text, Scratch* scratch, WordAnalysis* analysis) const;
  // Appends the ids of one word, as returned by NextWord.
  void EncodeWord(std::u16string_view word, Scratch* scratch, Ids* ids) const;

  // Returns the next word of `text` at or after `*at` and advances `*at` past it; empty at the end.
  static std::u16string_view NextWord(std::u16string_view text, size_t* at);
  // Writes the normalized form of a word, whose pieces are looked up, to scratch->normalized.
  static void Normalize(std::u16string_view word, Scratch* scratch);
  // Writes the same form as UTF-8.
  static void NormalizeToUtf8(std::u16string_view word, Scratch* scratch, std::string* form);

 private:
  // Calls onWord(start, end, id) for every word in order, with the id of the piece that is the whole word, or -1
  // if the word is not a short ASCII word or not a piece.
  template <class OnWord>
  void ForEachWord(std::u16string_view text, Scratch* scratch, OnWord onWord) const;

  WordTable shortWords_;
  uint32_t asciiSymbols_[128] = {};  // of the lower-case characters
};

// BERT tokenization, compatible with the library @huggingface/tokenizers: BertNormalizer, BertPreTokenizer
// and WordPiece of a tokenizer.json, including its treatment of unusual characters.
class BertTokenizer final : public Tokenizer {
 public:
  struct AddedToken {
    std::u16string content;
    int32_t id = 0;
    bool stripsLeft = false;
    bool stripsRight = false;
  };
  struct Options {
    // "##" marks pieces that continue a word. Includes added tokens that a normalized word may equal.
    std::vector<std::pair<std::u32string, int32_t>> pieces;
    int32_t unknown = 0;
    size_t wordCharactersMax = 100;
    bool cleansText = true;
    bool spacesIdeographs = true;
    bool lowercases = true;
    bool stripsAccents = true;
    // Matched in the original text before normalization; the longest match wins. None may be empty or contain
    // white space.
    std::vector<AddedToken> addedTokens;
  };

  // Returns null if two pieces are equal.
  static std::unique_ptr<BertTokenizer> Create(Options options);

  void Encode(std::u16string_view text, Scratch* scratch, Ids* ids) const override;

 private:
  const AddedToken* AddedAt(std::u16string_view text, size_t at) const;
  void EncodeSection(std::u16string_view section, Scratch* scratch, Ids* ids) const;
  // A stretch contains no ASCII white space; no processing step looks across white space.
  void EncodePlainStretch(std::u16string_view stretch, Scratch* scratch, Ids* ids) const;
  void EncodeStretch(std::u16string_view stretch, bool isSection, Scratch* scratch, Ids* ids) const;
  void Normalize(std::u16string_view stretch, Scratch* scratch) const;
  void EncodeWord(const std::vector<uint32_t>& symbols, Ids* ids) const;

  Options options_;
  std::u16string addedStarts_;       // first units of all added tokens
  uint32_t asciiSymbols_[128] = {};  // of the lower-case characters if `lowercases` is set
};

}  // namespace quarry::text
