// Terms that a misspelled word may stand for. Lists know terms only by their hashes, so nothing is kept for this: what
// differs from the word by few letters is spelled out, and looked for by its hash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/search_request.h"
#include "engine/status.h"

namespace quarry {

// A word that stands in no row.
struct UnknownWord {
  // Forms of it to change by a letter: what the word is, and the terms it would have been indexed under.
  std::vector<std::u16string> forms;
  // Terms to look for as they are: what the caller has changed by a letter itself.
  std::vector<std::u16string> terms;
  // That a changed or added letter may be.
  std::u16string letters;
  // Letters that may differ where no term differs by one: 1 or 2.
  uint32_t editsMax = 1;
};

struct Spelling {
  uint32_t word;  // its number among those asked
  std::u16string term;
  uint32_t edits;
  uint64_t rows;  // that hold it, with those of removed documents that are still there
};

// Letters that are changed, added, left out, or changed places with the next one: Damerau's edits, of which no two
// touch the same place. The first letter stays where two are made: people rarely err there, and it halves the work.
inline constexpr uint32_t kSpellingsPerWord = 16;
// Forms that two edits are made in have no more letters: the work grows with their square.
inline constexpr size_t kTwiceEditedUnitsMax = 16;

// The terms of least edits for each word, those in most rows first, at most kSpellingsPerWord of each.
Status FindSpellings(const Moment& moment, const std::vector<UnknownWord>& words, const Patience& patience,
                     std::vector<Spelling>* spellings);

// Whether each word of a query, whose terms stand together, has a term that a list of some shard has.
bool HaveAllWords(const Moment& moment, const std::vector<QueryTerm>& terms);

// In how many rows the lists of all shards have each term.
std::vector<double> CountRowsOfTerms(const Moment& moment, const uint64_t* hashes, size_t count);

}  // namespace quarry
