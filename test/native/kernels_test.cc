#include "engine/kernels.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "check.h"
#include "engine/checksum.h"
#include "engine/codes.h"

namespace quarry {
namespace {

struct alignas(64) Line {
  float values[kRowAlignment];
};

TEST("every vector kernel returns exactly the dot product of its scalar version, which is accurate") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const Kernels* set : SupportedKernels().sets) {
    if (set == nullptr) continue;
    for (size_t lines = 1; lines <= 160; lines += lines < 10 ? 1 : 13) {
      std::vector<Line> left(lines), right(lines);
      double exact = 0;
      double magnitude = 0;
      for (size_t i = 0; i < lines * kRowAlignment; i++) {
        float& l = left[i / kRowAlignment].values[i % kRowAlignment];
        float& r = right[i / kRowAlignment].values[i % kRowAlignment];
        l = normal(random);
        r = normal(random);
        exact += static_cast<double>(l) * r;
        magnitude += std::abs(static_cast<double>(l) * r);
      }
      const size_t length = lines * kRowAlignment;
      const float result = set->dot(left[0].values, right[0].values, length);
      CHECK(std::abs(result - exact) < 1e-6 * magnitude);
      CHECK(result == ScalarKernels()->dot(left[0].values, right[0].values, length));
    }
  }
}

TEST("every kernel transforms and encodes vectors to exactly the bits of its scalar version") {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (size_t count = 1; count <= 4096; count *= 2) {
    std::vector<float> signs(count);
    std::vector<float> start(count + 1);
    for (float& sign : signs) sign = (random() & 1) != 0 ? 0.0625F : -0.0625F;
    for (float& value : start) value = normal(random);
    std::vector<float> scalar = start;
    ScalarKernels()->transform(scalar.data(), signs.data(), count);
    if (count <= 64) {
      for (size_t row = 0; row < count; row++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
          const double value = static_cast<double>(start[i]) * signs[i];
          sum += std::popcount(row & i) % 2 == 0 ? value : -value;
        }
        CHECK(std::abs(scalar[row] - sum) < 1e-5);
      }
    }
    for (const Kernels* set : SupportedKernels().sets) {
      if (set == nullptr) continue;
      std::vector<float> values = start;
      set->transform(values.data(), signs.data(), count);
      CHECK(values == scalar);
      // Checks for writes beyond the end, and lengths that are not multiples of a register.
      for (size_t length = count - std::min<size_t>(count, 20); length <= count; length++) {
        std::vector<uint8_t> codes(count + 1, 7);
        std::vector<uint8_t> scalarCodes(count + 1, 7);
        set->encode(values.data(), 300, length, codes.data());
        ScalarKernels()->encode(values.data(), 300, length, scalarCodes.data());
        CHECK(codes == scalarCodes);
        CHECK(codes[length] == 7);
      }
    }
  }
}

TEST("encoding rounds to the nearest code, never returns 0, and accepts NaN") {
  const float values[] = {0, 0.49F, 0.51F, -0.49F, -0.51F, 126.4F, 127, 500, -500, 1e38F, -1e38F, NAN};
  const uint8_t expected[] = {128, 128, 129, 128, 127, 254, 255, 255, 1, 255, 1, 255};
  for (const Kernels* set : SupportedKernels().sets) {
    if (set == nullptr) continue;
    // Repeated to fill a register.
    std::vector<float> many;
    for (int i = 0; i < 4; i++) many.insert(many.end(), std::begin(values), std::end(values));
    std::vector<uint8_t> codes(many.size());
    set->encode(many.data(), 1, many.size(), codes.data());
    for (size_t i = 0; i < many.size(); i++) CHECK(codes[i] == expected[i % std::size(expected)]);
  }
}

TEST("every code kernel returns exactly the dot product of its scalar version, at the ends of its range too") {
  std::mt19937 random(3);
  for (const size_t length : {64U, 128U, 192U, 384U, 1024U, 4096U}) {
    AlignedBytes codes(length);
    AlignedBytes query(length);
    for (int round = 0; round < 20; round++) {
      for (size_t i = 0; i < length; i++) {
        codes.As<uint8_t>()[i] = round == 0 ? 255 : static_cast<uint8_t>(random());
        query.As<int8_t>()[i] = round == 0 ? -128 : static_cast<int8_t>(random());
      }
      const int32_t scalar = ScalarKernels()->dotCodes(codes.As<uint8_t>(), query.As<int8_t>(), length);
      if (round == 0) CHECK(scalar == -255 * 128 * static_cast<int32_t>(length));
      for (const Kernels* set : SupportedKernels().sets) {
        if (set != nullptr) CHECK(set->dotCodes(codes.As<uint8_t>(), query.As<int8_t>(), length) == scalar);
      }
    }
  }
}

TEST(
    "every multi-row kernel returns the products of its scalar version, for any number of rows and at the ends of "
    "its range") {
  std::mt19937 random(5);
  constexpr size_t kRows = 19;
  struct Case {
    size_t length;
    bool ends;  // whether all values are extremes of their range
  };
  for (const auto& [length, ends] : {Case{64, false},
                                     {192, false},
                                     {384, false},
                                     {1024, false},
                                     {4096, false},
                                     {64, true},
                                     {384, true},
                                     {4096, true}}) {
    AlignedBytes codes(kRows * length);
    AlignedBytes query(length);
    for (size_t i = 0; i < kRows * length; i++) codes.As<uint8_t>()[i] = ends ? 255 : static_cast<uint8_t>(random());
    for (size_t i = 0; i < length; i++) query.As<int8_t>()[i] = ends ? -128 : static_cast<int8_t>(random());
    std::vector<const uint8_t*> rows;
    std::vector<int32_t> scalarCodes;
    for (size_t row = 0; row < kRows; row++) {
      rows.push_back(codes.As<uint8_t>() + (row * 7 % kRows) * length);
      scalarCodes.push_back(ScalarKernels()->dotCodes(rows.back(), query.As<int8_t>(), length));
    }
    for (const Kernels* set : SupportedKernels().sets) {
      if (set == nullptr) continue;
      for (size_t count = 0; count <= kRows; count++) {
        std::vector<int32_t> products(kRows + 1, 7);
        set->dotRows(rows.data(), count, query.As<int8_t>(), length, products.data());
        for (size_t i = 0; i < count; i++) CHECK(products[i] == scalarCodes[i]);
        CHECK(products[count] == 7);
      }
    }
  }
}

TEST("every counting kernel returns the count of its scalar version") {
  std::mt19937_64 random(4);
  std::vector<uint64_t> left(67), right(67);
  for (size_t i = 0; i < left.size(); i++) {
    left[i] = random();
    right[i] = random();
  }
  for (const Kernels* set : SupportedKernels().sets) {
    if (set == nullptr) continue;
    for (size_t words = 0; words <= left.size(); words++) {
      CHECK(set->countCommon(left.data(), right.data(), words) ==
            ScalarKernels()->countCommon(left.data(), right.data(), words));
    }
    CHECK(set->countCommon(left.data(), left.data(), 1) == static_cast<uint64_t>(std::popcount(left[0])));
  }
}

TEST("kernels are selected by name, and an unsupported name selects nothing") {
  CHECK(!SelectKernels("avx1024"));
  CHECK(!SelectKernels(""));
  // The active set is fixed after its first use.
  const Kernels* const active = &ActiveKernels();
  for (const Kernels* set : SupportedKernels().sets) {
    if (set != nullptr) CHECK(SelectKernels(set->name));
  }
  CHECK(&ActiveKernels() == active);
  CHECK(SelectKernels("auto"));
#if defined(__aarch64__)
  CHECK(SelectKernels("neon"));
#endif
}

TEST("every checksum kernel returns the CRC32C of its scalar version, at every length and alignment") {
  std::mt19937 random(2);
  std::vector<uint8_t> bytes(300);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  for (const Kernels* set : SupportedKernels().sets) {
    if (set == nullptr) continue;
    for (size_t start = 0; start < 9; start++) {
      for (size_t length = 0; length + start <= bytes.size(); length++) {
        CHECK(set->crc32c(7, &bytes[0] + start, length) == ScalarKernels()->crc32c(7, &bytes[0] + start, length));
      }
    }
  }
}

TEST("the checksum is CRC32C and can be computed in parts") {
  Crc32c checksum;
  checksum.Add("1234", 4);
  checksum.Add("56789", 5);
  CHECK(checksum.Value() == 0xe3069283);
}

}  // namespace
}  // namespace quarry
