#include "text/static_embedding.h"

#include <algorithm>
#include <cmath>

#include "text/add_scaled.h"

namespace quarry::text {
namespace {

constexpr size_t kLineBytes = 64;

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
  const size_t dimensions = parameters_.dimensions;
  for (const int32_t id : ids) {
    if (counts[id]++ != 0) continue;
    distinct.push_back(id);
    // The table is larger than the caches that are near.
    for (size_t at = 0; at < dimensions; at += kLineBytes) __builtin_prefetch(&parameters_.codes[id * dimensions + at]);
  }
  double total = 0;
  for (const int32_t id : distinct) {
    const double weight = counts[id] == 1 ? 1 : std::pow(counts[id], parameters_.repetitionExponent);
    counts[id] = 0;
    shares.push_back(weight);
    total += weight;
  }
  const float* prefix = &parameters_.prefixes[static_cast<uint32_t>(side) * dimensions];
  const float* weights = &parameters_.weights[static_cast<uint32_t>(side) * vocabulary_];
  static const AddScaled addScaled = FastestAddScaled();
  std::copy_n(prefix, dimensions, vector);
  for (size_t entry = 0; entry < distinct.size(); ++entry) {
    const int32_t id = distinct[entry];
    const float scale = weights[id] * static_cast<float>(shares[entry] / total);
    addScaled(&parameters_.codes[id * dimensions], scale, dimensions, vector);
  }
  const float length = Length(vector, dimensions);
  for (size_t i = 0; i < dimensions; ++i) vector[i] /= length;
  return ids.size();
}

}  // namespace quarry::text
