// Light stemming of English words, as the weights of the built-in reranker were trained with.
#pragma once

#include <string>
#include <string_view>

namespace quarry::text {

// Replaces a normalized word (UTF-8) by its stem, as toLightStem in src/models/light-stem.ts does. Words with
// characters other than a to z, and words of fewer than four letters, are unchanged.
void ToLightStem(std::string* word);

}  // namespace quarry::text
