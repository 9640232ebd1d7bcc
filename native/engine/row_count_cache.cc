#include "engine/row_count_cache.h"

#include <algorithm>
#include <utility>

namespace quarry {

void RowCounts::Note(const Change& change) {
  if (change.rowCount == 0) return;
  const std::lock_guard lock(mutex_);
  if (changes_.size() == kChangesMax) {
    complete_ = changes_.front().epoch;
    changes_.pop_front();
  }
  changes_.push_back(change);
}

void RowCounts::Restart(uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  recent_.clear();
  former_.clear();
  changes_.clear();
  complete_ = epoch;
}

const RowCounts::Entry* RowCounts::Find(const Key& key) {
  const auto recent = recent_.find(key);
  if (recent != recent_.end()) return &recent->second;
  const auto former = former_.find(key);
  return former == former_.end() ? nullptr : Keep(key, former->second);
}

const RowCounts::Entry* RowCounts::Keep(const Key& key, Entry entry) {
  if (recent_.size() == kEntriesMax && !recent_.contains(key)) {
    former_ = std::move(recent_);
    recent_.clear();
  }
  return &recent_.insert_or_assign(key, entry).first->second;
}

bool RowCounts::Recall(const Key& key, uint64_t epoch, Known* known) {
  const std::lock_guard lock(mutex_);
  const Entry* const found = Find(key);
  if (found == nullptr) return false;
  const Entry entry = *found;
  const uint64_t from = std::min(entry.epoch, epoch);
  const uint64_t to = std::max(entry.epoch, epoch);
  if (from != to && from < complete_) return false;
  known->count = entry.count;
  known->since.clear();
  if (from == to) return true;
  const auto after = [](uint64_t value, const Change& change) { return value < change.epoch; };
  auto change = std::upper_bound(changes_.begin(), changes_.end(), from, after);
  for (; change != changes_.end() && change->epoch <= to; ++change) {
    known->since.push_back(*change);
    if (epoch < entry.epoch) known->since.back().added = !change->added;
  }
  std::sort(known->since.begin(), known->since.end(),
            [](const Change& left, const Change& right) { return left.firstRow < right.firstRow; });
  return true;
}

void RowCounts::Remember(const Key& key, uint64_t epoch, uint64_t count) {
  const std::lock_guard lock(mutex_);
  const Entry* const known = Find(key);
  if (known == nullptr || known->epoch < epoch) Keep(key, {epoch, count});
}

}  // namespace quarry
