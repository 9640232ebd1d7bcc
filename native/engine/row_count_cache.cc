#include "engine/row_count_cache.h"

#include <algorithm>
#include <utility>

namespace quarry {

void RowCountCache::AddChange(const Change& change) {
  if (change.rowCount == 0) return;
  const MutexLock lock(mutex_);
  if (changes_.size() == kChangesMax) {
    changesSince_ = changes_.front().epoch;
    changes_.pop_front();
  }
  changes_.push_back(change);
}

void RowCountCache::Reset(uint64_t epoch) {
  const MutexLock lock(mutex_);
  recent_.clear();
  previous_.clear();
  changes_.clear();
  changesSince_ = epoch;
}

const RowCountCache::Entry* RowCountCache::Find(const Key& key) {
  const auto recent = recent_.find(key);
  if (recent != recent_.end()) return &recent->second;
  const auto previous = previous_.find(key);
  return previous == previous_.end() ? nullptr : Promote(key, previous->second);
}

const RowCountCache::Entry* RowCountCache::Promote(const Key& key, Entry entry) {
  if (recent_.size() == kEntriesMax && !recent_.contains(key)) {
    previous_ = std::move(recent_);
    recent_.clear();
  }
  return &recent_.insert_or_assign(key, entry).first->second;
}

bool RowCountCache::Lookup(const Key& key, uint64_t epoch, CachedCount* cached) {
  const MutexLock lock(mutex_);
  const Entry* const found = Find(key);
  if (found == nullptr) return false;
  const Entry entry = *found;
  const uint64_t from = std::min(entry.epoch, epoch);
  const uint64_t to = std::max(entry.epoch, epoch);
  if (from != to && from < changesSince_) return false;
  cached->count = entry.count;
  cached->since.clear();
  if (from == to) return true;
  const auto after = [](uint64_t value, const Change& change) { return value < change.epoch; };
  auto change = std::upper_bound(changes_.begin(), changes_.end(), from, after);
  for (; change != changes_.end() && change->epoch <= to; ++change) {
    cached->since.push_back(*change);
    if (epoch < entry.epoch) cached->since.back().added = !change->added;
  }
  std::sort(cached->since.begin(), cached->since.end(),
            [](const Change& left, const Change& right) { return left.firstRow < right.firstRow; });
  return true;
}

void RowCountCache::Insert(const Key& key, uint64_t epoch, uint64_t count) {
  const MutexLock lock(mutex_);
  const Entry* const entry = Find(key);
  if (entry == nullptr || entry->epoch < epoch) Promote(key, {epoch, count});
}

}  // namespace quarry
