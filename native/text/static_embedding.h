// Static embeddings: the vector of a text is a weighted mean of the vectors of its tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/add_scaled.h"
#include "text/word_piece.h"

namespace quarry::text {

// A text's vector is the prefix of its side plus, for every distinct token in the order of first occurrence,
// the token's codes x (its weight on that side x its share of the text), scaled to length 1. A token that
// occurs n times counts as n to the power of `repetitionExponent`. Additions have a fixed order and are never
// fused, so that the same text has the same bytes on every machine. Immutable and thread-safe.
class StaticEmbedding {
 public:
  // The two sides of a search; values index weights and prefixes.
  enum class Side : uint32_t { kQuery, kDocument };

  struct Parameters {
    std::shared_ptr<const Tokenizer> tokenizer;
    uint32_t dimensions = 0;
    double repetitionExponent = 1;
    std::vector<int8_t> codes;    // [vocabulary x dimensions]
    std::vector<float> weights;   // [2 x vocabulary]
    std::vector<float> prefixes;  // [2 x dimensions]

    bool operator==(const Parameters&) const = default;
  };

  // Units [start, end) of a text.
  struct Span {
    uint32_t start = 0;
    uint32_t end = 0;
  };

  struct Scratch {
    Tokenizer::Scratch tokenizer;
    Ids ids;
    Ids partIds;
    std::vector<Tokenizer::Word> words;
    std::u16string joined;
    std::vector<float> parts;       // for the caller of EmbedParts
    std::vector<uint32_t> counts;   // occurrences per token of the current text; all zero between texts
    std::vector<int32_t> distinct;  // tokens of the last text in the order of first occurrence, each once
    std::vector<double> shares;
    std::vector<ScaledRow> rows;
  };

  // Returns null if the sizes are inconsistent, or the tokenizer has ids beyond the vocabulary.
  static std::unique_ptr<StaticEmbedding> Create(Parameters parameters);

  uint32_t dimensions() const { return parameters_.dimensions; }
  const Parameters& parameters() const { return parameters_; }

  // Writes `dimensions` floats and returns the number of tokens. Any text is valid, including the empty one.
  size_t Embed(std::u16string_view text, Side side, Scratch* scratch, float* vector) const;
  // Writes the vector of a text with these tokens.
  void EmbedIds(std::span<const int32_t> ids, Side side, Scratch* scratch, float* vector) const;

  // Embeds a document's text below its heading (separated by a blank line), and parts of the text, which must
  // ascend and not overlap. Writes the result of Embed for each, the parts consecutively, and returns the
  // total number of tokens. The text is tokenized once, regardless of the number of parts.
  size_t EmbedParts(std::u16string_view heading, std::u16string_view text, std::span<const Span> parts,
                    Scratch* scratch, float* vector, float* partVectors) const;

 private:
  explicit StaticEmbedding(Parameters parameters) : parameters_(std::move(parameters)) {}

  Parameters parameters_;
  uint32_t vocabulary_ = 0;
  std::vector<double> shareOf_;  // by the number of occurrences of a token, for common numbers
};

}  // namespace quarry::text
