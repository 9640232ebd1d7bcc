#include "engine/sorted_list.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/bytes.h"
#include "engine/shard.h"
#include "engine/typed_values.h"

namespace quarry {
namespace {

// Costs in work units of CancellationChecker: one value of a column, and one document that is compared.
constexpr size_t kSortValueWork = 64;
constexpr size_t kSortDocumentWork = 32;

constexpr uint32_t kNoRank = 0xffffffff;
constexpr uint8_t kDescendingFlag = 1;
constexpr uint8_t kDateFlag = 2;

// Sort key of a value. The text is one of the attribute index, which exists as long as its shard; empty for dates.
struct SortKey {
  Instant instant;
  std::string_view text;

  auto operator<=>(const SortKey&) const = default;
};

// The values of one attribute in a shard.
struct SortColumn {
  std::vector<uint32_t> ranks;  // by slot: rank of its value, or kNoRank
  std::vector<SortKey> keys;    // by rank, ascending
};

// One document with the keys of its values; a missing one is empty.
struct SortedEntry {
  ListedDocument document;
  std::vector<std::optional<SortKey>> keys;
};

SortColumn ReadColumn(const Shard& shard, const SortField& field, uint32_t slots, CancellationChecker* checker) {
  SortColumn column;
  column.ranks.assign(slots, kNoRank);
  const std::string_view end = field.isDate ? EndOfType(ValueType::kString) : StartOfType(ValueType::kGeoPoint);
  shard.attributes().ForEachValue(field.attribute, "", end, [&](const std::string& value, const SlotSet& set) {
    SortKey key{{}, value};
    if (field.isDate) {
      const std::optional<Instant> instant = ParseDate(value);
      if (!instant.has_value()) return checker->MayContinue(kSortValueWork);
      key = {*instant, {}};
    }
    const auto rank = static_cast<uint32_t>(column.keys.size());
    column.keys.push_back(key);
    set.ForEach([&](uint32_t slot) {
      if (slot < slots) column.ranks[slot] = rank;
    });
    return checker->MayContinue(kSortValueWork + set.Size());
  });
  if (!field.isDate) return column;
  // The order of the strings is not that of their instants, and several strings may have one instant.
  std::vector<uint32_t> order(column.keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t left, uint32_t right) { return column.keys[left] < column.keys[right]; });
  std::vector<uint32_t> rankOf(order.size());
  std::vector<SortKey> keys;
  for (const uint32_t at : order) {
    if (keys.empty() || keys.back() != column.keys[at]) keys.push_back(column.keys[at]);
    rankOf[at] = static_cast<uint32_t>(keys.size() - 1);
  }
  for (uint32_t& rank : column.ranks) {
    if (rank != kNoRank) rank = rankOf[rank];
  }
  column.keys = std::move(keys);
  return column;
}

// Returns the first `limit` documents of a shard, in unspecified order and without the position of their selection.
std::vector<SortedEntry> FindFirst(const Shard& shard, const std::vector<SortField>& fields, const Bitset& matching,
                                   uint64_t limit, CancellationChecker* checker) {
  std::vector<SortColumn> columns;
  for (const SortField& field : fields) {
    columns.push_back(ReadColumn(shard, field, static_cast<uint32_t>(matching.size()), checker));
    if (!checker->status().ok()) return {};
  }
  const auto isBefore = [&](uint32_t left, uint32_t right) {
    for (size_t i = 0; i < fields.size(); i++) {
      const uint32_t leftRank = columns[i].ranks[left];
      const uint32_t rightRank = columns[i].ranks[right];
      if (leftRank == rightRank) continue;
      // kNoRank is last in both directions.
      if (leftRank == kNoRank || rightRank == kNoRank) return rightRank == kNoRank;
      return (leftRank < rightRank) != fields[i].descending;
    }
    return shard.Document(left).version < shard.Document(right).version;
  };
  std::vector<uint32_t> first;
  const auto keepFirst = [&] {
    if (first.size() <= limit) return;
    std::nth_element(first.begin(), first.begin() + static_cast<ptrdiff_t>(limit), first.end(), isBefore);
    first.resize(limit);
  };
  matching.ForEach([&](size_t slot) {
    first.push_back(static_cast<uint32_t>(slot));
    if (first.size() > 2 * limit + 64) keepFirst();
    return checker->MayContinue(kSortDocumentWork);
  });
  keepFirst();
  std::vector<SortedEntry> entries;
  for (const uint32_t slot : first) {
    SortedEntry entry{{shard.Document(slot).version, 0}, {}};
    for (const SortColumn& column : columns) {
      const uint32_t rank = column.ranks[slot];
      entry.keys.push_back(rank == kNoRank ? std::nullopt : std::optional<SortKey>(column.keys[rank]));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

Status ParseSort(const uint8_t* bytes, size_t length, std::vector<SortField>* fields) {
  const Status malformed(StatusCode::kInvalid, "malformed sort");
  ByteReader reader(bytes, length);
  const auto count = reader.Read<uint32_t>();
  if (!reader.ok() || count == 0 || count > reader.remaining()) return malformed;
  for (uint32_t i = 0; i < count; i++) {
    SortField field;
    field.attribute = reader.ReadText();
    const auto flags = reader.Read<uint8_t>();
    if (!reader.ok() || flags > (kDescendingFlag | kDateFlag)) return malformed;
    field.descending = (flags & kDescendingFlag) != 0;
    field.isDate = (flags & kDateFlag) != 0;
    fields->push_back(std::move(field));
  }
  return reader.remaining() == 0 ? Status() : malformed;
}

Status ListSorted(const std::vector<DocumentSelection>& selections, const std::vector<SortField>& fields,
                  const std::vector<uint64_t>& excluded, uint64_t limit, const CancellationToken& cancellation,
                  std::vector<ListedDocument>* documents) {
  if (Status status = cancellation.Check(); !status.ok()) return status;
  CancellationChecker checker(cancellation);
  std::vector<SortedEntry> entries;
  for (uint32_t at = 0; at < selections.size(); at++) {
    for (const auto& shard : *selections[at].readSnapshot.shards) {
      const Bitset matching = MatchingSlots(*shard, selections[at], excluded, &checker);
      if (!checker.status().ok()) return checker.status();
      for (SortedEntry& entry : FindFirst(*shard, fields, matching, limit, &checker)) {
        entry.document.selection = at;
        entries.push_back(std::move(entry));
      }
      if (!checker.status().ok()) return checker.status();
    }
  }
  std::sort(entries.begin(), entries.end(), [&](const SortedEntry& left, const SortedEntry& right) {
    for (size_t i = 0; i < fields.size(); i++) {
      const std::optional<SortKey>& leftKey = left.keys[i];
      const std::optional<SortKey>& rightKey = right.keys[i];
      if (leftKey == rightKey) continue;
      if (!leftKey.has_value() || !rightKey.has_value()) return leftKey.has_value();
      return (*leftKey < *rightKey) != fields[i].descending;
    }
    return left.document.version < right.document.version;
  });
  for (size_t i = 0; i < std::min<uint64_t>(limit, entries.size()); i++) {
    documents->push_back(entries[i].document);
  }
  return {};
}

}  // namespace quarry
