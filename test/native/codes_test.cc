#include "engine/codes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"
#include "engine/code_array.h"
#include "samples.h"

namespace quarry {
namespace {

using Vectors = std::vector<std::vector<float>>;

void Normalize(std::vector<float>* vector) {
  double length = 0;
  for (const float value : *vector) length += static_cast<double>(value) * value;
  for (float& value : *vector) value /= static_cast<float>(std::sqrt(length));
}

double Dot(const std::vector<float>& left, const std::vector<float>& right) {
  double sum = 0;
  for (size_t i = 0; i < left.size(); i++) sum += static_cast<double>(left[i]) * right[i];
  return sum;
}

// Indexes of the `count` largest values.
std::vector<size_t> Largest(const std::vector<double>& values, size_t count) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t left, size_t right) { return values[left] > values[right]; });
  order.resize(count);
  return order;
}

// Share of the 10 nearest rows that are among the 20 best by codes.
double RecallOfCodes(const Vectors& rows, const Vectors& queries) {
  CodeArray codes(static_cast<uint32_t>(rows[0].size()));
  codes.Reserve(rows.size());
  for (uint32_t row = 0; row < rows.size(); row++) codes.Set(row, rows[row].data());
  size_t found = 0;
  for (const auto& vector : queries) {
    const EncodedQuery query = codes.codec().Query(vector.data());
    std::vector<double> exact;
    std::vector<double> coded;
    for (uint32_t row = 0; row < rows.size(); row++) {
      exact.push_back(Dot(vector, rows[row]));
      coded.push_back(codes.Score(query.view(), row));
    }
    const auto proposed = Largest(coded, 20);
    for (const size_t row : Largest(exact, 10)) found += std::count(proposed.begin(), proposed.end(), row);
  }
  return static_cast<double>(found) / (10.0 * static_cast<double>(queries.size()));
}

TEST("codes propose the nearest rows for any number of dimensions") {
  for (const uint32_t dimensions : {3U, 17U, 64U, 100U, 384U, 1000U}) {
    test::ClusteredVectors cloud(dimensions, 20, dimensions);
    Vectors rows, queries;
    for (int i = 0; i < 1500; i++) rows.push_back(cloud.Next());
    for (int i = 0; i < 30; i++) queries.push_back(cloud.Next());
    CHECK(RecallOfCodes(rows, queries) >= 0.99);
  }
}

TEST("codes propose the nearest rows of a model with outlier dimensions") {
  constexpr uint32_t kDimensions = 384;
  test::ClusteredVectors cloud(kDimensions, 20, 21);
  test::Random random(21);
  // Three dimensions are twenty times as large as the others and account for most of the length of every vector.
  const auto next = [&] {
    std::vector<float> vector = cloud.Next();
    for (const size_t outlier : {5U, 102U, 383U}) {
      vector[outlier] += 1.0F + 0.05F * static_cast<float>(test::RandomBelow(&random, 3));
    }
    Normalize(&vector);
    return vector;
  };
  Vectors rows, queries;
  for (int i = 0; i < 1500; i++) rows.push_back(next());
  for (int i = 0; i < 30; i++) queries.push_back(next());
  CHECK(RecallOfCodes(rows, queries) >= 0.99);
}

TEST("a similarity from codes differs from the cosine by at most 0.003 and by at most the stated error") {
  for (const uint32_t dimensions : {16U, 100U, 384U, 768U}) {
    test::ClusteredVectors cloud(dimensions, 5, 22);
    CodeArray codes(dimensions);
    codes.Reserve(1);
    for (int i = 0; i < 200; i++) {
      const auto row = cloud.Next();
      const auto vector = cloud.Next();
      codes.Set(0, row.data());
      const EncodedQuery query = codes.codec().Query(vector.data());
      const double error = std::abs(codes.codec().Similarity(codes.Score(query.view(), 0)) - Dot(row, vector));
      CHECK(error < 0.003 + 0.1 / dimensions);
      CHECK(error < codes.codec().RoundingError());
    }
  }
}

TEST("no cosine exceeds the bound from codes, even for nearly equal vectors with clipped coordinates") {
  for (const uint32_t dimensions : {100U, 384U, 768U}) {
    test::Random random(24);
    std::normal_distribution<float> normal;
    CodeArray codes(dimensions);
    codes.Reserve(1);
    size_t beyondRounding = 0;
    for (int i = 0; i < 4000; i++) {
      std::vector<float> row(dimensions);
      for (float& value : row) value = normal(random);
      Normalize(&row);
      // From nearly equal to almost unrelated.
      std::vector<float> vector = row;
      const float away = std::pow(10.0F, -static_cast<float>(test::RandomBelow(&random, 4))) / std::sqrt(dimensions);
      for (float& value : vector) value += away * normal(random);
      Normalize(&vector);
      codes.Set(0, row.data());
      const EncodedQuery query = codes.codec().Query(vector.data());
      const double cosine = Dot(row, vector);
      const double coded = codes.codec().Similarity(codes.Score(query.view(), 0));
      const float squaredNorm = codes.codec().SquaredNorm(codes.Row(0));
      const double most = coded + codes.codec().ErrorMax(codes.codec().SquaredNorm(query.view()), squaredNorm);
      CHECK(codes.SquaredNormMin() <= squaredNorm);
      CHECK(cosine <= most);
      CHECK(most < cosine + 3 * codes.codec().RoundingError() || coded < cosine - codes.codec().RoundingError());
      beyondRounding += cosine > coded + codes.codec().RoundingError() ? 1 : 0;
    }
    CHECK(beyondRounding > 0);
  }
}

TEST("the score of two rows is symmetric, and codes depend only on the dimensions") {
  constexpr uint32_t kDimensions = 200;
  test::ClusteredVectors cloud(kDimensions, 3, 23);
  CodeArray codes(kDimensions);
  CodeArray others(kDimensions);
  codes.Reserve(2);
  others.Reserve(1);
  const Codec& codec = codes.codec();
  AlignedBytes first(codec.stride());
  AlignedBytes second(codec.stride());
  for (int i = 0; i < 50; i++) {
    const auto left = cloud.Next();
    codes.Set(0, left.data());
    codes.Set(1, cloud.Next().data());
    const CodeView fromFirst = codec.Center(codes.Row(0), first.As<int8_t>());
    const CodeView fromSecond = codec.Center(codes.Row(1), second.As<int8_t>());
    CHECK(codes.Score(fromFirst, 1) == codes.Score(fromSecond, 0));
    others.Set(0, left.data());
    CHECK(std::memcmp(others.Row(0), codes.Row(0), codec.stride()) == 0);
  }
}

TEST("zero vectors and very long vectors have codes") {
  CodeArray codes(48);
  codes.Reserve(2);
  const std::vector<float> zero(48, 0.0F);
  std::vector<float> huge(48, 1e30F);
  codes.Set(0, zero.data());
  codes.Set(1, huge.data());
  for (const auto& vector : {zero, huge}) {
    const EncodedQuery query = codes.codec().Query(vector.data());
    CHECK(codes.Score(query.view(), 0) == 0);
    CHECK(codes.Score(query.view(), 1) >= 0);
  }
}

}  // namespace
}  // namespace quarry
