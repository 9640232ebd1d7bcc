#include "text/feature_reranker.h"

#include <algorithm>

#include "text/light_stem.h"

namespace quarry::text {
namespace {

constexpr std::string_view kContinuationBytes = "##";

bool HasDigit(std::u16string_view word, Tokenizer::Scratch* scratch) {
  PlainTokenizer::Normalize(word, scratch);
  return std::any_of(scratch->normalized.begin(), scratch->normalized.end(),
                     [](char32_t c) { return (PropertiesOf(c).flags & kNumber) != 0; });
}

}  // namespace

std::unique_ptr<FeatureReranker> FeatureReranker::Create(Parameters parameters) {
  const bool isComplete = parameters.tokenizer != nullptr && parameters.embedding != nullptr &&
                          parameters.idf != nullptr && parameters.network != nullptr;
  if (!isComplete || parameters.network->features() != kRerankFeatures) return nullptr;
  const size_t size = parameters.tokenizer->size();
  const auto& embedding = parameters.embedding->parameters();
  if (parameters.vocabulary.size() != size || embedding.tokenizer.get() != parameters.tokenizer.get()) return nullptr;
  return std::unique_ptr<FeatureReranker>(new FeatureReranker(std::move(parameters)));
}

FeatureReranker::FeatureReranker(Parameters parameters)
    : parameters_(std::move(parameters)),
      directions_(parameters_.embedding->parameters().codes, parameters_.embedding->dimensions()) {
  const auto& vocabulary = parameters_.vocabulary;
  formsOfPieces_.resize(vocabulary.size());
  // Piece 0 is [UNK].
  for (size_t piece = 1; piece < vocabulary.size(); ++piece) {
    if (vocabulary[piece].starts_with(kContinuationBytes)) continue;
    std::string stem = vocabulary[piece];
    formsOfPieces_[piece] = HashWord(stem);
    ToLightStem(&stem);
    piecesByStem_.emplace_back(HashWord(stem), static_cast<int32_t>(piece));
  }
  std::sort(piecesByStem_.begin(), piecesByStem_.end());
}

std::unique_ptr<RerankQuery> FeatureReranker::Prepare(std::u16string_view text, Scratch* scratch) const {
  const std::vector<QueryWord> words = SplitQuery(text, scratch);
  const std::vector<QueryTerm> terms = CollectTerms(words, scratch);
  std::vector<std::vector<int32_t>> tokens;
  for (const QueryTerm& term : terms) tokens.push_back(term.tokens);
  std::unique_ptr<RerankQuery> query(new RerankQuery(SoftMatcher(directions_, tokens)));
  for (size_t number = 0; number < terms.size(); ++number) {
    query->terms_.terms.push_back(terms[number].term);
    query->terms_.idfTotal += terms[number].term.idf;
    RerankQuery::Role role;
    role.kind = RerankQuery::Kind::kTerm;
    role.number = static_cast<uint16_t>(number);
    query->rolesOfStems_.emplace(HashWord(terms[number].stem), role);
  }
  SetRoles(words, query.get());
  query->vector_.resize(parameters_.embedding->dimensions());
  query->tokens_ =
      parameters_.embedding->Embed(text, StaticEmbedding::Side::kQuery, &scratch->embedding, query->vector_.data());
  return query;
}

// Returns the words of a query. Function words are marked only if the query has other words.
std::vector<FeatureReranker::QueryWord> FeatureReranker::SplitQuery(std::u16string_view query, Scratch* scratch) const {
  std::vector<QueryWord> words;
  size_t functionWords = 0;
  size_t at = 0;
  for (auto raw = PlainTokenizer::NextWord(query, &at); !raw.empty(); raw = PlainTokenizer::NextWord(query, &at)) {
    QueryWord word;
    word.raw = raw;
    word.position = words.size();
    PlainTokenizer::NormalizeToUtf8(raw, &scratch->embedding.tokenizer, &word.form);
    word.stem = word.form;
    ToLightStem(&word.stem);
    word.isFunctionWord = parameters_.functionWords.contains(word.form);
    functionWords += word.isFunctionWord ? 1 : 0;
    words.push_back(std::move(word));
  }
  if (functionWords == words.size()) {
    for (QueryWord& word : words) word.isFunctionWord = false;
  }
  return words;
}

// Returns the distinct stems of the content words; of too many, those with the highest IDF.
std::vector<FeatureReranker::QueryTerm> FeatureReranker::CollectTerms(const std::vector<QueryWord>& words,
                                                                      Scratch* scratch) const {
  std::vector<QueryTerm> terms;
  std::unordered_set<std::string_view> known;
  auto& tokenizerScratch = scratch->embedding.tokenizer;
  for (const QueryWord& word : words) {
    if (word.isFunctionWord || !known.insert(word.stem).second) continue;
    QueryTerm term;
    term.stem = word.stem;
    term.term = {parameters_.idf->Get(word.stem), HasDigit(word.raw, &tokenizerScratch)};
    parameters_.tokenizer->EncodeWord(word.raw, &tokenizerScratch, &term.tokens);
    terms.push_back(std::move(term));
  }
  if (terms.size() <= kRerankTermsMax) return terms;
  std::stable_sort(terms.begin(), terms.end(),
                   [](const QueryTerm& left, const QueryTerm& right) { return left.term.idf > right.term.idf; });
  terms.resize(kRerankTermsMax);
  return terms;
}

// Adds function words, forms and pairs to a query whose terms are set, and looks up the pieces that are its words.
void FeatureReranker::SetRoles(const std::vector<QueryWord>& words, RerankQuery* query) const {
  using Kind = RerankQuery::Kind;
  auto& [terms, pairs, functionStems, idfTotal] = query->terms_;
  auto& roles = query->rolesOfStems_;
  const QueryWord* last = nullptr;
  std::unordered_map<size_t, size_t> pairNumbers;
  std::unordered_set<std::string_view> functions;
  for (const QueryWord& word : words) {
    if (word.isFunctionWord) {
      if (!functions.insert(word.stem).second) continue;
      RerankQuery::Role role;
      role.kind = Kind::kFunctionWord;
      role.number = static_cast<uint16_t>(functionStems++);
      roles.emplace(HashWord(word.stem), role);
      continue;
    }
    query->forms_.insert(HashWord(word.form));
    const auto termOf = [&](const QueryWord& one) {
      const auto found = roles.find(HashWord(one.stem));
      return found != roles.end() && found->second.kind == Kind::kTerm ? found->second.number : kRerankTermsMax;
    };
    const size_t left = last == nullptr ? kRerankTermsMax : termOf(*last);
    const size_t right = termOf(word);
    if (left != right && left != kRerankTermsMax && right != kRerankTermsMax) {
      const auto [known, isNew] = pairNumbers.emplace(left * kRerankTermsMax + right, pairs.size());
      if (isNew) pairs.push_back({left, right, 0});
      pairs[known->second].distance = word.position - last->position;
    }
    last = &word;
  }
  query->rolesOfPieces_.resize(parameters_.vocabulary.size());
  for (const auto& [stem, role] : roles) {
    auto found = std::lower_bound(piecesByStem_.begin(), piecesByStem_.end(), std::pair<uint64_t, int32_t>{stem, 0});
    for (; found != piecesByStem_.end() && found->first == stem; ++found) {
      const auto piece = static_cast<size_t>(found->second);
      query->rolesOfPieces_[piece] = role;
      query->rolesOfPieces_[piece].isExact = query->forms_.contains(formsOfPieces_[piece]);
    }
  }
}

void FeatureReranker::FindMatches(const RerankQuery& query, Scratch* scratch, const WordAnalysis& document) const {
  using Kind = RerankQuery::Kind;
  auto& found = scratch->matches;
  found.matches.clear();
  found.counts.fill(0);
  found.exact.fill(false);
  found.functionStems = 0;
  found.words = document.words.size();
  scratch->functionStemsFound.assign(query.terms_.functionStems, false);
  for (size_t position = 0; position < document.words.size(); ++position) {
    const uint32_t word = document.words[position];
    RerankQuery::Role role;
    if ((word & WordAnalysis::kOther) == 0) {
      role = query.rolesOfPieces_[word];
    } else {
      const auto& [form, stem] = document.others[word - WordAnalysis::kOther];
      const auto known = query.rolesOfStems_.find(stem);
      if (known == query.rolesOfStems_.end()) continue;
      role = known->second;
      role.isExact = query.forms_.contains(form);
    }
    if (role.kind == Kind::kNone) continue;
    if (role.kind == Kind::kTerm) {
      found.matches.push_back({role.number, static_cast<uint32_t>(position)});
      ++found.counts[role.number];
      if (role.isExact) found.exact[role.number] = true;
    } else if (!scratch->functionStemsFound[role.number]) {
      scratch->functionStemsFound[role.number] = true;
      ++found.functionStems;
    }
  }
}

// Writes the highest cosine of each term with the distinct tokens of the document.
void FeatureReranker::MatchSoftly(RerankQuery* query, Scratch* scratch) const {
  auto& soft = scratch->soft;
  soft.assign(query->terms_.terms.size(), 0.0F);
  for (const int32_t token : scratch->embedding.distinct) {
    const std::span<const float> cosines = query->softMatcher_.CosinesWith(token);
    for (size_t term = 0; term < soft.size(); ++term) soft[term] = std::max(soft[term], cosines[term]);
  }
  for (size_t term = 0; term < soft.size(); ++term) {
    soft[term] = scratch->matches.counts[term] > 0 ? 1 : std::min(1.0F, soft[term]);
  }
}

void FeatureReranker::ComputeFeatures(RerankQuery* query, const WordAnalysis& document, Scratch* scratch,
                                      float* features) const {
  auto& vector = scratch->vector;
  vector.resize(parameters_.embedding->dimensions());
  parameters_.embedding->EmbedIds(document.ids, StaticEmbedding::Side::kDocument, &scratch->embedding, vector.data());
  double cosine = 0;
  for (size_t i = 0; i < vector.size(); ++i) {
    cosine += static_cast<double>(query->vector_[i]) * static_cast<double>(vector[i]);
  }
  FindMatches(*query, scratch, document);
  MatchSoftly(query, scratch);
  ComputeRerankFeatures(query->terms_, scratch->matches, scratch->soft, cosine, features);
}

float FeatureReranker::Score(RerankQuery* query, const WordAnalysis& document, Scratch* scratch) const {
  std::array<float, kRerankFeatures> features;
  ComputeFeatures(query, document, scratch, features.data());
  return parameters_.network->Score(features.data());
}

}  // namespace quarry::text
