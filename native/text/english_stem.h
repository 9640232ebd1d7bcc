// Stems of English words: the Snowball algorithm "english" (Porter2), as the npm package snowball-stemmers computes
// them. In C++, because a new word of a text or query took 15 us in JavaScript, most of it for the stem.
#pragma once

#include <string>

namespace quarry::text {

// Replaces a word of the letters a to z by its stem. Other words are unchanged. Linear time.
void ToEnglishStem(std::string* word);

}  // namespace quarry::text
