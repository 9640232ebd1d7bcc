#include "engine/version_list.h"

namespace quarry {
namespace {

// Calls visit(version) for every visible version that matches, until it answers false.
template <class Visit>
void ForEachVersion(const Moment& moment, const FilterProgram* filter, Visit visit) {
  bool more = true;
  for (const auto& shard : *moment.shards) {
    if (!more) return;
    const uint32_t slots = shard->Slots();
    const auto consider = [&](size_t slot) {
      if (shard->SlotVisible(static_cast<uint32_t>(slot), moment.epoch)) {
        more = visit(shard->Document(static_cast<uint32_t>(slot)).version);
      }
      return more;
    };
    if (filter != nullptr) {
      shard->attributes().Evaluate(*filter, slots).ForEach(consider);
    } else {
      for (uint32_t slot = 0; slot < slots && consider(slot); slot++) {
      }
    }
  }
}

}  // namespace

Status ListVersions(const Moment& moment, const FilterProgram* filter, uint64_t limit, std::vector<double>* versions) {
  if (limit == 0) return {};
  ForEachVersion(moment, filter, [&](uint64_t version) {
    versions->push_back(static_cast<double>(version));
    return versions->size() < limit;
  });
  return {};
}

uint64_t CountVersions(const Moment& moment, const FilterProgram* filter) {
  uint64_t count = 0;
  ForEachVersion(moment, filter, [&](uint64_t) {
    count++;
    return true;
  });
  return count;
}

}  // namespace quarry
