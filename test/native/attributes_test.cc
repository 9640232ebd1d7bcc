#include "engine/attributes.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "engine/shard.h"
#include "samples.h"

namespace quarry {
namespace {

using test::Random;
using test::RandomBelow;

using Predicate = std::function<bool(const Attributes&)>;
struct Filter {
  std::vector<uint8_t> bytes;
  Predicate matches;
};

const std::vector<std::string>* ValuesOf(const Attributes& attributes, const std::string& name) {
  for (const auto& attribute : attributes) {
    if (attribute.name == name) return &attribute.values;
  }
  return nullptr;
}

bool Compare(FilterOperator op, const std::string& left, const std::string& right) {
  switch (op) {
    case FilterOperator::kEqual: return left == right;
    case FilterOperator::kGreater: return left > right;
    case FilterOperator::kGreaterOrEqual: return left >= right;
    case FilterOperator::kLess: return left < right;
    case FilterOperator::kLessOrEqual: return left <= right;
    default: std::abort();
  }
}

std::string RandomValue(Random* random) {
  // Includes two-, three- and four-byte characters, whose byte order differs from that of UTF-16.
  static const std::vector<std::string> letters = {"a", "b", "Z", "é", "\xef\xbf\xbd", "\xf0\x9f\x98\x80"};
  std::string value;
  for (uint32_t length = RandomBelow(random, 3); length > 0; length--) value += letters[RandomBelow(random, 6)];
  return value;
}

// A filter for the strings between two bounds, which may be in the wrong order.
Filter RandomRange(Random* random) {
  const bool includesLow = RandomBelow(random, 2) == 0;
  const bool includesHigh = RandomBelow(random, 2) == 0;
  const std::string low = RandomValue(random);
  const std::string high = RandomValue(random);
  const auto op = static_cast<FilterOperator>(18 + (includesLow ? 2 : 0) + (includesHigh ? 1 : 0));
  const auto matches = [=](const Attributes& attributes) {
    const auto* own = ValuesOf(attributes, "color");
    if (own == nullptr) return false;
    const std::string& value = own->front();
    return (includesLow ? value >= low : value > low) && (includesHigh ? value <= high : value < high);
  };
  return {test::StepBytes(op, "color", {low, high}), matches};
}

Filter RandomFilter(Random* random, int depth) {
  if (depth > 0 && RandomBelow(random, 2) == 0) {
    const bool all = RandomBelow(random, 2) == 0;
    const uint32_t arity = RandomBelow(random, 4);
    Filter filter;
    std::vector<Predicate> parts;
    for (uint32_t i = 0; i < arity; i++) {
      Filter part = RandomFilter(random, depth - 1);
      filter.bytes.insert(filter.bytes.end(), part.bytes.begin(), part.bytes.end());
      parts.push_back(part.matches);
    }
    const auto junction = test::JunctionBytes(all ? FilterOperator::kAnd : FilterOperator::kOr, arity);
    filter.bytes.insert(filter.bytes.end(), junction.begin(), junction.end());
    filter.matches = [all, parts](const Attributes& attributes) {
      for (const auto& part : parts) {
        if (part(attributes) != all) return !all;
      }
      return all;
    };
    return filter;
  }
  if (RandomBelow(random, 4) == 0) return RandomRange(random);
  const auto op = static_cast<FilterOperator>(2 + RandomBelow(random, 8));
  const bool member = op == FilterOperator::kIn || op == FilterOperator::kNotIn;
  const std::string name = member && RandomBelow(random, 2) == 0 ? "list:tags" : "color";
  std::vector<std::string> values;
  for (uint32_t count = member ? RandomBelow(random, 4) : 1; count > 0; count--) values.push_back(RandomValue(random));
  const bool negated = op == FilterOperator::kNotEqual || op == FilterOperator::kNotIn;
  const auto matches = [=](const Attributes& attributes) {
    const auto* own = ValuesOf(attributes, name);
    if (own == nullptr) return negated;
    bool any = false;
    for (const auto& value : *own) {
      for (const auto& operand : values) {
        any = any || Compare(member || negated ? FilterOperator::kEqual : op, value, operand);
      }
    }
    return any != negated;
  };
  return {test::StepBytes(op, name, values), matches};
}

// Finds rows with a deadline that no test reaches.
std::shared_ptr<const MatchingRows> FindRows(const Shard& shard, const FilterProgram& program) {
  std::shared_ptr<const MatchingRows> found;
  REQUIRE(shard.filterCache().Find(shard, program, CancellationToken(), &found).ok());
  return found;
}

TEST("a filter matches the same documents as a naive evaluation") {
  Random random(3);
  AttributeIndex index;
  std::vector<Attributes> documents;
  for (uint32_t slot = 0; slot < 700; slot++) {
    Attributes attributes;
    if (RandomBelow(&random, 4) > 0) attributes.push_back({"color", {RandomValue(&random)}});
    if (RandomBelow(&random, 3) > 0) {
      attributes.push_back({"list:tags", {}});
      for (uint32_t count = RandomBelow(&random, 4); count > 0; count--) {
        attributes.back().values.push_back(RandomValue(&random));
      }
    }
    index.Add(slot, attributes);
    documents.push_back(std::move(attributes));
  }
  for (int round = 0; round < 600; round++) {
    const Filter filter = RandomFilter(&random, 3);
    FilterProgram program;
    REQUIRE(FilterProgram::Parse(filter.bytes.data(), filter.bytes.size(), &program).ok());
    // Fewer slots than exist: slots staged later must be excluded.
    const uint32_t slots = 650 + RandomBelow(&random, 51);
    const CancellationToken cancellation;
    CancellationChecker checker(cancellation);
    const auto noVersions = [](const std::vector<uint64_t>&) { return std::vector<uint32_t>(); };
    const Bitset found = index.Evaluate(program, slots, noVersions, &checker);
    CHECK(checker.status().ok());
    CHECK(found.size() == slots);
    for (uint32_t slot = 0; slot < slots; slot++) CHECK(found.Has(slot) == filter.matches(documents[slot]));
  }
}

TEST("the estimated memory of attributes is the sum of their texts and sets") {
  Random random(31);
  AttributeIndex index;
  CHECK(index.Bytes() == 0);
  for (uint32_t slot = 0; slot < 3000; slot++) {
    index.Add(slot, {{"color", {RandomValue(&random)}}, {"list:tags", {RandomValue(&random), "b"}}});
    index.AddValue(slot, "number", std::to_string(slot));
    if (slot % 500 != 0) continue;
    size_t bytes = 0;
    std::string last;
    index.ForEach([&](const std::string& name, const std::string& value, const SlotSet& set) {
      if (name != last) bytes += name.size() + AttributeIndex::kNodeBytes;
      last = name;
      bytes += value.size() + set.Bytes() + AttributeIndex::kNodeBytes;
    });
    CHECK(index.Bytes() == bytes);
  }
}

TEST("the filter cache is bounded and stays correct while documents are added") {
  Random random(30);
  Shard shard(4);
  std::vector<Attributes> documents;
  std::vector<Filter> filters;
  for (int i = 0; i < 40; i++) filters.push_back(RandomFilter(&random, 2));
  for (uint64_t version = 1; version <= 400; version++) {
    const Attributes attributes = {{"color", {RandomValue(&random)}}, {"list:tags", {RandomValue(&random), "b"}}};
    const std::vector<std::vector<float>> rows(RandomBelow(&random, 4), std::vector<float>{1, 0, 0, 0});
    const auto input = test::MakeDocument(version, rows, std::vector<test::RowTerms>(rows.size()), attributes);
    REQUIRE(input->Check(4).ok());
    uint32_t slot = 0;
    REQUIRE(shard.Append(*input, Shard::StagedPolicy::kReplace, &slot).ok());
    documents.push_back(attributes);
    const Filter& filter = filters[RandomBelow(&random, 40)];
    FilterProgram program;
    REQUIRE(FilterProgram::Parse(filter.bytes.data(), filter.bytes.size(), &program).ok());
    const auto before = shard.filterCache().EstimateCost(shard, program);
    const auto found = FindRows(shard, program);
    uint64_t count = 0;
    for (uint32_t row = 0; row < shard.Rows(); row++) {
      const bool matches = filter.matches(documents[shard.Info(row).slot]);
      CHECK(found->rows.Has(row) == matches);
      count += matches ? 1 : 0;
    }
    CHECK(found->count == count);
    const auto after = shard.filterCache().EstimateCost(shard, program);
    CHECK(before.matching >= count && after.matching >= count && after.matching <= before.matching);
    CHECK(after.uncached == 0 && (program.steps().size() > 1 || after.matching == count));
  }
  const size_t most = FilterCache::kComparisonsMax * (FilterCache::kKeyBytesMax + shard.Rows() / 8 + 8);
  for (int i = 0; i < 1000; i++) {
    const std::string value = i % 2 == 0 ? std::to_string(i) : std::string(5000, 'x');
    const auto bytes = test::StepBytes(FilterOperator::kNotEqual, "color", {value});
    FilterProgram program;
    REQUIRE(FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
    CHECK(FindRows(shard, program)->count == shard.Rows());
    CHECK(shard.filterCache().Bytes() <= most);
  }
}

TEST("a long filter evaluation stops at its deadline or on cancellation, and no partial result is cached") {
  Shard shard(4);
  for (uint64_t version = 1; version <= 2000; version++) {
    const auto input = test::MakeDocument(version, {{1, 0, 0, 0}}, {{}}, {{"number", {std::to_string(version)}}});
    REQUIRE(input->Check(4).ok());
    uint32_t slot = 0;
    REQUIRE(shard.Append(*input, Shard::StagedPolicy::kReplace, &slot).ok());
  }
  const auto parse = [](const std::vector<uint8_t>& bytes) {
    FilterProgram program;
    REQUIRE(FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
    return program;
  };
  // One comparison that scans many values, one that scans many values without documents, one that many documents
  // match, and many comparisons.
  std::vector<std::string> unknown;
  for (int i = 0; i < 2000; i++) unknown.push_back(std::to_string(i) + "x");
  std::vector<uint8_t> many;
  for (uint32_t i = 0; i < 2000; i++) {
    const auto step = test::StepBytes(FilterOperator::kEqual, "number", {std::to_string(i)});
    many.insert(many.end(), step.begin(), step.end());
  }
  const auto junction = test::JunctionBytes(FilterOperator::kOr, 2000);
  many.insert(many.end(), junction.begin(), junction.end());
  const std::pair<FilterProgram, uint64_t> filters[] = {
      {parse(test::StepBytes(FilterOperator::kGreater, "number", {"0"})), 2000},
      {parse(test::StepBytes(FilterOperator::kIn, "number", unknown)), 0},
      {parse(test::StepBytes(FilterOperator::kNotIn, "number", unknown)), 2000},
      {parse(many), 1999},
  };
  CancellationToken late;
  late.deadline = CancellationToken::Clock::now() - std::chrono::seconds(1);
  CancellationToken canceled;
  canceled.canceled = std::make_shared<std::atomic<bool>>(true);
  for (const auto& [filter, count] : filters) {
    std::shared_ptr<const MatchingRows> found;
    CHECK(shard.filterCache().Find(shard, filter, late, &found).code() == StatusCode::kDeadline);
    CHECK(shard.filterCache().Find(shard, filter, canceled, &found).code() == StatusCode::kCanceled);
    CHECK(found == nullptr);
    const uint64_t uncached = shard.filterCache().EstimateCost(shard, filter).uncached;
    CHECK(filter.steps().size() > 1 ? uncached > 0 : uncached == shard.Rows());
    CHECK(FindRows(shard, filter)->count == count);
    CancellationChecker checker(late);
    (void)shard.Evaluate(filter, shard.FilledSlots(), &checker);
    CHECK(checker.status().code() == StatusCode::kDeadline);
  }
}

TEST("a filter by versions finds staged and live ones, in the same way with and without the cache") {
  Shard shard(4);
  const auto stage = [&](uint64_t version) {
    const auto input = test::MakeDocument(version, {{1, 0, 0, 0}, {0, 1, 0, 0}}, {{}, {}}, {{"color", {"red"}}});
    REQUIRE(input->Check(4).ok());
    uint32_t slot = 0;
    REQUIRE(shard.Append(*input, Shard::StagedPolicy::kReplace, &slot).ok());
    shard.MarkReady(slot);
  };
  const auto check = [&](FilterOperator op, const std::vector<std::string>& versions,
                         const std::vector<size_t>& slots) {
    const auto bytes = test::StepBytes(op, "", versions);
    FilterProgram program;
    REQUIRE(FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
    const CancellationToken cancellation;
    CancellationChecker checker(cancellation);
    const Bitset found = shard.Evaluate(program, shard.FilledSlots(), &checker);
    const auto rows = FindRows(shard, program);
    size_t count = 0;
    for (size_t slot = 0; slot < shard.FilledSlots(); slot++) {
      const bool expected = std::find(slots.begin(), slots.end(), slot) != slots.end();
      CHECK(found.Has(slot) == expected && rows->rows.Has(2 * slot) == expected &&
            rows->rows.Has(2 * slot + 1) == expected);
      count += expected ? 2 : 0;
    }
    CHECK(rows->count == count);
  };
  for (uint64_t version = 10; version < 14; version++) stage(version);
  check(FilterOperator::kVersionIn, {"11", "13", "99"}, {1, 3});
  check(FilterOperator::kVersionNotIn, {"11", "13", "99"}, {0, 2});
  uint64_t version = 11;
  shard.Commit(1, &version, nullptr);
  version = 12;
  shard.Commit(2, &version, nullptr);
  check(FilterOperator::kVersionIn, {"11"}, {1});
  stage(14);
  check(FilterOperator::kVersionIn, {"14"}, {4});
  shard.Commit(3, nullptr, &version);
  check(FilterOperator::kVersionIn, {"12", "13"}, {3});
  check(FilterOperator::kVersionIn, {}, {});
  check(FilterOperator::kVersionNotIn, {}, {0, 1, 2, 3, 4});
  for (const char* const value : {"", "-1", "1x", "18446744073709551616"}) {
    const auto bytes = test::StepBytes(FilterOperator::kVersionIn, "", {value});
    FilterProgram program;
    CHECK(!FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
  }
}

TEST("the correlation of a filter is cached only after rows are linked") {
  Shard shard(32);
  test::ClusteredVectors cloud(32, 10, 32);
  GraphScratch scratch;
  for (uint64_t version = 1; version <= 600; version++) {
    const Attributes attributes = {{"color", {version / 10 % 2 == 0 ? "red" : "blue"}},
                                   {"place", {version % 10 < 5 ? "here" : "there"}}};
    const auto input = test::MakeDocument(version, {cloud.Next(static_cast<uint32_t>(version % 10))}, {{}}, attributes);
    REQUIRE(input->Check(32).ok());
    uint32_t slot = 0;
    REQUIRE(shard.Append(*input, Shard::StagedPolicy::kReplace, &slot).ok());
  }
  const auto find = [&](const std::string& attribute, const std::string& value) {
    const auto bytes = test::StepBytes(FilterOperator::kEqual, attribute, {value});
    FilterProgram program;
    REQUIRE(FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
    return FindRows(shard, program);
  };
  const auto red = find("color", "red");
  const auto here = find("place", "here");
  CHECK(!red->IsUncorrelated(shard.graph()) && !here->IsUncorrelated(shard.graph()));
  for (uint32_t row = 0; row < shard.Rows(); row++) shard.Link(row, &scratch);
  CHECK(find("color", "red") == red && find("place", "here") == here);
  for (int i = 0; i < 2; i++) CHECK(red->IsUncorrelated(shard.graph()) && !here->IsUncorrelated(shard.graph()));
}

TEST("a truncated filter program or an unknown operator is rejected") {
  std::vector<uint8_t> bytes = test::StepBytes(FilterOperator::kIn, "color", {"red", "blue"});
  const auto junction = test::JunctionBytes(FilterOperator::kAnd, 1);
  bytes.insert(bytes.end(), junction.begin(), junction.end());
  FilterProgram program;
  CHECK(FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
  const size_t oneStep = bytes.size() - junction.size();
  for (size_t length = 0; length < bytes.size(); length++) {
    CHECK(FilterProgram::Parse(bytes.data(), length, &program).ok() == (length == oneStep));
  }
  const auto tooMany = test::JunctionBytes(FilterOperator::kOr, 1);
  CHECK(!FilterProgram::Parse(tooMany.data(), tooMany.size(), &program).ok());
  const auto parses = [&](const std::vector<std::string>& bounds) {
    const auto range = test::StepBytes(FilterOperator::kGreaterAndLess, "color", bounds);
    return FilterProgram::Parse(range.data(), range.size(), &program).ok();
  };
  CHECK(parses({"blue", "red"}) && parses({"red", "blue"}));
  CHECK(!parses({"blue"}) && !parses({"blue", "red", "red"}) && !parses({"blue", std::string("\xf9\x01", 2)}));
  bytes[0] = 10;
  CHECK(!FilterProgram::Parse(bytes.data(), bytes.size(), &program).ok());
}

TEST("truncated attributes are rejected") {
  std::vector<uint8_t> bytes;
  test::PutNumber(&bytes, 1);
  test::PutText(&bytes, "list:a");
  test::PutNumber(&bytes, 2);
  test::PutText(&bytes, "x");
  test::PutText(&bytes, "yy");
  Attributes attributes;
  CHECK(ParseAttributes(bytes.data(), bytes.size(), &attributes).ok());
  CHECK(attributes.size() == 1 && attributes[0].name == "list:a" && attributes[0].values.size() == 2);
  for (size_t length = 0; length < bytes.size(); length++) {
    CHECK(!ParseAttributes(bytes.data(), length, &attributes).ok());
  }
}

}  // namespace
}  // namespace quarry
