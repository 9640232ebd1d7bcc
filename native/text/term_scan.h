// Splits text for the lexical analysis: words with their connectors, and grams of scripts without spaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace quarry::text {

// `kBigram`: two adjacent characters. `kWeakBigram`: two hiragana, mostly grammar. `kSingle`: the only character
// of its run. `kUnigram`: one character of a longer run, for queries of a single character.
enum class TermKind : uint8_t { kWord, kBigram, kWeakBigram, kSingle, kUnigram };

struct ScanLimits {
  size_t termUnitsMax = 0;       // of one run of letters and digits
  size_t compoundRunsMax = 0;    // maximum number of runs that connectors join to one word
  size_t segmenterUnitsMax = 0;  // of one slice passed to the segmenter
};

// Segments a slice of Thai, Lao, Khmer or Burmese into words. Sets their lengths in units, which must add up
// to the slice.
using Segment = std::function<void(std::u16string_view slice, std::vector<uint32_t>* lengths)>;
// Receives each word as it occurs in the text, and each gram in normalized form.
using Sink = std::function<void(std::u16string_view term, TermKind kind)>;

// Scans a text once and emits its words in order. Letters and digits of spaced scripts form words, joined by
// single - _ . @ & and apostrophes into compounds. Han, kana and Hangul form overlapping pairs; additionally
// every Han character, and the first syllable of each Hangul word, because particles follow it. Thai, Lao,
// Khmer and Burmese are segmented in short slices. Linear time for any text.
class TermScanner {
 public:
  TermScanner(ScanLimits limits, Segment segment) : limits_(limits), segment_(std::move(segment)) {}

  void Scan(std::u16string_view text, const Sink& sink);

 private:
  size_t RunEnd(std::u16string_view text, size_t start) const;
  size_t CompoundEnd(std::u16string_view text, size_t start) const;
  void ScanGrams(std::u16string_view run, bool isHangul, const Sink& sink);
  size_t ScanUnspaced(std::u16string_view text, size_t start, const Sink& sink);

  ScanLimits limits_;
  Segment segment_;
  Characters characters_;
  Characters lower_;
  Characters normal_;
  std::u16string gram_;
  std::vector<uint32_t> lengths_;
};

}  // namespace quarry::text
