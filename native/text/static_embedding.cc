#include "text/static_embedding.h"

#include <algorithm>
#include <cmath>

namespace quarry::text {
namespace {

void AddScaled(const int8_t* codes, float scale, size_t count, float* sums) {
  for (size_t i = 0; i < count; ++i) sums[i] += static_cast<float>(codes[i]) * scale;
}

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
  return embedding;
}

size_t StaticEmbedding::Embed(std::u16string_view text, Side side, Scratch* scratch, float* vector) const {
  auto& [tokenizerScratch, ids, counts, distinct, shares] = *scratch;
  counts.resize(vocabulary_);
  ids.clear();
  distinct.clear();
  shares.clear();
  parameters_.tokenizer->Encode(text, &tokenizerScratch, &ids);
  // Nothing may throw while the counts are not zero.
  distinct.reserve(ids.size());
  shares.reserve(ids.size());
  for (const int32_t id : ids) {
    if (counts[id]++ == 0) distinct.push_back(id);
  }
  double total = 0;
  for (const int32_t id : distinct) {
    const double weight = counts[id] == 1 ? 1 : std::pow(counts[id], parameters_.repetitionExponent);
    counts[id] = 0;
    shares.push_back(weight);
    total += weight;
  }
  const size_t dimensions = parameters_.dimensions;
  const float* prefix = &parameters_.prefixes[static_cast<uint32_t>(side) * dimensions];
  const float* weights = &parameters_.weights[static_cast<uint32_t>(side) * vocabulary_];
  std::copy_n(prefix, dimensions, vector);
  for (size_t entry = 0; entry < distinct.size(); ++entry) {
    const int32_t id = distinct[entry];
    const float scale = weights[id] * static_cast<float>(shares[entry] / total);
    AddScaled(&parameters_.codes[id * dimensions], scale, dimensions, vector);
  }
  const float length = Length(vector, dimensions);
  for (size_t i = 0; i < dimensions; ++i) vector[i] /= length;
  return ids.size();
}

}  // namespace quarry::text
