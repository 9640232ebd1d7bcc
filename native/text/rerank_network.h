// The network that maps the features of a query-document pair to a score.
#pragma once

#include <memory>
#include <vector>

namespace quarry::text {

// score = sigmoid(out . [x, tanh(inner x + innerBias)] + outBias), where x are the features, standardized and
// clipped. Immutable and thread-safe. A score does not depend on the other documents of a call.
class RerankNetwork {
 public:
  // The constants of models/zerank/model.onnx, row-major.
  struct Parameters {
    std::vector<float> mean;       // [features]
    std::vector<float> deviation;  // [features]
    float lowest = 0;              // bounds of the standardized features
    float highest = 0;
    std::vector<float> inner;      // [features x hidden]
    std::vector<float> innerBias;  // [hidden]
    std::vector<float> out;        // [features + hidden]
    float outBias = 0;
  };

  // Returns null if the sizes are inconsistent.
  static std::unique_ptr<RerankNetwork> Create(Parameters parameters);

  size_t features() const { return parameters_.mean.size(); }

  // Returns the score, from 0 to 1, of `features()` features.
  float Score(const float* features) const;

 private:
  explicit RerankNetwork(Parameters parameters) : parameters_(std::move(parameters)) {}

  Parameters parameters_;
};

}  // namespace quarry::text
