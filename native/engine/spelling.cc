#include "engine/spelling.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "engine/term_hash.h"

namespace quarry {
namespace {

// Number of terms looked up together, so that their memory latencies overlap.
constexpr size_t kAhead = 32;
constexpr uint32_t kBatchesBetweenChecks = 64;

constexpr size_t kUtf8BytesPerUnit = 3;

// Returns the hash of a term. Words consist of characters of the basic multilingual plane; the caller never passes
// others. `buffer` keeps its memory from one term to the next.
uint64_t HashOf(const std::u16string& term, std::string* buffer) {
  if (buffer->size() < term.size() * kUtf8BytesPerUnit) buffer->resize(term.size() * kUtf8BytesPerUnit);
  char* const start = buffer->data();
  char* to = start;
  for (const char16_t unit : term) {
    if (unit < 0x80) {
      *to++ = static_cast<char>(unit);
      continue;
    }
    if (unit < 0x800) {
      *to++ = static_cast<char>(0xc0 | unit >> 6);
    } else {
      *to++ = static_cast<char>(0xe0 | unit >> 12);
      *to++ = static_cast<char>(0x80 | (unit >> 6 & 0x3f));
    }
    *to++ = static_cast<char>(0x80 | (unit & 0x3f));
  }
  return TermHash({start, static_cast<size_t>(to - start)});
}

uint64_t RowsWith(const ReadSnapshot& readSnapshot, uint64_t hash) {
  uint64_t rows = 0;
  for (const auto& shard : *readSnapshot.shards) rows += shard->postings().Count(hash);
  return rows;
}

// Looks terms up in batches and keeps those that exist.
class TermLookup {
 public:
  TermLookup(const ReadSnapshot& readSnapshot, const CancellationToken& cancellation)
      : readSnapshot_(readSnapshot), cancellation_(cancellation) {}

  void Begin(uint32_t word, std::vector<Correction>* found) {
    word_ = word;
    found_ = found;
    seen_.clear();
  }
  void SetEdits(uint32_t edits) { edits_ = edits; }

  void Add(const std::u16string& term) {
    if (!status_.ok()) return;
    PendingTerm& pending = pending_[count_++];
    pending.term = term;
    pending.hash = HashOf(term, &buffer_);
    for (const auto& shard : *readSnapshot_.shards) shard->postings().PrefetchSlot(pending.hash);
    if (count_ == kAhead) Flush();
  }

  void Flush() {
    for (size_t i = 0; i < count_; i++) {
      for (const auto& shard : *readSnapshot_.shards) shard->postings().PrefetchList(pending_[i].hash);
    }
    for (size_t i = 0; i < count_; i++) {
      const uint64_t rows = RowsWith(readSnapshot_, pending_[i].hash);
      if (rows > 0 && seen_.insert(pending_[i].hash).second) {
        found_->push_back({word_, pending_[i].term, edits_, rows});
      }
    }
    count_ = 0;
    if (++batches_ % kBatchesBetweenChecks == 0) status_ = cancellation_.Check();
  }

  const Status& status() const { return status_; }
  bool HasFound() const { return !seen_.empty(); }

 private:
  struct PendingTerm {
    std::u16string term;
    uint64_t hash;
  };

  const ReadSnapshot& readSnapshot_;
  const CancellationToken& cancellation_;
  Status status_;
  uint32_t word_ = 0;
  uint32_t edits_ = 1;
  std::vector<Correction>* found_ = nullptr;
  std::unordered_set<uint64_t> seen_;
  std::array<PendingTerm, kAhead> pending_;
  size_t count_ = 0;
  uint32_t batches_ = 0;
  std::string buffer_;
};

// Generates all strings that differ from a form by exactly `edits` edits, each at or after the end of the
// previous one.
class EditGenerator {
 public:
  EditGenerator(const std::u16string& form, const std::u16string& letters, TermLookup* termLookup)
      : form_(form), letters_(letters), termLookup_(termLookup) {}

  void Generate(uint32_t edits, size_t from) {
    edited_.clear();
    edited_.append(form_, 0, from);
    Continue(from, edits);
  }

 private:
  void Continue(size_t from, uint32_t edits) {
    const size_t length = edited_.size();
    if (edits == 0) {
      edited_.append(form_, from);
      termLookup_->Add(edited_);
      edited_.resize(length);
      return;
    }
    for (size_t at = from;; at++) {
      const size_t here = edited_.size();
      for (const char16_t letter : letters_) {
        edited_.push_back(letter);
        Continue(at, edits - 1);                                                    // insertion
        if (at < form_.size() && letter != form_[at]) Continue(at + 1, edits - 1);  // substitution
        edited_.resize(here);
      }
      if (at == form_.size()) break;
      Continue(at + 1, edits - 1);  // deletion
      if (at + 1 < form_.size() && form_[at] != form_[at + 1]) {
        edited_.push_back(form_[at + 1]);
        edited_.push_back(form_[at]);
        Continue(at + 2, edits - 1);
        edited_.resize(here);
      }
      edited_.push_back(form_[at]);
    }
    edited_.resize(length);
  }

  const std::u16string& form_;
  const std::u16string& letters_;
  TermLookup* const termLookup_;
  std::u16string edited_;
};

}  // namespace

Status FindCorrections(const ReadSnapshot& readSnapshot, const std::vector<UnknownWord>& words,
                       const CancellationToken& cancellation, std::vector<Correction>* corrections) {
  TermLookup termLookup(readSnapshot, cancellation);
  std::vector<Correction> found;
  for (uint32_t number = 0; number < words.size(); number++) {
    const UnknownWord& word = words[number];
    found.clear();
    termLookup.Begin(number, &found);
    termLookup.SetEdits(1);
    for (const auto& term : word.terms) termLookup.Add(term);
    for (const auto& form : word.forms) EditGenerator(form, word.letters, &termLookup).Generate(1, 0);
    termLookup.Flush();
    if (!termLookup.HasFound() && word.editsMax > 1) {
      termLookup.SetEdits(2);
      for (const auto& form : word.forms) {
        if (form.size() <= kTwiceEditedUnitsMax && !form.empty())
          EditGenerator(form, word.letters, &termLookup).Generate(2, 1);
      }
      termLookup.Flush();
    }
    if (!termLookup.status().ok()) return termLookup.status();
    std::stable_sort(found.begin(), found.end(),
                     [](const Correction& left, const Correction& right) { return left.rows > right.rows; });
    if (found.size() > kCorrectionsPerWord) found.resize(kCorrectionsPerWord);
    corrections->insert(corrections->end(), found.begin(), found.end());
  }
  return {};
}

bool HasAllWords(const ReadSnapshot& readSnapshot, const std::vector<QueryTerm>& terms) {
  for (const QueryTerm& term : terms) {
    for (const auto& shard : *readSnapshot.shards) shard->postings().PrefetchSlot(term.hash);
  }
  for (const QueryTerm& term : terms) {
    for (const auto& shard : *readSnapshot.shards) shard->postings().PrefetchList(term.hash);
  }
  for (size_t i = 0; i < terms.size();) {
    const uint32_t group = terms[i].group;
    bool found = false;
    for (; i < terms.size() && terms[i].group == group; i++) found = found || RowsWith(readSnapshot, terms[i].hash) > 0;
    if (!found) return false;
  }
  return true;
}

std::vector<double> CountRowsOfTerms(const ReadSnapshot& readSnapshot, const uint64_t* hashes, size_t count) {
  std::vector<double> rows(count);
  for (size_t i = 0; i < count; i++) {
    for (const auto& shard : *readSnapshot.shards) shard->postings().PrefetchSlot(hashes[i]);
  }
  for (size_t i = 0; i < count; i++) {
    for (const auto& shard : *readSnapshot.shards) shard->postings().PrefetchList(hashes[i]);
  }
  for (size_t i = 0; i < count; i++) rows[i] = static_cast<double>(RowsWith(readSnapshot, hashes[i]));
  return rows;
}

}  // namespace quarry
