// A metadata filter as it comes from JavaScript: a postfix program over sets of documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/status.h"

namespace quarry {

enum class FilterOperator : uint8_t {
  kAnd = 0,    // pops `arity` sets; of none: everything
  kOr = 1,     // pops `arity` sets; of none: nothing
  kEqual = 2,  // the comparisons and memberships push one set
  kNotEqual = 3,
  kGreater = 4,
  kGreaterOrEqual = 5,
  kLess = 6,
  kLessOrEqual = 7,
  kIn = 8,
  kNotIn = 9,
};

struct FilterStep {
  FilterOperator op;
  uint32_t arity = 0;               // kAnd, kOr
  std::string attribute;            // the others
  std::vector<std::string> values;  // one for a comparison, any number for a membership
  std::string key;                  // what tells it from all others: the operator, and the texts with their lengths
};

// Meaning (a missing attribute is null): comparisons with null are false, kNotEqual and kNotIn with null are true;
// strings order by their UTF-8 bytes; a list attribute is `in` when one of its values is.
class FilterProgram {
 public:
  // Bytes: for each step u8 operator; then for kAnd/kOr u32 arity; else the attribute and, after a u32 count, the
  // values, each text a u32 length and its UTF-8 bytes. A well-formed program leaves exactly one set.
  static Status Parse(const uint8_t* bytes, size_t length, FilterProgram* program);

  const std::vector<FilterStep>& steps() const { return steps_; }

 private:
  std::vector<FilterStep> steps_;
};

}  // namespace quarry
