#include "engine/filter_cache.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/shard.h"

namespace quarry {
namespace {

// Costs of filter steps in work units of CancellationChecker: starting a comparison, and each matching document.
constexpr size_t kComparisonWork = 256;
constexpr size_t kDocumentWork = 4;

uint64_t CountOf(const Bitset& rows) {
  const std::vector<uint64_t>& words = rows.words();
  return ActiveKernels().countCommon(words.data(), words.data(), words.size());
}

// Returns the number of rows before those of slot `slots`.
uint32_t RowsOf(const Shard& shard, uint32_t slots) {
  if (slots == 0) return 0;
  const DocumentSlot& last = shard.Document(slots - 1);
  return last.firstRow + last.rowCount;
}

}  // namespace

bool MatchingRows::IsUncorrelated(const Graph& graph) const {
  Correlation correlation = correlation_.load(std::memory_order_relaxed);
  if (correlation == Correlation::kUnknown) {
    const float share = static_cast<float>(count) / static_cast<float>(std::max<size_t>(1, rows.size()));
    const std::optional<bool> uncorrelated = graph.IsUncorrelated(rows, share);
    if (!uncorrelated.has_value()) return false;
    correlation = *uncorrelated ? Correlation::kUncorrelated : Correlation::kCorrelated;
    correlation_.store(correlation, std::memory_order_relaxed);
  }
  return correlation == Correlation::kUncorrelated;
}

FilterCache::CacheEntry FilterCache::Lookup(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return {};
  found->second.lastUse = ++uses_;
  return found->second;
}

void FilterCache::Insert(const std::string& key, const Rows& rows, uint32_t slots) {
  const MutexLock lock(mutex_);
  CacheEntry& entry = entries_[key];
  // A concurrent search may have cached more slots in the meantime.
  if (entry.rows == nullptr || entry.slots < slots) {
    entry.rows = rows;
    entry.slots = slots;
  }
  entry.lastUse = ++uses_;
  if (entries_.size() <= kComparisonsMax) return;
  entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& left, const auto& right) {
    return left.second.lastUse < right.second.lastUse;
  }));
}

FilterCache::Rows FilterCache::SelectVersions(const Shard& shard, const FilterStep& step, uint32_t slots) {
  auto all = std::make_shared<MatchingRows>();
  all->rows.Reset(RowsOf(shard, slots));
  for (const uint32_t slot : shard.SlotsOf(step.versions)) {
    if (slot >= slots) continue;
    const DocumentSlot& document = shard.Document(slot);
    all->rows.AddRange(document.firstRow, document.rowCount);
  }
  if (step.op == FilterOperator::kVersionNotIn) all->rows.Invert();
  all->count = CountOf(all->rows);
  return all;
}

FilterCache::Rows FilterCache::Compare(const Shard& shard, const FilterStep& step, uint32_t slots,
                                       CancellationChecker* checker) {
  if (step.HasVersions()) {
    if (!checker->MayContinue(kComparisonWork + RowsOf(shard, slots) / 64)) return nullptr;
    return SelectVersions(shard, step, slots);
  }
  const bool cacheable = step.key.size() <= kKeyBytesMax;
  const CacheEntry cached = cacheable ? Lookup(step.key) : CacheEntry();
  if (cached.rows != nullptr && cached.slots >= slots) return cached.rows;
  // Slots and rows are processed in whole words, each of which costs about as much as one list entry.
  if (!checker->MayContinue(kComparisonWork + (size_t{slots} + RowsOf(shard, slots)) / 64)) return nullptr;
  auto all = std::make_shared<MatchingRows>();
  if (cached.rows != nullptr) all->rows = cached.rows->rows;
  all->rows.Grow(RowsOf(shard, slots));
  // Starts at a word boundary, so some slots are scanned again.
  const uint32_t from = cached.slots / 64 * 64;
  shard.attributes().Compare(step, from, slots, checker).ForEach([&](size_t slot) {
    const DocumentSlot& document = shard.Document(from + static_cast<uint32_t>(slot));
    all->rows.AddRange(document.firstRow, document.rowCount);
    return checker->MayContinue(kDocumentWork);
  });
  if (!checker->status().ok()) return nullptr;
  all->count = CountOf(all->rows);
  if (cacheable) Insert(step.key, all, slots);
  return all;
}

Status FilterCache::Find(const Shard& shard, const FilterProgram& filter, const CancellationToken& cancellation,
                         std::shared_ptr<const MatchingRows>* matching) {
  const uint32_t slots = shard.FilledSlots();
  const uint32_t rows = RowsOf(shard, slots);
  CancellationChecker checker(cancellation);
  std::vector<Rows> stack;
  for (const FilterStep& step : filter.steps()) {
    if (step.op != FilterOperator::kAnd && step.op != FilterOperator::kOr) {
      Rows compared = Compare(shard, step, slots, &checker);
      if (compared == nullptr) return checker.status();
      stack.push_back(std::move(compared));
      continue;
    }
    auto result = std::make_shared<MatchingRows>();
    result->rows.Reset(rows);
    if (step.op == FilterOperator::kAnd) result->rows.Invert();
    for (uint32_t i = 0; i < step.arity; i++) {
      if (!checker.MayContinue(rows / 64)) return checker.status();
      if (step.op == FilterOperator::kAnd) {
        result->rows.And(stack.back()->rows);
      } else {
        result->rows.Or(stack.back()->rows);
      }
      stack.pop_back();
    }
    if (&step == &filter.steps().back()) result->count = CountOf(result->rows);
    stack.push_back(std::move(result));
  }
  *matching = std::move(stack.back());
  return {};
}

FilterCache::CostEstimate FilterCache::EstimateCost(const Shard& shard, const FilterProgram& filter) const {
  const uint64_t rows = RowsOf(shard, shard.FilledSlots());
  // Looking all of them up would cost the caller more than the estimate is worth.
  if (filter.steps().size() > kComparisonsMax) return {rows, rows * filter.steps().size()};
  CostEstimate estimate{rows, 0};
  std::vector<uint64_t> stack;
  const MutexLock lock(mutex_);
  for (const FilterStep& step : filter.steps()) {
    const bool both = step.op == FilterOperator::kAnd;
    if (both || step.op == FilterOperator::kOr) {
      uint64_t countMax = both ? rows : 0;
      for (uint32_t i = 0; i < step.arity; i++) {
        countMax = both ? std::min(countMax, stack.back()) : std::min(rows, countMax + stack.back());
        stack.pop_back();
      }
      stack.push_back(countMax);
      continue;
    }
    if (step.HasVersions()) {
      stack.push_back(rows);
      continue;
    }
    const auto found = entries_.find(step.key);
    const MatchingRows* const cached = found == entries_.end() ? nullptr : found->second.rows.get();
    // A search that began later may already have cached more rows.
    const uint64_t uncached = rows - std::min<uint64_t>(rows, cached == nullptr ? 0 : cached->rows.size());
    estimate.uncached += uncached;
    stack.push_back(std::min(rows, uncached + (cached == nullptr ? 0 : cached->count)));
  }
  estimate.matching = stack.back();
  return estimate;
}

size_t FilterCache::Bytes() const {
  const MutexLock lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, entry] : entries_) bytes += key.size() + entry.rows->rows.words().size() * sizeof(uint64_t);
  return bytes;
}

}  // namespace quarry
