#include "engine/reply_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace quarry {
namespace {

// Digits of a positive number without leading and trailing zeros: 0.<digits> * 10^point.
struct Decimal {
  char digits[20];
  int count = 0;
  int point = 0;
};

// Writes `number` as <digit>[.<digits>]e<exponent> with the fewest digits that are read back as the same number.
size_t WriteShortest(double number, char* to, size_t size) {
#ifdef __cpp_lib_to_chars
  return static_cast<size_t>(std::to_chars(to, to + size, number, std::chars_format::scientific).ptr - to);
#else
  // The C++ library of macOS before 13.3 cannot.
  for (int precision = 0; precision < 16; precision++) {
    const int length = std::snprintf(to, size, "%.*e", precision, number);
    if (std::strtod(to, nullptr) == number) return static_cast<size_t>(length);
  }
  return static_cast<size_t>(std::snprintf(to, size, "%.16e", number));
#endif
}

Decimal ToDecimal(double number) {
  char text[kScoreCharactersMax] = {};
  const size_t length = WriteShortest(number, text, sizeof text - 1);
  const char* const exponent = static_cast<const char*>(std::memchr(text, 'e', length));
  Decimal decimal;
  for (const char* at = text; at < exponent; at++) {
    if (*at != '.') decimal.digits[decimal.count++] = *at;
  }
  while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0') decimal.count--;
  decimal.point = std::atoi(exponent + 1) + 1;
  return decimal;
}

char* Put(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

char* PutExponent(char* to, const Decimal& decimal) {
  *to++ = decimal.digits[0];
  if (decimal.count > 1) {
    *to++ = '.';
    to = Put(to, {decimal.digits + 1, static_cast<size_t>(decimal.count - 1)});
  }
  const int exponent = decimal.point - 1;
  *to++ = 'e';
  *to++ = exponent < 0 ? '-' : '+';
  return std::to_chars(to, to + 4, std::abs(exponent)).ptr;
}

// Appends to a bounded buffer. After an overflow nothing is written.
class Output {
 public:
  explicit Output(std::span<uint8_t> to) : to_(to) {}
  void Put(std::string_view text) {
    fits_ = fits_ && text.size() <= to_.size() - size_;
    if (!fits_) return;
    std::memcpy(to_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  std::optional<size_t> size() const { return fits_ ? std::optional(size_) : std::nullopt; }

 private:
  const std::span<uint8_t> to_;
  size_t size_ = 0;
  bool fits_ = true;
};

struct ScoreText {
  char characters[kScoreCharactersMax];
  size_t length;
  explicit ScoreText(double score) : length(WriteScore(score, characters)) {}
  std::string_view view() const { return {characters, length}; }
};

void PutDocument(const ReplyCache::Document& document, std::string_view score, bool isFirst, Output* output) {
  output->Put(std::string_view(document.parts.prefix).substr(isFirst ? 1 : 0));
  output->Put(score);
  output->Put(document.parts.suffix);
}

// The documents of the best rows, found before anything is written, so that their memory latencies overlap.
bool FindDocuments(ReplyCache* cache, const ReplyOptions& options, std::span<const RankedRow> ranked,
                   std::vector<const ReplyCache::Document*>* documents) {
  documents->reserve(ranked.size());
  for (const RankedRow& row : ranked) {
    const auto* const document = FindDocument(cache, options, row);
    if (document == nullptr) return false;
    __builtin_prefetch(document->rows.data());
    documents->push_back(document);
  }
  return true;
}

// Each document once, with the score of its best result, and the end of the reply.
void PutDocumentResults(const std::vector<const ReplyCache::Document*>& documents, const std::vector<ScoreText>& scores,
                        Output* output) {
  output->Put("],\"document_results\":[");
  for (size_t i = 0; i < documents.size(); i++) {
    const auto shown = documents.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(documents.begin(), shown, documents[i]) != shown) continue;
    PutDocument(*documents[i], scores[i].view(), i == 0, output);
  }
  output->Put("]}");
}

void PutNumber(uint32_t number, Output* output) {
  char text[10];
  output->Put({text, static_cast<size_t>(std::to_chars(text, text + sizeof text, number).ptr - text)});
}

}  // namespace

const ReplyCache::Document* FindDocument(ReplyCache* cache, const ReplyOptions& options, const RankedRow& row) {
  const auto* const document = cache->Find({options.collection, static_cast<uint64_t>(row.version)});
  const bool applies =
      document != nullptr && document->parts.baseUrl == options.baseUrl && document->parts.expiresAt > options.now;
  return applies ? document : nullptr;
}

size_t WriteScore(double score, char* to) {
  char* const start = to;
  if (score < 0) *to++ = '-';
  if (score == 0) {
    *to = '0';
    return 1;
  }
  const Decimal decimal = ToDecimal(std::abs(score));
  const std::string_view digits(decimal.digits, static_cast<size_t>(decimal.count));
  // The rules of Number::toString in ECMAScript.
  if (decimal.point > 21 || decimal.point <= -6) {
    to = PutExponent(to, decimal);
  } else if (decimal.point <= 0) {
    to = Put(to, "0.");
    for (int i = decimal.point; i < 0; i++) *to++ = '0';
    to = Put(to, digits);
  } else if (decimal.point >= decimal.count) {
    to = Put(to, digits);
    for (int i = decimal.count; i < decimal.point; i++) *to++ = '0';
  } else {
    to = Put(to, digits.substr(0, static_cast<size_t>(decimal.point)));
    *to++ = '.';
    to = Put(to, digits.substr(static_cast<size_t>(decimal.point)));
  }
  return static_cast<size_t>(to - start);
}

std::optional<size_t> WriteSnippets(ReplyCache* cache, const ReplyOptions& options, std::span<const RankedRow> ranked,
                                    std::span<uint8_t> to) {
  std::vector<const ReplyCache::Document*> documents;
  if (!FindDocuments(cache, options, ranked, &documents)) return std::nullopt;
  // Found before anything is written, as the documents are.
  std::vector<const ReplyCache::Row*> rows;
  rows.reserve(ranked.size());
  for (size_t i = 0; i < ranked.size(); i++) {
    const ReplyCache::Row* const row = documents[i]->FindRow(ranked[i].chunk);
    if (row == nullptr || row->json.empty()) return std::nullopt;
    __builtin_prefetch(row->json.data());
    rows.push_back(row);
  }
  std::vector<ScoreText> scores;
  scores.reserve(ranked.size());
  Output output(to);
  output.Put("{\"results\":[");
  for (size_t i = 0; i < ranked.size(); i++) {
    output.Put(rows[i]->json);
    output.Put(scores.emplace_back(ranked[i].score).view());
    output.Put(i + 1 < ranked.size() ? "}," : "}");
  }
  PutDocumentResults(documents, scores, &output);
  return output.size();
}

std::optional<size_t> WriteFineSnippets(std::span<const FineResult> results, std::span<uint8_t> to) {
  std::vector<const ReplyCache::Document*> documents;
  std::vector<ScoreText> scores;
  Output output(to);
  output.Put("{\"results\":[");
  for (size_t i = 0; i < results.size(); i++) {
    const auto& [document, row, index, score] = results[i];
    const ReplyCache::FineSpan& span = row->fine->spans[index];
    const std::string_view json = row->json;
    output.Put(json.substr(0, row->fine->pathEnd));
    output.Put(",\"start_index\":");
    PutNumber(span.startCodePoint, &output);
    output.Put(",\"end_index\":");
    PutNumber(span.endCodePoint, &output);
    output.Put(",\"page_span\":[");
    PutNumber(span.pageStart, &output);
    output.Put(",");
    PutNumber(span.pageEnd, &output);
    output.Put("],\"content\":\"");
    output.Put(json.substr(span.from, span.to - span.from));
    output.Put("\",\"score\":");
    output.Put(scores.emplace_back(score).view());
    output.Put(i + 1 < results.size() ? "}," : "}");
    documents.push_back(document);
  }
  PutDocumentResults(documents, scores, &output);
  return output.size();
}

std::optional<size_t> WriteDocuments(ReplyCache* cache, const ReplyOptions& options, std::span<const RankedRow> ranked,
                                     std::span<uint8_t> to) {
  std::vector<const ReplyCache::Document*> documents;
  if (!FindDocuments(cache, options, ranked, &documents)) return std::nullopt;
  Output output(to);
  output.Put("{\"results\":[");
  for (size_t i = 0; i < ranked.size(); i++) {
    PutDocument(*documents[i], ScoreText(ranked[i].score).view(), i == 0, &output);
  }
  output.Put("]}");
  return output.size();
}

std::optional<size_t> WritePages(ReplyCache* cache, const ReplyOptions& options, const PageOptions& pageOptions,
                                 std::span<const RankedRow> ranked, std::span<uint8_t> to, size_t* written) {
  std::vector<const ReplyCache::Document*> documents;
  std::vector<const ReplyCache::Page*> pages;
  std::vector<ScoreText> scores;
  for (const RankedRow& ranking : ranked) {
    if (pages.size() == pageOptions.results) break;
    const auto* const document = FindDocument(cache, options, ranking);
    const auto* const row = document == nullptr ? nullptr : document->FindRow(ranking.chunk);
    if (row == nullptr || row->page == ReplyCache::kUnknownPage) return std::nullopt;
    const auto* const page = document->FindPage({row->page, pageOptions.hasContent});
    if (page == nullptr) return std::nullopt;
    if (std::find(pages.begin(), pages.end(), page) != pages.end()) continue;
    documents.push_back(document);
    pages.push_back(page);
    scores.emplace_back(ranking.score);
  }
  *written = pages.size();
  Output output(to);
  output.Put("{\"results\":[");
  for (size_t i = 0; i < pages.size(); i++) {
    output.Put(std::string_view(pages[i]->head).substr(i == 0 ? 1 : 0));
    output.Put(scores[i].view());
    output.Put(pages[i]->tail);
  }
  PutDocumentResults(documents, scores, &output);
  return output.size();
}

}  // namespace quarry
