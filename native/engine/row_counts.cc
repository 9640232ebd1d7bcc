#include "engine/row_counts.h"

#include <algorithm>

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
  entries_.clear();
  changes_.clear();
  complete_ = epoch;
}

bool RowCounts::Recall(const Key& key, uint64_t epoch, Known* known) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  const uint64_t from = std::min(entry.epoch, epoch);
  const uint64_t to = std::max(entry.epoch, epoch);
  if (from != to && from < complete_) return false;
  entry.used = ++clock_;
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
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    if (found->second.epoch < epoch) found->second = {epoch, count, ++clock_};
    return;
  }
  if (entries_.size() == kEntriesMax) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& left, const auto& right) {
      return left.second.used < right.second.used;
    }));
  }
  entries_.emplace(key, Entry{epoch, count, ++clock_});
}

}  // namespace quarry
