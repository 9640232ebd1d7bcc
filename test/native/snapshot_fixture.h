// Helpers of the snapshot tests.
#pragma once

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "engine/collection.h"

namespace quarry::test {

inline std::shared_ptr<Collection> Open(const std::string& directory, uint32_t dimensions, uint32_t shards) {
  std::shared_ptr<Collection> collection;
  // A background that is always full prevents compactions.
  const BackgroundScheduler full = [](const std::function<void()>&) { return false; };
  REQUIRE(Collection::Open({"test", dimensions, shards, directory}, full, &collection).ok());
  return collection;
}

inline std::vector<char> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
inline void WriteFile(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace quarry::test
