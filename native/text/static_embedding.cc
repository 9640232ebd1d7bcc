#include "text/static_embedding.h"

#include <algorithm>
#include <cmath>

#include "text/add_scaled.h"

namespace quarry::text {
namespace {

constexpr size_t kLineBytes = 64;
constexpr uint32_t kPrecomputedCounts = 64;
constexpr std::u16string_view kBlankLine = u"\n\n";

float Length(const float* vector, size_t count) {
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += vector[i] * vector[i];
  return std::sqrt(sum);
}

}  // namespace

std::unique_ptr<StaticEmbedding> StaticEmbedding::Create(Parameters parameters) {
  const size_t vocabulary = parameters.weights.size() / 2;
  const size_t dimensions = parameters.dimensions;
  const bool fits = parameters.tokenizer != nullptr && dimensions > 0 && parameters.weights.size() == 2 * vocabulary &&
                    parameters.codes.size() == vocabulary * dimensions && parameters.prefixes.size() == 2 * dimensions;
  if (!fits || parameters.tokenizer->size() > vocabulary) return nullptr;
  std::unique_ptr<StaticEmbedding> embedding(new StaticEmbedding(std::move(parameters)));
  embedding->vocabulary_ = static_cast<uint32_t>(vocabulary);
  for (uint32_t count = 0; count < kPrecomputedCounts; ++count) {
    embedding->shareOf_.push_back(count == 1 ? 1 : std::pow(count, embedding->parameters_.repetitionExponent));
  }
  return embedding;
}

size_t StaticEmbedding::Embed(std::u16string_view text, Side side, Scratch* scratch, float* vector) const {
  scratch->ids.clear();
  parameters_.tokenizer->Encode(text, &scratch->tokenizer, &scratch->ids);
  EmbedIds(scratch->ids, side, scratch, vector);
  return scratch->ids.size();
}

size_t StaticEmbedding::EmbedParts(std::u16string_view heading, std::u16string_view text, std::span<const Span> parts,
                                   Scratch* scratch, float* vector, float* partVectors) const {
  auto& tokenizer = scratch->tokenizer;
  auto& ids = scratch->ids;
  auto& partIds = scratch->partIds;
  auto& words = scratch->words;
  auto& joined = scratch->joined;
  ids.clear();
  words.clear();
  parameters_.tokenizer->Encode(heading, &tokenizer, &ids);
  const size_t headingIds = ids.size();
  size_t tokens = 0;
  if (parameters_.tokenizer->EncodeWords(text, &tokenizer, &ids, &words)) {
    EmbedIds(ids, Side::kDocument, scratch, vector);
    tokens = ids.size();
  } else {
    joined.assign(heading).append(kBlankLine).append(text);
    tokens = Embed(joined, Side::kDocument, scratch, vector);
  }
  size_t word = 0;
  size_t idsEnd = headingIds;
  for (size_t part = 0; part < parts.size(); ++part) {
    const auto [start, end] = parts[part];
    float* const partVector = partVectors + part * parameters_.dimensions;
    for (; word < words.size() && words[word].end <= start; ++word) idsEnd = words[word].idsEnd;
    const size_t first = idsEnd;
    const bool splitsFirst = word < words.size() && words[word].start < start;
    for (; word < words.size() && words[word].end <= end; ++word) idsEnd = words[word].idsEnd;
    const bool splitsLast = word < words.size() && words[word].start < end;
    if (words.empty() || splitsFirst || splitsLast) {
      partIds.clear();
      parameters_.tokenizer->Encode(text.substr(start, end - start), &tokenizer, &partIds);
      EmbedIds(partIds, Side::kDocument, scratch, partVector);
      tokens += partIds.size();
    } else {
      EmbedIds({ids.data() + first, idsEnd - first}, Side::kDocument, scratch, partVector);
      tokens += idsEnd - first;
    }
  }
  return tokens;
}

void StaticEmbedding::EmbedIds(std::span<const int32_t> ids, Side side, Scratch* scratch, float* vector) const {
  auto& counts = scratch->counts;
  auto& distinct = scratch->distinct;
  auto& shares = scratch->shares;
  counts.resize(vocabulary_);
  distinct.clear();
  shares.clear();
  // No exception may be thrown while counts are not zero.
  distinct.reserve(ids.size());
  shares.reserve(ids.size());
  const size_t dimensions = parameters_.dimensions;
  for (const int32_t id : ids) {
    if (counts[id]++ != 0) continue;
    distinct.push_back(id);
    // The table exceeds the near CPU caches.
    for (size_t at = 0; at < dimensions; at += kLineBytes) __builtin_prefetch(&parameters_.codes[id * dimensions + at]);
  }
  double total = 0;
  for (const int32_t id : distinct) {
    const uint32_t count = counts[id];
    const double weight = count < shareOf_.size() ? shareOf_[count] : std::pow(count, parameters_.repetitionExponent);
    counts[id] = 0;
    shares.push_back(weight);
    total += weight;
  }
  const float* prefix = &parameters_.prefixes[static_cast<uint32_t>(side) * dimensions];
  const float* weights = &parameters_.weights[static_cast<uint32_t>(side) * vocabulary_];
  auto& rows = scratch->rows;
  rows.clear();
  for (size_t entry = 0; entry < distinct.size(); ++entry) {
    const int32_t id = distinct[entry];
    const float scale = weights[id] * static_cast<float>(shares[entry] / total);
    rows.push_back({&parameters_.codes[id * dimensions], scale});
  }
  static const AddScaledRows addScaledRows = FastestAddScaledRows();
  std::copy_n(prefix, dimensions, vector);
  addScaledRows(rows.data(), rows.size(), dimensions, vector);
  const float length = Length(vector, dimensions);
  for (size_t i = 0; i < dimensions; ++i) vector[i] /= length;
}

}  // namespace quarry::text
