#include "engine/version_list.h"

namespace quarry {
namespace {

// Cost of one document in work units of Pace.
constexpr size_t kDocumentWork = 8;

// Calls visit(version) for every visible version that matches, until it returns false.
template <class Visit>
Status ForEachVersion(const Moment& moment, const FilterProgram* filter, const Patience& patience, Visit visit) {
  Pace pace(patience);
  bool more = true;
  for (const auto& shard : *moment.shards) {
    if (!more) break;
    const uint32_t slots = shard->Slots();
    const auto consider = [&](size_t slot) {
      if (shard->SlotVisible(static_cast<uint32_t>(slot), moment.epoch)) {
        more = visit(shard->Document(static_cast<uint32_t>(slot)).version);
      }
      more = more && pace.Go(kDocumentWork);
      return more;
    };
    if (filter != nullptr) {
      shard->attributes().Evaluate(*filter, slots, &pace).ForEach(consider);
    } else {
      for (uint32_t slot = 0; slot < slots && consider(slot); slot++) {
      }
    }
    if (!pace.status().ok()) break;
  }
  return pace.status();
}

}  // namespace

Status ListVersions(const Moment& moment, const FilterProgram* filter, const Patience& patience, uint64_t limit,
                    std::vector<double>* versions) {
  if (Status status = patience.Check(); !status.ok()) return status;
  if (limit == 0) return {};
  return ForEachVersion(moment, filter, patience, [&](uint64_t version) {
    versions->push_back(static_cast<double>(version));
    return versions->size() < limit;
  });
}

uint64_t CountVersions(const Moment& moment, const FilterProgram* filter) {
  uint64_t count = 0;
  // Without a deadline the iteration never fails.
  (void)ForEachVersion(moment, filter, Patience(), [&](uint64_t) {
    count++;
    return true;
  });
  return count;
}

}  // namespace quarry
