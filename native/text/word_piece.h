// WordPiece tokenizers: text -> ids of the pieces of a vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/unicode.h"

namespace quarry::text {

using Ids = std::vector<int32_t>;

// A WordPiece vocabulary, and how text is cut into words and normalised before its pieces are looked up. Immutable:
// threads share one. What a call needs to scribble on comes from the caller, so that nothing is allocated per text.
class Tokenizer {
 public:
  struct Scratch {
    std::vector<uint32_t> symbols;
    Characters characters;
    Characters normalised;
    Characters decomposed;
  };

  // A word of a text, in units, and where its ids end.
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

  // Appends the ids of `text`. Any UTF-16 is a valid text; time and memory are linear in it.
  virtual void Encode(std::u16string_view text, Scratch* scratch, Ids* ids) const = 0;

  // Encode, and appends the words whose ids they are, in their order: a part of the text that splits no word has the
  // ids of its words. False, and nothing done, for a tokenizer that cannot promise this.
  virtual bool EncodeWords(std::u16string_view /*text*/, Scratch* /*scratch*/, Ids* /*ids*/,
                           std::vector<Word>* /*words*/) const {
    return false;
  }

 protected:
  PieceTrie trie_;
  size_t size_ = 0;
};

// The tokenizer of the built-in models. A word is a longest run of letters, digits and marks, or one ideograph; what
// is longer than kWordUnitsMax is cut into several words. Words are lower-cased, brought to NFKD without the accents
// of the combining block, composed again, and split greedily into the longest pieces. A run of characters inside a
// word that no piece covers is one [UNK], id 0.
class PlainTokenizer final : public Tokenizer {
 public:
  static constexpr size_t kWordUnitsMax = 256;

  // The index of a piece is its id; "##" marks pieces that continue a word. Null when the first piece is not [UNK],
  // or the others are not distinct and not empty.
  static std::unique_ptr<PlainTokenizer> Create(const std::vector<std::u32string>& vocabulary);

  void Encode(std::u16string_view text, Scratch* scratch, Ids* ids) const override;
  bool EncodeWords(std::u16string_view text, Scratch* scratch, Ids* ids, std::vector<Word>* words) const override;
  // The ids of one word as NextWord gives it.
  void EncodeWord(std::u16string_view word, Scratch* scratch, Ids* ids) const;

  // The next word of `text` at or behind `*at`, which moves behind it; empty at the end.
  static std::u16string_view NextWord(std::u16string_view text, size_t* at);
  // The form of a word whose pieces are looked up, in scratch->normalised.
  static void Normalise(std::u16string_view word, Scratch* scratch);

 private:
  uint32_t asciiSymbols_[128] = {};  // of the lower case
};

// What BERT's tokenizers do, as the library @huggingface/tokenizers does it: BertNormalizer, BertPreTokenizer and
// WordPiece of a tokenizer.json, down to what it makes of odd characters.
class BertTokenizer final : public Tokenizer {
 public:
  struct AddedToken {
    std::u16string content;
    int32_t id = 0;
    bool stripsLeft = false;
    bool stripsRight = false;
  };
  struct Options {
    // "##" marks pieces that continue a word. Added tokens that a normalised word may be are among them.
    std::vector<std::pair<std::u32string, int32_t>> pieces;
    int32_t unknown = 0;
    size_t wordCharactersMax = 100;
    bool cleansText = true;
    bool spacesIdeographs = true;
    bool lowercases = true;
    bool stripsAccents = true;
    // Found in the text as it is, before it is normalised; where several match, the longest. None is empty or holds
    // white space.
    std::vector<AddedToken> addedTokens;
  };

  // Null when two pieces are the same.
  static std::unique_ptr<BertTokenizer> Create(Options options);

  void Encode(std::u16string_view text, Scratch* scratch, Ids* ids) const override;

 private:
  const AddedToken* AddedAt(std::u16string_view text, size_t at) const;
  void EncodeSection(std::u16string_view section, Scratch* scratch, Ids* ids) const;
  // A stretch has no ASCII white space, across which nothing that is done to text looks.
  void EncodePlainStretch(std::u16string_view stretch, Scratch* scratch, Ids* ids) const;
  void EncodeStretch(std::u16string_view stretch, bool isSection, Scratch* scratch, Ids* ids) const;
  void Normalise(std::u16string_view stretch, Scratch* scratch) const;
  void EncodeWord(const std::vector<uint32_t>& symbols, Ids* ids) const;

  Options options_;
  std::u16string addedStarts_;       // the units that added tokens begin with
  uint32_t asciiSymbols_[128] = {};  // of the lower case when that is wanted
};

}  // namespace quarry::text
