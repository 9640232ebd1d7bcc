#include <cmath>
#include <random>
#include <thread>

#include "check.h"
#include "text/add_scaled.h"
#include "text/dot_rows.h"
#include "text/lexicon.h"
#include "text/static_embedding.h"
#include "text/word_piece.h"

namespace quarry::text {
namespace {

// UTF-16 units of all kinds: ASCII, Latin, marks, Thai, Hangul, ideographs, paired and unpaired surrogates.
std::u16string RandomText(std::mt19937* random, size_t units) {
  static constexpr std::pair<int, int> kRanges[] = {
      {0x20, 0x7e},     {0x61, 0x7a},     {0, 0x2ff},       {0x300, 0x3ff},   {0xe00, 0xe7f}, {0x1100, 0x11ff},
      {0x3040, 0x30ff}, {0x4e00, 0x4fff}, {0xac00, 0xd7a3}, {0xd800, 0xdfff}, {0, 0xffff}};
  std::u16string text;
  while (text.size() < units) {
    const auto [first, last] = kRanges[(*random)() % std::size(kRanges)];
    for (size_t run = (*random)() % 12; run > 0; --run)
      text += static_cast<char16_t>(first + (*random)() % (last - first + 1));
  }
  return text;
}

std::shared_ptr<const PlainTokenizer> SmallTokenizer() {
  return PlainTokenizer::Create({U"[UNK]", U"a", U"##b", U"the", U"##the", U"é", U"中", U"한", U"##국", U"ไท", U"##ย"});
}

TEST("the AVX2 version of AddScaledRows returns the bits of its scalar version") {
  if (FastestAddScaledRows() == AddScaledRowsScalar) return;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (size_t dimensions = 0; dimensions <= 330; ++dimensions) {
    const size_t rowCount = random() % 9;
    std::vector<int8_t> codes(rowCount * dimensions);
    for (int8_t& code : codes) code = static_cast<int8_t>(random());
    std::vector<ScaledRow> rows;
    for (size_t row = 0; row < rowCount; ++row) rows.push_back({codes.data() + row * dimensions, normal(random)});
    std::vector<float> expected(dimensions);
    for (float& sum : expected) sum = normal(random);
    std::vector<float> found = expected;
    AddScaledRowsScalar(rows.data(), rowCount, dimensions, expected.data());
    FastestAddScaledRows()(rows.data(), rowCount, dimensions, found.data());
    CHECK(found == expected);
  }
}

TEST("the AVX2 version of DotRows returns the products of its scalar version") {
  if (FastestDotRows() == DotRowsScalar) return;
  std::mt19937 random(7);
  for (size_t length = 0; length <= 330; ++length) {
    const size_t count = random() % 11;
    std::vector<int8_t> row(length);
    for (int8_t& code : row) code = static_cast<int8_t>(random());
    std::vector<int16_t> others(count * length);
    for (int16_t& code : others) code = static_cast<int8_t>(random());
    std::vector<int32_t> expected(count);
    std::vector<int32_t> found(count);
    DotRowsScalar(row.data(), others.data(), count, length, expected.data());
    FastestDotRows()(row.data(), others.data(), count, length, found.data());
    CHECK(found == expected);
  }
}

TEST("a text has the ids of its words, however long they are and whatever surrounds them") {
  const auto tokenizer =
      PlainTokenizer::Create({U"[UNK]", U"a", U"##a", U"##b", U"ab", U"abc", U"cafe", U"1a", U"aaaaaaaa",
                              U"aaaaaaaaaaaaaaaa", U"aaaaaaaaaaaaaaaaa", U"中", U"é", U"##c"});
  std::mt19937 random(8);
  Tokenizer::Scratch scratch;
  for (int round = 0; round < 3000; ++round) {
    std::u16string text = RandomText(&random, random() % 60);
    static constexpr std::u16string_view kParts[] = {u"a",    u"b",  u"AB",       u"abc", u" ",     u"-",
                                                     u"Café", u"1a", u"aaaaaaaa", u"中",  u"\u2014"};
    for (size_t part = random() % 12; part > 0; --part) text += kParts[random() % std::size(kParts)];
    Ids expected;
    std::vector<size_t> ends;
    size_t at = 0;
    for (auto word = PlainTokenizer::NextWord(text, &at); !word.empty(); word = PlainTokenizer::NextWord(text, &at)) {
      tokenizer->EncodeWord(word, &scratch, &expected);
      ends.push_back(at);
    }
    Ids ids;
    std::vector<Tokenizer::Word> words;
    CHECK(tokenizer->EncodeWords(text, &scratch, &ids, &words));
    CHECK(ids == expected && words.size() == ends.size());
    for (size_t i = 0; i < ends.size(); ++i) CHECK(words[i].end == ends[i]);
    WordAnalysis analysis;
    tokenizer->Analyze(text, &scratch, &analysis);
    CHECK(analysis.ids == expected && analysis.words.size() == ends.size());
  }
}

TEST("an invalid vocabulary creates no tokenizer") {
  CHECK(PlainTokenizer::Create({}) == nullptr);
  CHECK(PlainTokenizer::Create({U"a", U"[UNK]"}) == nullptr);
  CHECK(PlainTokenizer::Create({U"[UNK]", U"a", U"a"}) == nullptr);
  CHECK(PlainTokenizer::Create({U"[UNK]", U"##"}) == nullptr);
  CHECK(PlainTokenizer::Create({U"[UNK]", std::u32string(2000, U'a')}) == nullptr);
  CHECK(BertTokenizer::Create({.pieces = {{U"a", 0}, {U"a", 1}}, .addedTokens = {}}) == nullptr);
}

TEST("any UTF-16 is a valid text, and ids do not depend on texts tokenized before") {
  std::mt19937 random(2);
  const auto plain = SmallTokenizer();
  const auto bert = BertTokenizer::Create(
      {.pieces = {{U"[UNK]", 0}, {U"a", 1}, {U"##b", 2}, {U"[M]", 3}}, .addedTokens = {{u"[M]", 3, true, true}}});
  Tokenizer::Scratch used;
  for (int round = 0; round < 3000; ++round) {
    const std::u16string text = RandomText(&random, random() % 80) + (round % 3 == 0 ? u" [M] " : u"");
    for (const Tokenizer* tokenizer :
         {static_cast<const Tokenizer*>(plain.get()), static_cast<const Tokenizer*>(bert.get())}) {
      Tokenizer::Scratch fresh;
      Ids first;
      Ids again;
      tokenizer->Encode(text, &fresh, &first);
      tokenizer->Encode(text, &used, &again);
      CHECK(first == again);
      for (const int32_t id : first) CHECK(id >= 0 && static_cast<size_t>(id) < tokenizer->size());
    }
  }
}

CONCURRENT_TEST("threads that share an embedding get the same bytes, each of length 1") {
  constexpr uint32_t kDimensions = 13;
  std::mt19937 random(3);
  StaticEmbedding::Parameters parameters;
  parameters.tokenizer = SmallTokenizer();
  parameters.dimensions = kDimensions;
  parameters.repetitionExponent = 0.75;
  parameters.codes.resize(parameters.tokenizer->size() * kDimensions);
  for (int8_t& code : parameters.codes) code = static_cast<int8_t>(random());
  parameters.weights.assign(parameters.tokenizer->size() * 2, 0.5f);
  parameters.prefixes.assign(2 * kDimensions, 0.25f);
  const auto embedding = StaticEmbedding::Create(std::move(parameters));
  REQUIRE(embedding != nullptr);
  std::vector<std::u16string> texts = {u""};
  for (int i = 0; i < 200; ++i) texts.push_back(RandomText(&random, random() % 300));
  std::vector<std::vector<float>> results(3);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      StaticEmbedding::Scratch scratch;
      result.resize(texts.size() * kDimensions);
      for (size_t i = 0; i < texts.size(); ++i) {
        embedding->Embed(texts[i], StaticEmbedding::Side::kDocument, &scratch, &result[i * kDimensions]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(results[0] == results[1] && results[0] == results[2]);
  for (size_t i = 0; i < texts.size(); ++i) {
    double square = 0;
    for (size_t k = 0; k < kDimensions; ++k)
      square += results[0][i * kDimensions + k] * results[0][i * kDimensions + k];
    CHECK(std::abs(square - 1) < 1e-5);
  }
  StaticEmbedding::Parameters small = embedding->parameters();
  small.weights.pop_back();
  CHECK(StaticEmbedding::Create(std::move(small)) == nullptr);
}

// Returns the ends of parts of random lengths, which tile `units`.
std::vector<uint32_t> RandomEnds(std::mt19937* random, size_t units) {
  std::vector<uint32_t> ends;
  for (uint32_t end = (*random)() % 20; end < units; end += 1 + (*random)() % 60) ends.push_back(end);
  ends.push_back(static_cast<uint32_t>(units));
  return ends;
}

// Checks that a block has exactly the terms that `encode` finds in each part of the text alone.
template <class Encode>
void CheckFineTerms(std::u16string_view text, const std::vector<uint32_t>& ends, const std::vector<uint8_t>& block,
                    Encode encode) {
  std::vector<FineTerm> terms;
  std::vector<uint8_t> blanks;
  size_t start = 0;
  for (const uint32_t end : ends) {
    std::vector<uint8_t> bytes;
    encode(text.substr(start, end - start), &bytes);
    const auto part = FineTermsView::Parse(bytes);
    CHECK(part.has_value() && part->fineChunks() == 1);
    for (uint32_t i = 0; i < part->terms(); ++i) {
      terms.push_back(ToFineTerm(uint64_t{part->prefix(i)} << 32, static_cast<uint32_t>(blanks.size())));
    }
    blanks.push_back(part->IsBlank(0) ? 1 : 0);
    start = end;
  }
  std::vector<uint8_t> expected;
  AppendFineTerms(blanks, &terms, &expected);
  CHECK(block == expected);
}

TEST("a lexicon that evicts entries returns the blocks of one that caches, and each word is expanded once") {
  std::mt19937 random(4);
  size_t expansions = 0;
  Analyzer analyzer;
  analyzer.segment = [](std::u16string_view slice, std::vector<uint32_t>* lengths) {
    lengths->assign(slice.size(), 1);
  };
  analyzer.expand = [&](std::u16string_view word, std::vector<uint8_t>* languages) {
    ++expansions;
    if (word.size() < 3) languages->push_back(static_cast<uint8_t>(word.size()));
    return word != u"nothing\u00e9";
  };
  analyzer.hash = [](std::u16string_view term, bool isGram, int language, std::vector<uint64_t>* hashes) {
    const uint64_t hash = std::hash<std::u16string_view>()(term) ^ (isGram ? 7 : 0) ^ static_cast<uint64_t>(language);
    for (size_t i = term.size() % 4 == 3 ? 2 : 1; i > 0; --i) hashes->push_back(hash + i);
  };
  analyzer.choose = [](const std::vector<double>& votes, uint32_t words) {
    return words > 3 && votes[2] > 1 ? 2 : kUnknownLanguage;
  };
  LexiconOptions options;
  options.scan = {128, 8, 100};
  options.entriesMax = 1'000'000;
  options.stemUnitsMax = 64;
  options.stemming = {Stemming::kNone, Stemming::kEnglish, Stemming::kCaller};
  options.functionWords = {{"a", {1, 2}}};
  Lexicon caching(options);
  options.entriesMax = 1;
  Lexicon evicting(options);
  for (int document = 0; document < 50; ++document) {
    caching.Begin();
    evicting.Begin();
    for (int row = 0; row < document % 4; ++row) {
      const std::u16string text = RandomText(&random, 400);
      const auto fallback = [&] { return document % 2; };
      const std::vector<uint32_t> ends = RandomEnds(&random, text.size());
      std::vector<uint8_t> cached;
      std::vector<uint8_t> evicted;
      const int language = caching.AddRow({text, u"a prefix", ends}, fallback, analyzer, &cached);
      CHECK(evicting.AddRow({text, u"a prefix", ends}, fallback, analyzer, &evicted) == language);
      CHECK(cached == evicted);
      CheckFineTerms(text, ends, cached, [&](std::u16string_view part, std::vector<uint8_t>* bytes) {
        const auto end = static_cast<uint32_t>(part.size());
        evicting.AppendFineTermsOf(part, std::span(&end, 1), language, analyzer, bytes);
      });
    }
    CHECK(caching.Block() == evicting.Block());
    CHECK(caching.occurrences() == evicting.occurrences() && caching.entries() == evicting.entries());
  }
  expansions = 0;
  std::vector<uint8_t> fineTerms;
  for (int row = 0; row < 3; ++row)
    caching.AddRow(
        {u"brandnewword\u00e9 nothing\u00e9 brandnewword\u00e9 running", u"", {}}, [] { return 0; }, analyzer,
        &fineTerms);
  CHECK(expansions == 2);
}

}  // namespace
}  // namespace quarry::text
