#include "engine/filter.h"

#include <charconv>
#include <utility>

#include "engine/bytes.h"
#include "engine/typed_values.h"

namespace quarry {
namespace {

bool IsJunction(FilterOperator op) { return op == FilterOperator::kAnd || op == FilterOperator::kOr; }
bool IsMembership(FilterOperator op) { return op == FilterOperator::kIn || op == FilterOperator::kNotIn; }
bool IsExistence(FilterOperator op) { return op == FilterOperator::kExists || op == FilterOperator::kNotExists; }
bool IsRange(FilterOperator op) {
  return op >= FilterOperator::kGreaterAndLess && op <= FilterOperator::kGreaterOrEqualAndLessOrEqual;
}
bool IsAreaTest(FilterOperator op) { return op == FilterOperator::kInArea || op == FilterOperator::kNotInArea; }

// Moves the versions of a step out of its values. Returns false if a value is not a number.
bool TakeVersions(FilterStep* step) {
  for (const std::string& value : step->values) {
    uint64_t version = 0;
    const char* const end = value.data() + value.size();
    const auto [parsed, error] = std::from_chars(value.data(), end, version);
    if (error != std::errc() || parsed != end) return false;
    step->versions.push_back(version);
  }
  step->values.clear();
  return true;
}

std::string KeyOf(const FilterStep& step) {
  std::string key(1, static_cast<char>(step.op));
  const auto add = [&](const std::string& text) {
    key += std::to_string(text.size());
    key += ':';
    key += text;
  };
  add(step.attribute);
  for (const std::string& value : step.values) add(value);
  return key;
}

Status Malformed(const char* what) { return {StatusCode::kInvalid, std::string("malformed filter program: ") + what}; }

}  // namespace

Status FilterProgram::Parse(const uint8_t* bytes, size_t length, FilterProgram* program) {
  ByteReader reader(bytes, length);
  program->steps_.clear();
  uint64_t depth = 0;
  while (reader.remaining() > 0) {
    const auto raw = reader.Read<uint8_t>();
    if (raw > static_cast<uint8_t>(FilterOperator::kVersionNotIn)) return Malformed("unknown operator");
    FilterStep step{static_cast<FilterOperator>(raw), 0, {}, {}, {}, {}};
    if (IsJunction(step.op)) {
      step.arity = reader.Read<uint32_t>();
      if (step.arity > depth) return Malformed("an operator has too few operands");
      depth -= step.arity;
    } else {
      step.attribute = reader.ReadText();
      const auto count = reader.Read<uint32_t>();
      if (count > reader.remaining()) return Malformed("more values than bytes");
      if (IsExistence(step.op) && count != 0) return Malformed("existence must have no value");
      if (IsRange(step.op) && count != 2) return Malformed("a range must have exactly two values");
      const bool isList = IsMembership(step.op) || step.HasVersions();
      if (!isList && !IsExistence(step.op) && !IsRange(step.op) && count != 1) {
        return Malformed("a comparison must have exactly one value");
      }
      for (uint32_t i = 0; i < count; i++) {
        const std::string_view value = reader.ReadText();
        if (!IsOperand(value) || (TypeOf(value) == ValueType::kArea) != IsAreaTest(step.op)) {
          return Malformed("a value does not suit its operator");
        }
        step.values.emplace_back(value);
      }
      if (IsRange(step.op) && TypeOf(step.values.front()) != TypeOf(step.values.back())) {
        return Malformed("the bounds of a range must have one type");
      }
      if (step.HasVersions() && !TakeVersions(&step)) return Malformed("a version is not a number");
      step.key = KeyOf(step);
    }
    if (!reader.ok()) return Malformed("unexpected end");
    depth++;
    program->steps_.push_back(std::move(step));
  }
  if (depth != 1) return Malformed("it must have exactly one result");
  return {};
}

}  // namespace quarry
