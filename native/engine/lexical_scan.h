// Lexical search that scores every posting. For queries with so few postings that pruning by bounds does not pay.
#pragma once

#include "engine/lexical_query.h"

namespace quarry {

bool IsScanApplicable(const Shard& shard, const TermGroups& groups);

// As LexicalSearch::Score.
void ScanPostings(const LexicalQuery& query, ScoreFloor* floor, std::vector<ScoredChunk>* best, LexicalScores* near);

}  // namespace quarry
