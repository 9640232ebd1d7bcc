// The built-in reranker: a small network over features of a query and a document.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "text/idf_table.h"
#include "text/rerank_features.h"
#include "text/rerank_network.h"
#include "text/soft_matcher.h"
#include "text/static_embedding.h"
#include "text/word_piece.h"

namespace quarry::text {

// A query prepared for scoring many documents. Not thread-safe: it caches what documents have in common.
class RerankQuery {
 public:
  // Number of pieces of the query.
  size_t tokens() const { return tokens_; }

 private:
  friend class FeatureReranker;

  enum class Kind : uint16_t { kNone, kTerm, kFunctionWord };
  // Role of a document word in the query. Small, because there is one per piece of the vocabulary.
  struct Role {
    Kind kind : 2 = Kind::kNone;
    bool isExact : 1 = false;  // the form occurs in the query, not only its stem
    uint16_t number : 13 = 0;  // of the term or the function word
  };

  explicit RerankQuery(SoftMatcher matcher) : softMatcher_(std::move(matcher)) {}

  RerankTerms terms_;
  std::vector<Role> rolesOfPieces_;
  std::unordered_map<uint64_t, Role> rolesOfStems_;  // isExact is not set
  std::unordered_set<uint64_t> forms_;
  std::vector<float> vector_;
  SoftMatcher softMatcher_;
  size_t tokens_ = 0;
};

// The reference of its features is models/train/rerank-features.ts. Immutable and thread-safe.
class FeatureReranker {
 public:
  struct Parameters {
    std::shared_ptr<const PlainTokenizer> tokenizer;
    std::vector<std::string> vocabulary;  // the pieces of the tokenizer in UTF-8
    std::shared_ptr<const StaticEmbedding> embedding;
    std::unique_ptr<const IdfTable> idf;
    std::unique_ptr<const RerankNetwork> network;
    std::unordered_set<std::string> functionWords;  // normalized, in UTF-8
  };

  struct Scratch {
    StaticEmbedding::Scratch embedding;
    WordAnalysis analysis;
    TermMatches matches;
    std::vector<bool> functionStemsFound;
    std::vector<float> soft;
    std::vector<float> vector;
  };

  // Returns null if the parts do not fit together.
  static std::unique_ptr<FeatureReranker> Create(Parameters parameters);

  // The tokenizer whose analysis ScoreWords expects.
  const PlainTokenizer& tokenizer() const { return *parameters_.tokenizer; }

  std::unique_ptr<RerankQuery> Prepare(std::u16string_view query, Scratch* scratch) const;

  // Writes kRerankFeatures features of a document. Its analysis does not depend on the query: it may be stored.
  void ComputeFeatures(RerankQuery* query, const WordAnalysis& document, Scratch* scratch, float* features) const;
  // Returns the score, from 0 to 1, of a document.
  float Score(RerankQuery* query, const WordAnalysis& document, Scratch* scratch) const;

 private:
  struct QueryWord {
    std::string form;
    std::string stem;
    std::u16string_view raw;
    size_t position = 0;
    bool isFunctionWord = false;
  };
  struct QueryTerm {
    RerankTerm term;
    std::string stem;
    std::vector<int32_t> tokens;
  };

  explicit FeatureReranker(Parameters parameters);

  std::vector<QueryWord> SplitQuery(std::u16string_view query, Scratch* scratch) const;
  std::vector<QueryTerm> CollectTerms(const std::vector<QueryWord>& words, Scratch* scratch) const;
  void SetRoles(const std::vector<QueryWord>& words, RerankQuery* query) const;
  void FindMatches(const RerankQuery& query, Scratch* scratch, const WordAnalysis& document) const;
  void MatchSoftly(RerankQuery* query, Scratch* scratch) const;

  Parameters parameters_;
  TokenDirections directions_;
  std::vector<uint64_t> formsOfPieces_;                     // hashes; 0 for a piece that is not a word
  std::vector<std::pair<uint64_t, int32_t>> piecesByStem_;  // ascending
};

}  // namespace quarry::text
