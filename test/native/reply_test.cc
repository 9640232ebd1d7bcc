#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "engine/fusion.h"
#include "engine/reply_cache.h"
#include "engine/reply_writer.h"

namespace quarry {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::string ScoreOf(double score) {
  char text[kScoreCharactersMax];
  return {text, WriteScore(score, text)};
}

DocumentParts Parts(const std::string& path, double expiresAt = kNever) {
  return {",{\"path\":\"" + path + "\",\"score\":", ",\"metadata\":null}", 1, expiresAt};
}

SearchHits Hits(const std::vector<std::pair<double, uint32_t>>& rows, std::vector<float> lexical,
                std::vector<float> similarity) {
  SearchHits hits;
  for (const auto& [version, chunk] : rows) {
    hits.version.push_back(version);
    hits.chunk.push_back(chunk);
  }
  hits.lexical = std::move(lexical);
  hits.similarity = std::move(similarity);
  return hits;
}

std::string Written(std::optional<size_t> bytes, const std::vector<uint8_t>& buffer) {
  return bytes.has_value() ? std::string(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*bytes)) : "none";
}

TEST("a score is written as JSON.stringify writes it") {
  CHECK(ScoreOf(0) == "0");
  CHECK(ScoreOf(-0.0) == "0");
  CHECK(ScoreOf(1) == "1");
  CHECK(ScoreOf(0.5) == "0.5");
  CHECK(ScoreOf(static_cast<double>(0.1F)) == "0.10000000149011612");
  CHECK(ScoreOf(1e-6) == "0.000001");
  CHECK(ScoreOf(1.5e-7) == "1.5e-7");
  CHECK(ScoreOf(5e-324) == "5e-324");
  CHECK(ScoreOf(1e21) == "1e+21");
  CHECK(ScoreOf(123456789012345680000.0) == "123456789012345680000");
  CHECK(ScoreOf(12.25) == "12.25");
  CHECK(ScoreOf(100) == "100");
  CHECK(ScoreOf(-2.5e-9) == "-2.5e-9");
}

TEST("rows are ranked by the fused score, then by version and chunk") {
  const SearchHits hits = Hits({{2, 1}, {2, 0}, {1, 0}, {3, 0}}, {1, 1, 1, 4}, {0.5F, 0.5F, 0.5F, -1});
  std::vector<RankedRow> ranked;
  RankRows(hits, true, {1, 1}, &ranked);
  REQUIRE(ranked.size() == 4);
  CHECK(ranked[0].version == 1 && ranked[0].score == 0.625F);
  CHECK(ranked[1].version == 2 && ranked[1].chunk == 0);
  CHECK(ranked[2].version == 2 && ranked[2].chunk == 1);
  CHECK(ranked[3].version == 3 && ranked[3].score == 0.5F);
  std::vector<RankedRow> first = ranked;
  KeepFirstOfVersions(2, &first);
  REQUIRE(first.size() == 2);
  CHECK(first[1].version == 2 && first[1].chunk == 0);
  KeepFirstOfVersions(4, &ranked);
  REQUIRE(ranked.size() == 3);
  CHECK(ranked[1].chunk == 0 && ranked[2].version == 3);
  RankRows(hits, false, {1, 0}, &ranked);
  CHECK(ranked[0].version == 3 && ranked[0].score == 1 && ranked[1].score == 0.25F);
}

TEST("a reply is written only from unexpired parts of the same collection and URL") {
  ReplyCache cache;
  cache.SetBytesMax(10000);
  cache.PutDocument({7, 1}, Parts("a", 50));
  cache.PutRow({7, 1}, 3, "{\"content\":\"x\",\"score\":");
  cache.PutRow({8, 1}, 4, "of another collection");
  const std::vector<RankedRow> ranked = {{1, 3, 0.5F}};
  std::vector<uint8_t> buffer(200);
  CHECK(Written(WriteSnippets(&cache, {7, 1, 49}, ranked, buffer), buffer) ==
        "{\"results\":[{\"content\":\"x\",\"score\":0.5}],\"document_results\":[{\"path\":\"a\",\"score\":0.5,"
        "\"metadata\":"
        "null}]}");
  CHECK(Written(WriteDocuments(&cache, {7, 1, 49}, ranked, buffer), buffer) ==
        "{\"results\":[{\"path\":\"a\",\"score\":0.5,\"metadata\":null}]}");
  CHECK(!WriteSnippets(&cache, {8, 1, 49}, ranked, buffer).has_value());
  CHECK(!WriteSnippets(&cache, {7, 2, 49}, ranked, buffer).has_value());
  CHECK(!WriteSnippets(&cache, {7, 1, 50}, ranked, buffer).has_value());
  CHECK(!WriteSnippets(&cache, {7, 1, 49}, std::vector<RankedRow>{{1, 4, 0.5F}}, buffer).has_value());
  CHECK(!WriteSnippets(&cache, {7, 1, 49}, std::vector<RankedRow>{{2, 3, 0.5F}}, buffer).has_value());
  CHECK(!WriteSnippets(&cache, {7, 1, 49}, ranked, std::span(buffer).first(40)).has_value());
  CHECK(Written(WriteSnippets(&cache, {7, 1, 49}, {}, buffer), buffer) == "{\"results\":[],\"document_results\":[]}");
  cache.Delete({8, 1});
  CHECK(cache.Find({7, 1}) != nullptr);
  cache.Delete({7, 1});
  CHECK(cache.Find({7, 1}) == nullptr);
  CHECK(cache.bytes() == 0);
}

TEST("a reply of pages needs the page of each row") {
  ReplyCache cache;
  cache.SetBytesMax(10000);
  cache.PutDocument({7, 1}, Parts("a"));
  cache.PutPage({7, 1}, {{2, true}, ",{\"page_index\":2,\"score\":", ",\"content\":\"x\"}"});
  cache.PutRowPage({7, 1}, 0, 2);
  cache.PutRowPage({7, 1}, 1, 2);
  const std::vector<RankedRow> ranked = {{1, 0, 0.5F}, {1, 1, 0.25F}};
  std::vector<uint8_t> buffer(200);
  size_t written = 0;
  CHECK(Written(WritePages(&cache, {7, 1, 0}, {3, true}, ranked, buffer, &written), buffer) ==
        "{\"results\":[{\"page_index\":2,\"score\":0.5,\"content\":\"x\"}],\"document_results\":[{\"path\":\"a\","
        "\"score\":0.5,\"metadata\":null}]}");
  CHECK(written == 1);
  CHECK(!WritePages(&cache, {7, 1, 0}, {3, false}, ranked, buffer, &written).has_value());
  cache.PutRow({7, 1}, 5, "{}");
  CHECK(!WritePages(&cache, {7, 1, 0}, {3, true}, std::vector<RankedRow>{{1, 5, 0.5F}}, buffer, &written).has_value());
  CHECK(!WriteSnippets(&cache, {7, 1, 0}, ranked, buffer).has_value());
  // Pages contain URLs.
  DocumentParts moved = Parts("a");
  moved.baseUrl = 2;
  cache.PutDocument({7, 1}, moved);
  CHECK(!WritePages(&cache, {7, 2, 0}, {3, true}, ranked, buffer, &written).has_value());
  cache.Delete({7, 1});
  CHECK(cache.bytes() == 0);
}

TEST("a fine snippet is a part of the JSON of its row") {
  ReplyCache cache;
  cache.SetBytesMax(10000);
  cache.PutDocument({7, 1}, Parts("a"));
  const std::string json = "{\"path\":\"a\",\"content\":\"one two\",\"score\":";
  const auto text = static_cast<uint32_t>(json.find("one"));
  const ReplyCache::FineChunks fine{
      3, 11, "terms", "codes", {{text, text + 3, 5, 8, 0, 1}, {text + 4, text + 7, 9, 12, 1, 3}}};
  cache.PutFineChunks({7, 1}, 0, fine);
  CHECK(cache.Find({7, 1})->FindRow(0)->fine == nullptr);
  cache.PutRow({7, 1}, 0, json);
  cache.PutFineChunks({7, 1}, 0, {3, 11, "", "", {{0, 1000, 0, 0, 0, 0}}});
  CHECK(cache.Find({7, 1})->FindRow(0)->fine == nullptr);
  cache.PutFineChunks({7, 1}, 0, fine);
  cache.PutFineChunks({7, 1}, 0, fine);
  const ReplyCache::Document* const document = cache.Find({7, 1});
  const FineResult result{document, document->FindRow(0), 1, 0.1};
  std::vector<uint8_t> buffer(300);
  CHECK(Written(WriteFineSnippets(std::vector{result}, buffer), buffer) ==
        "{\"results\":[{\"path\":\"a\",\"start_index\":9,\"end_index\":12,\"page_span\":[1,3],\"content\":\"two\","
        "\"score\":0.1}],\"document_results\":[{\"path\":\"a\",\"score\":0.1,\"metadata\":null}]}");
  cache.Delete({7, 1});
  CHECK(cache.bytes() == 0);
}

TEST("the cache of reply parts never exceeds its bound and keeps parts that are used") {
  ReplyCache cache;
  cache.PutDocument({1, 1}, Parts("a"));
  CHECK(cache.Find({1, 1}) == nullptr);
  cache.SetBytesMax(20000);
  for (uint64_t version = 1; version <= 200; version++) {
    cache.PutDocument({version % 2, version}, Parts("document"));
    cache.PutRow({version % 2, version}, 0, std::string(300, 'x'));
    CHECK(cache.bytes() <= 20000);
    CHECK(version < 3 || cache.Find({1, 1}) != nullptr);
  }
  CHECK(cache.Find({0, 2}) == nullptr);
  CHECK(cache.Find({0, 200}) != nullptr);
  cache.PutRow({0, 200}, 1, std::string(30000, 'x'));
  CHECK(cache.Find({0, 200}) == nullptr);
  cache.DeleteCollection(0);
  CHECK(cache.Find({0, 198}) == nullptr);
  CHECK(cache.Find({1, 199}) != nullptr);
  cache.DeleteCollection(1);
  CHECK(cache.bytes() == 0);
  cache.PutDocument({1, 5}, Parts("a"));
  cache.PutDocument({1, 5}, Parts("b"));
  CHECK(cache.Find({1, 5})->parts.prefix == Parts("b").prefix);
  cache.SetBytesMax(0);
  CHECK(cache.bytes() == 0);
}

}  // namespace
}  // namespace quarry
