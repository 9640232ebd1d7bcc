#include "engine/version_list.h"

namespace quarry {
namespace {

// Cost of one document in work units of CancellationChecker.
constexpr size_t kDocumentWork = 8;

// Calls visit(version) for every visible version that matches, until it returns false.
template <class Visit>
Status ForEachVersion(const ReadSnapshot& readSnapshot, const FilterProgram* filter,
                      const CancellationToken& cancellation, Visit visit) {
  CancellationChecker checker(cancellation);
  bool more = true;
  for (const auto& shard : *readSnapshot.shards) {
    if (!more) break;
    const uint32_t slots = shard->Slots();
    const auto consider = [&](size_t slot) {
      if (shard->IsSlotVisible(static_cast<uint32_t>(slot), readSnapshot.epoch)) {
        more = visit(shard->Document(static_cast<uint32_t>(slot)).version);
      }
      more = more && checker.MayContinue(kDocumentWork);
      return more;
    };
    if (filter != nullptr) {
      shard->Evaluate(*filter, slots, &checker).ForEach(consider);
    } else {
      for (uint32_t slot = 0; slot < slots && consider(slot); slot++) {
      }
    }
    if (!checker.status().ok()) break;
  }
  return checker.status();
}

}  // namespace

Status ListVersions(const ReadSnapshot& readSnapshot, const FilterProgram* filter,
                    const CancellationToken& cancellation, uint64_t limit, std::vector<double>* versions) {
  if (Status status = cancellation.Check(); !status.ok()) return status;
  if (limit == 0) return {};
  return ForEachVersion(readSnapshot, filter, cancellation, [&](uint64_t version) {
    versions->push_back(static_cast<double>(version));
    return versions->size() < limit;
  });
}

uint64_t CountVersions(const ReadSnapshot& readSnapshot, const FilterProgram* filter) {
  uint64_t count = 0;
  // Without a deadline the iteration never fails.
  (void)ForEachVersion(readSnapshot, filter, CancellationToken(), [&](uint64_t) {
    count++;
    return true;
  });
  return count;
}

}  // namespace quarry
