// Correction candidates for misspelled words. Posting lists contain only hashes of terms, so no term
// dictionary is stored: all strings within a small edit distance are generated and looked up by hash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/search_request.h"
#include "engine/status.h"

namespace quarry {

// A word that occurs in no row.
struct UnknownWord {
  // Forms to which edits apply: the word itself, and the terms under which it would have been indexed.
  std::vector<std::u16string> forms;
  // Terms to look up unchanged: those that the caller has already edited by one letter.
  std::vector<std::u16string> terms;
  // Letters to try for substitutions and insertions.
  std::u16string letters;
  // Maximum edit distance, 1 or 2. Distance 2 applies only if no term has distance 1.
  uint32_t editsMax = 1;
};

struct Correction {
  uint32_t word;  // index of the word in the request
  std::u16string term;
  uint32_t edits;
  uint64_t rows;  // number of rows that contain it, including rows of removed documents that are not compacted yet
};

// Edits are substitutions, insertions, deletions and transpositions of adjacent letters (Damerau), no two of which
// overlap. With two edits, the first letter stays unchanged: typing errors are rare there, and it halves the work.
inline constexpr uint32_t kCorrectionsPerWord = 16;
// Maximum length of forms that are edited twice: the work grows with its square.
inline constexpr size_t kTwiceEditedUnitsMax = 16;

// Finds the terms with the fewest edits for each word, the most frequent first, at most kCorrectionsPerWord per word.
Status FindCorrections(const ReadSnapshot& readSnapshot, const std::vector<UnknownWord>& words,
                       const CancellationToken& cancellation, std::vector<Correction>* corrections);

// Whether each word of a query has a term that occurs in a list of some shard. Terms of a word must be adjacent.
bool HasAllWords(const ReadSnapshot& readSnapshot, const std::vector<QueryTerm>& terms);

// Returns the number of rows that contain each term, summed over the lists of all shards.
std::vector<double> CountRowsOfTerms(const ReadSnapshot& readSnapshot, const uint64_t* hashes, size_t count);

}  // namespace quarry
