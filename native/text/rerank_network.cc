#include "text/rerank_network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace quarry::text {
namespace {

constexpr size_t kHiddenMax = 64;

}  // namespace

std::unique_ptr<RerankNetwork> RerankNetwork::Create(Parameters parameters) {
  const size_t features = parameters.mean.size();
  const size_t hidden = parameters.innerBias.size();
  const bool fits = features > 0 && hidden <= kHiddenMax && parameters.deviation.size() == features &&
                    parameters.inner.size() == features * hidden && parameters.out.size() == features + hidden;
  if (!fits) return nullptr;
  return std::unique_ptr<RerankNetwork>(new RerankNetwork(std::move(parameters)));
}

float RerankNetwork::Score(const float* features) const {
  const auto& [mean, deviation, lowest, highest, inner, innerBias, out, outBias] = parameters_;
  const size_t hidden = innerBias.size();
  std::array<float, kHiddenMax> sums{};
  float value = 0;
  for (size_t i = 0; i < mean.size(); ++i) {
    const float x = std::clamp((features[i] - mean[i]) / deviation[i], lowest, highest);
    value += x * out[i];
    for (size_t h = 0; h < hidden; ++h) sums[h] += x * inner[i * hidden + h];
  }
  for (size_t h = 0; h < hidden; ++h) value += std::tanh(sums[h] + innerBias[h]) * out[mean.size() + h];
  return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(value + outBias))));
}

}  // namespace quarry::text
