#include "engine/facets.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/bitset.h"
#include "engine/bytes.h"
#include "engine/shard.h"
#include "engine/typed_values.h"

namespace quarry {
namespace {

// Cost of one value of a column in work units of CancellationChecker.
constexpr size_t kFacetValueWork = 64;

// Bytes of the values of one facet, so that long values cannot fill the memory.
constexpr size_t kFacetBytesMax = 128 * 1024;

// Values are texts of attribute indexes, which exist as long as their shards.
using ValueCount = std::pair<std::string_view, uint64_t>;
using ValueCounts = std::vector<ValueCount>;

// Adds the counts of another shard; both are in ascending order of their values.
void Merge(const ValueCounts& added, ValueCounts* counts) {
  if (counts->empty()) {
    *counts = added;
    return;
  }
  ValueCounts merged;
  merged.reserve(counts->size() + added.size());
  auto left = counts->begin();
  auto right = added.begin();
  while (left != counts->end() || right != added.end()) {
    if (right == added.end() || (left != counts->end() && left->first < right->first)) {
      merged.push_back(*left++);
    } else if (left == counts->end() || right->first < left->first) {
      merged.push_back(*right++);
    } else {
      merged.emplace_back(left->first, left->second + right->second);
      ++left;
      ++right;
    }
  }
  *counts = std::move(merged);
}

void CountValues(const Shard& shard, const FacetRequest& facet, const Bitset& matching, CancellationChecker* checker,
                 ValueCounts* counts) {
  ValueCounts found;
  shard.attributes().ForEachValue(facet.attribute, "", StartOfType(ValueType::kGeoPoint),
                                  [&](const std::string& value, const SlotSet& set) {
                                    const uint64_t documents = set.CountIn(matching);
                                    if (documents > 0) found.emplace_back(value, documents);
                                    return checker->MayContinue(kFacetValueWork + set.Size());
                                  });
  Merge(found, counts);
}

// A range of dates, whose bounds are instants or, without a bound, the start and the end of their type.
struct DateRange {
  std::optional<Instant> from;
  std::optional<Instant> to;
  // Strings between which all dates of the range are, because a date starts with its local day.
  std::string first;
  std::string last;

  explicit DateRange(const FacetRange& range) : last(EndOfType(ValueType::kString)) {
    if (range.from.size() == kInstantBytes) {
      from = ToInstant(range.from);
      first = FirstDay(range.from);
    }
    if (range.to.size() == kInstantBytes) {
      to = ToInstant(range.to);
      last = std::string(LastDay(range.to)).append(EndOfType(ValueType::kString));
    }
  }

  bool Contains(const std::string& value) const {
    const std::optional<Instant> instant = ParseDate(value);
    return instant.has_value() && (!from.has_value() || *instant >= *from) && (!to.has_value() || *instant < *to);
  }
};

bool IsDateRange(const FacetRange& range) { return TypeOf(range.from) == ValueType::kInstant; }

// A bound of a range is an operand, or the start or the end of a type.
bool IsFacetBound(std::string_view bound) {
  return TypeOf(bound) != ValueType::kInstant || bound.size() == 1 || IsOperand(bound);
}

uint64_t CountRange(const Shard& shard, const std::string& attribute, const FacetRange& range, const Bitset& matching,
                    CancellationChecker* checker) {
  uint64_t documents = 0;
  const auto count = [&](const SlotSet& set) {
    documents += set.CountIn(matching);
    return checker->MayContinue(kFacetValueWork + set.Size());
  };
  if (!IsDateRange(range)) {
    shard.attributes().ForEachValue(attribute, range.from, range.to,
                                    [&](const std::string&, const SlotSet& set) { return count(set); });
    return documents;
  }
  const DateRange dates(range);
  shard.attributes().ForEachValue(attribute, dates.first, dates.last,
                                  [&](const std::string& value, const SlotSet& set) {
                                    return dates.Contains(value) ? count(set) : checker->MayContinue(kFacetValueWork);
                                  });
  return documents;
}

void CountRanges(const Shard& shard, const FacetRequest& facet, const Bitset& matching, CancellationChecker* checker,
                 std::vector<FacetCount>* counts) {
  counts->resize(facet.ranges.size());
  for (size_t i = 0; i < facet.ranges.size(); i++) {
    (*counts)[i].documents += CountRange(shard, facet.attribute, facet.ranges[i], matching, checker);
  }
}

FacetResult MostFrequent(ValueCounts counts, uint32_t valuesMax) {
  FacetResult result;
  result.values = counts.size();
  const size_t kept = std::min<size_t>(valuesMax, counts.size());
  std::partial_sort(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(kept), counts.end(),
                    [](const ValueCount& left, const ValueCount& right) {
                      return left.second != right.second ? left.second > right.second : left.first < right.first;
                    });
  size_t bytes = 0;
  for (size_t i = 0; i < kept; i++) {
    bytes += counts[i].first.size();
    if (bytes > kFacetBytesMax) break;
    result.counts.push_back({std::string(counts[i].first), counts[i].second});
  }
  return result;
}

void PutBytes(std::vector<uint8_t>* out, const void* from, size_t length) {
  const auto* bytes = static_cast<const uint8_t*>(from);
  out->insert(out->end(), bytes, bytes + length);
}

template <class T>
void Put(std::vector<uint8_t>* out, T value) {
  PutBytes(out, &value, sizeof value);
}

}  // namespace

Status ParseFacets(const uint8_t* bytes, size_t length, std::vector<FacetRequest>* facets) {
  const Status malformed(StatusCode::kInvalid, "malformed facets");
  ByteReader reader(bytes, length);
  const auto count = reader.Read<uint32_t>();
  if (!reader.ok() || count > reader.remaining()) return malformed;
  for (uint32_t i = 0; i < count; i++) {
    FacetRequest facet;
    facet.attribute = reader.ReadText();
    facet.valuesMax = reader.Read<uint32_t>();
    const auto ranges = reader.Read<uint32_t>();
    if (!reader.ok() || ranges > reader.remaining()) return malformed;
    for (uint32_t r = 0; r < ranges; r++) {
      FacetRange range;
      range.from = reader.ReadText();
      range.to = reader.ReadText();
      if (range.to < range.from || !IsFacetBound(range.from) || !IsFacetBound(range.to)) return malformed;
      facet.ranges.push_back(std::move(range));
    }
    if (!reader.ok()) return malformed;
    facets->push_back(std::move(facet));
  }
  return reader.remaining() == 0 ? Status() : malformed;
}

Status CountFacets(const std::vector<DocumentSelection>& selections, const std::vector<FacetRequest>& facets,
                   const std::vector<uint64_t>& excluded, const CancellationToken& cancellation,
                   std::vector<FacetResult>* results) {
  if (Status status = cancellation.Check(); !status.ok()) return status;
  CancellationChecker checker(cancellation);
  std::vector<ValueCounts> values(facets.size());
  results->assign(facets.size(), {});
  for (const DocumentSelection& selection : selections) {
    for (const auto& shard : *selection.readSnapshot.shards) {
      const Bitset matching = MatchingSlots(*shard, selection, excluded, &checker);
      for (size_t i = 0; i < facets.size() && checker.status().ok(); i++) {
        if (facets[i].ranges.empty()) {
          CountValues(*shard, facets[i], matching, &checker, &values[i]);
        } else {
          CountRanges(*shard, facets[i], matching, &checker, &(*results)[i].counts);
        }
      }
      if (!checker.status().ok()) return checker.status();
    }
  }
  for (size_t i = 0; i < facets.size(); i++) {
    if (facets[i].ranges.empty()) (*results)[i] = MostFrequent(std::move(values[i]), facets[i].valuesMax);
  }
  return {};
}

std::vector<uint8_t> EncodeFacets(const std::vector<FacetResult>& results) {
  std::vector<uint8_t> out;
  for (const FacetResult& result : results) {
    Put(&out, static_cast<uint32_t>(result.counts.size()));
    Put(&out, static_cast<double>(result.values));
    for (const FacetCount& count : result.counts) {
      Put(&out, static_cast<uint32_t>(count.value.size()));
      PutBytes(&out, count.value.data(), count.value.size());
      Put(&out, static_cast<double>(count.documents));
    }
  }
  return out;
}

}  // namespace quarry
