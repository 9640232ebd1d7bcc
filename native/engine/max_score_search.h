// Lexical search in windows of consecutive rows. In each window, words whose gains together cannot lift a row to the
// required score (MaxScore: Turtle and Flood, 1995; here with the bounds of the blocks in the window) are looked up
// only for the rows that remain candidates after the other words.
#pragma once

#include "engine/lexical_query.h"

namespace quarry {

// As LexicalSearch::Score.
Status SearchByMaxScore(const LexicalQuery& query, ScoreFloor* floor, std::vector<ScoredChunk>* best,
                        LexicalScores* near);

}  // namespace quarry
