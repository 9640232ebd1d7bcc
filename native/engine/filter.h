// A metadata filter as received from JavaScript: a postfix program over sets of documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/status.h"

namespace quarry {

enum class FilterOperator : uint8_t {
  kAnd = 0,    // pops `arity` sets; with arity 0: all documents
  kOr = 1,     // pops `arity` sets; with arity 0: no documents
  kEqual = 2,  // comparisons and memberships push one set
  kNotEqual = 3,
  kGreater = 4,
  kGreaterOrEqual = 5,
  kLess = 6,
  kLessOrEqual = 7,
  kIn = 8,
  kNotIn = 9,
  kExists = 10,  // no values
  kNotExists = 11,
  kNotGreater = 12,  // complements of the order comparisons, which also match other types and missing attributes
  kNotGreaterOrEqual = 13,
  kNotLess = 14,
  kNotLessOrEqual = 15,
  kInArea = 16,  // one value, an area of typed_values.h
  kNotInArea = 17,
  kGreaterAndLess = 18,  // both ends of a range: two values of one type, the lower bound first
  kGreaterAndLessOrEqual = 19,
  kGreaterOrEqualAndLess = 20,
  kGreaterOrEqualAndLessOrEqual = 21,
  kVersionIn = 22,  // documents of these versions; the values are decimal numbers, and the attribute is ignored
  kVersionNotIn = 23,
};

struct FilterStep {
  FilterOperator op;
  uint32_t arity = 0;               // kAnd, kOr
  std::string attribute;            // all other operators
  std::vector<std::string> values;  // one for a comparison, two for a range, any number for a membership
  std::vector<uint64_t> versions;   // kVersionIn, kVersionNotIn; such steps have no values
  std::string key;                  // unique key of the step: operator, and texts with their lengths

  // Whether the step concerns versions, not attributes.
  bool HasVersions() const { return op == FilterOperator::kVersionIn || op == FilterOperator::kVersionNotIn; }
};

// Semantics (a missing attribute is null): comparisons with null are false, kNotEqual and kNotIn with null
// are true; strings order by their UTF-8 bytes; a list attribute matches kIn if one of its values does. An
// attribute exists if it has at least one value, so an empty list does not. A value of another type than the operand
// equals null. An instant is compared with strings that are dates.
class FilterProgram {
 public:
  // Parses, for each step, a u8 operator; then for kAnd and kOr a u32 arity; otherwise the attribute, a u32
  // count and the values. Each text is a u32 length followed by its bytes: UTF-8, or an operand of typed_values.h. A
  // well-formed program leaves exactly one set; otherwise returns kInvalid.
  static Status Parse(const uint8_t* bytes, size_t length, FilterProgram* program);

  const std::vector<FilterStep>& steps() const { return steps_; }

 private:
  std::vector<FilterStep> steps_;
};

}  // namespace quarry
