// Synthetic documents for the tests of the engine, derived from a seed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/collection.h"
#include "engine/shard.h"

namespace quarry::test {

using Random = std::mt19937_64;

inline uint32_t RandomBelow(Random* random, uint32_t bound) { return static_cast<uint32_t>((*random)() % bound); }

// Temporary folder, removed by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "quarry-engine-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Unit vectors around random centers, similar to embeddings.
class ClusteredVectors {
 public:
  ClusteredVectors(uint32_t dimensions, uint32_t clusters, uint64_t seed) : dimensions_(dimensions), random_(seed) {
    for (uint32_t i = 0; i < clusters; i++) centers_.push_back(Unit(Noise(1)));
  }
  uint32_t clusters() const { return static_cast<uint32_t>(centers_.size()); }
  std::vector<float> Next(uint32_t cluster) {
    std::vector<float> vector = Noise(0.7F / std::sqrt(static_cast<float>(dimensions_)));
    for (uint32_t d = 0; d < dimensions_; d++) vector[d] += centers_[cluster][d];
    return Unit(std::move(vector));
  }
  std::vector<float> Next() { return Next(RandomBelow(&random_, clusters())); }

 private:
  std::vector<float> Noise(float scale) {
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> vector(dimensions_);
    for (float& value : vector) value = normal(random_);
    return vector;
  }
  static std::vector<float> Unit(std::vector<float> vector) {
    double length = 0;
    for (const float value : vector) length += static_cast<double>(value) * value;
    for (float& value : vector) value /= static_cast<float>(std::sqrt(length));
    return vector;
  }

  const uint32_t dimensions_;
  Random random_;
  std::vector<std::vector<float>> centers_;
};

using RowTerms = std::map<uint64_t, std::pair<uint16_t, uint16_t>>;  // hash -> body count, prefix count

inline std::shared_ptr<DocumentInput> MakeDocument(uint64_t version, const std::vector<std::vector<float>>& rows,
                                                   const std::vector<RowTerms>& terms, Attributes attributes = {}) {
  auto input = std::make_shared<DocumentInput>();
  input->version = version;
  for (const auto& row : rows) input->vectors.insert(input->vectors.end(), row.begin(), row.end());
  const auto count = static_cast<uint32_t>(terms.size());
  std::vector<uint32_t> header = {0x31425451, count};
  for (const auto& row : terms) header.push_back(static_cast<uint32_t>(row.size()));
  if (header.size() % 2 != 0) header.push_back(0);
  std::vector<uint8_t> bytes(header.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), header.data(), bytes.size());
  for (const auto& row : terms) {
    for (const auto& [hash, counts] : row) {
      const TermEntry entry{hash, counts.first, counts.second, 0};
      const auto* from = reinterpret_cast<const uint8_t*>(&entry);
      bytes.insert(bytes.end(), from, from + sizeof entry);
    }
  }
  input->termBytes = bytes.size();
  input->terms.resize(bytes.size() / 8);
  std::memcpy(input->terms.data(), bytes.data(), bytes.size());
  input->attributes = std::move(attributes);
  return input;
}

// Stages a document completely.
inline Status Stage(const std::shared_ptr<Collection>& collection, uint32_t shard,
                    const std::shared_ptr<DocumentInput>& input) {
  Collection::Staging staging(collection, shard, input);
  while (!staging.Step()) {
  }
  return staging.status();
}

// Background scheduler that runs its jobs only when RunAll is called.
class ManualScheduler {
 public:
  // Jobs own their collection, which owns the scheduler: this breaks the cycle for jobs that never ran.
  ~ManualScheduler() { jobs_->clear(); }
  BackgroundScheduler Function() {
    return [jobs = jobs_](std::function<bool()> job) {
      jobs->push_back(std::move(job));
      return true;
    };
  }
  // Runs the queued jobs; returns the number of completed ones. Deferred jobs stay queued.
  size_t RunAll() {
    size_t done = 0;
    std::vector<std::function<bool()>> deferred;
    while (!jobs_->empty()) {
      auto job = std::move(jobs_->front());
      jobs_->erase(jobs_->begin());
      if (job()) {
        done++;
      } else {
        deferred.push_back(std::move(job));
      }
    }
    *jobs_ = std::move(deferred);
    return done;
  }

 private:
  std::shared_ptr<std::vector<std::function<bool()>>> jobs_ = std::make_shared<std::vector<std::function<bool()>>>();
};

inline void PutNumber(std::vector<uint8_t>* bytes, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) bytes->push_back(static_cast<uint8_t>(value >> shift));
}
inline void PutText(std::vector<uint8_t>* bytes, const std::string& value) {
  PutNumber(bytes, static_cast<uint32_t>(value.size()));
  for (const char byte : value) bytes->push_back(static_cast<uint8_t>(byte));
}

// Bytes of a filter program with one step.
inline std::vector<uint8_t> StepBytes(FilterOperator op, const std::string& attribute,
                                      const std::vector<std::string>& values) {
  std::vector<uint8_t> bytes;
  bytes.push_back(static_cast<uint8_t>(op));
  PutText(&bytes, attribute);
  PutNumber(&bytes, static_cast<uint32_t>(values.size()));
  for (const auto& value : values) PutText(&bytes, value);
  return bytes;
}
inline std::vector<uint8_t> JunctionBytes(FilterOperator op, uint32_t arity) {
  std::vector<uint8_t> bytes;
  bytes.push_back(static_cast<uint8_t>(op));
  PutNumber(&bytes, arity);
  return bytes;
}

}  // namespace quarry::test
