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

// Words consist of characters of the basic multilingual plane; the caller never passes others.
void AppendUtf8(char16_t unit, std::string* bytes) {
  if (unit < 0x80) {
    bytes->push_back(static_cast<char>(unit));
  } else if (unit < 0x800) {
    bytes->push_back(static_cast<char>(0xc0 | unit >> 6));
    bytes->push_back(static_cast<char>(0x80 | (unit & 0x3f)));
  } else {
    bytes->push_back(static_cast<char>(0xe0 | unit >> 12));
    bytes->push_back(static_cast<char>(0x80 | (unit >> 6 & 0x3f)));
    bytes->push_back(static_cast<char>(0x80 | (unit & 0x3f)));
  }
}

uint64_t RowsWith(const Moment& moment, uint64_t hash) {
  uint64_t rows = 0;
  for (const auto& shard : *moment.shards) rows += shard->postings().Count(hash);
  return rows;
}

// Looks terms up in batches and keeps those that exist.
class Lookup {
 public:
  Lookup(const Moment& moment, const Patience& patience) : moment_(moment), patience_(patience) {}

  void Begin(uint32_t word, std::vector<Spelling>* found) {
    word_ = word;
    found_ = found;
    seen_.clear();
  }
  void UseEdits(uint32_t edits) { edits_ = edits; }

  void Add(const std::u16string& term) {
    if (!status_.ok()) return;
    Waiting& waiting = waiting_[count_++];
    waiting.term = term;
    bytes_.clear();
    for (const char16_t unit : term) AppendUtf8(unit, &bytes_);
    waiting.hash = TermHash(bytes_);
    for (const auto& shard : *moment_.shards) shard->postings().FetchSlot(waiting.hash);
    if (count_ == kAhead) Flush();
  }

  void Flush() {
    for (size_t i = 0; i < count_; i++) {
      for (const auto& shard : *moment_.shards) shard->postings().FetchList(waiting_[i].hash);
    }
    for (size_t i = 0; i < count_; i++) {
      const uint64_t rows = RowsWith(moment_, waiting_[i].hash);
      if (rows > 0 && seen_.insert(waiting_[i].hash).second) {
        found_->push_back({word_, waiting_[i].term, edits_, rows});
      }
    }
    count_ = 0;
    if (++batches_ % kBatchesBetweenChecks == 0) status_ = patience_.Check();
  }

  const Status& status() const { return status_; }
  bool FoundAny() const { return !seen_.empty(); }

 private:
  struct Waiting {
    std::u16string term;
    uint64_t hash;
  };

  const Moment& moment_;
  const Patience& patience_;
  Status status_;
  uint32_t word_ = 0;
  uint32_t edits_ = 1;
  std::vector<Spelling>* found_ = nullptr;
  std::unordered_set<uint64_t> seen_;
  std::array<Waiting, kAhead> waiting_;
  size_t count_ = 0;
  uint32_t batches_ = 0;
  std::string bytes_;
};

// Generates all strings that differ from a form by exactly `edits` edits, each at or after the end of the
// previous one.
class Edits {
 public:
  Edits(const std::u16string& form, const std::u16string& letters, Lookup* lookup)
      : form_(form), letters_(letters), lookup_(lookup) {}

  void Make(uint32_t edits, size_t from) {
    made_.assign(form_, 0, from);
    Continue(from, edits);
  }

 private:
  void Continue(size_t from, uint32_t edits) {
    const size_t length = made_.size();
    if (edits == 0) {
      made_.append(form_, from);
      lookup_->Add(made_);
      made_.resize(length);
      return;
    }
    for (size_t at = from;; at++) {
      const size_t here = made_.size();
      for (const char16_t letter : letters_) {
        made_.push_back(letter);
        Continue(at, edits - 1);                                                    // insertion
        if (at < form_.size() && letter != form_[at]) Continue(at + 1, edits - 1);  // substitution
        made_.resize(here);
      }
      if (at == form_.size()) break;
      Continue(at + 1, edits - 1);  // deletion
      if (at + 1 < form_.size() && form_[at] != form_[at + 1]) {
        made_.push_back(form_[at + 1]);
        made_.push_back(form_[at]);
        Continue(at + 2, edits - 1);
        made_.resize(here);
      }
      made_.push_back(form_[at]);
    }
    made_.resize(length);
  }

  const std::u16string& form_;
  const std::u16string& letters_;
  Lookup* const lookup_;
  std::u16string made_;
};

}  // namespace

Status FindSpellings(const Moment& moment, const std::vector<UnknownWord>& words, const Patience& patience,
                     std::vector<Spelling>* spellings) {
  Lookup lookup(moment, patience);
  std::vector<Spelling> found;
  for (uint32_t number = 0; number < words.size(); number++) {
    const UnknownWord& word = words[number];
    found.clear();
    lookup.Begin(number, &found);
    lookup.UseEdits(1);
    for (const auto& term : word.terms) lookup.Add(term);
    for (const auto& form : word.forms) Edits(form, word.letters, &lookup).Make(1, 0);
    lookup.Flush();
    if (!lookup.FoundAny() && word.editsMax > 1) {
      lookup.UseEdits(2);
      for (const auto& form : word.forms) {
        if (form.size() <= kTwiceEditedUnitsMax && !form.empty()) Edits(form, word.letters, &lookup).Make(2, 1);
      }
      lookup.Flush();
    }
    if (!lookup.status().ok()) return lookup.status();
    std::stable_sort(found.begin(), found.end(),
                     [](const Spelling& left, const Spelling& right) { return left.rows > right.rows; });
    if (found.size() > kSpellingsPerWord) found.resize(kSpellingsPerWord);
    spellings->insert(spellings->end(), found.begin(), found.end());
  }
  return {};
}

bool HaveAllWords(const Moment& moment, const std::vector<QueryTerm>& terms) {
  for (const QueryTerm& term : terms) {
    for (const auto& shard : *moment.shards) shard->postings().FetchSlot(term.hash);
  }
  for (const QueryTerm& term : terms) {
    for (const auto& shard : *moment.shards) shard->postings().FetchList(term.hash);
  }
  for (size_t i = 0; i < terms.size();) {
    const uint32_t group = terms[i].group;
    bool found = false;
    for (; i < terms.size() && terms[i].group == group; i++) found = found || RowsWith(moment, terms[i].hash) > 0;
    if (!found) return false;
  }
  return true;
}

std::vector<double> CountRowsOfTerms(const Moment& moment, const uint64_t* hashes, size_t count) {
  std::vector<double> rows(count);
  for (size_t i = 0; i < count; i++) {
    for (const auto& shard : *moment.shards) shard->postings().FetchSlot(hashes[i]);
  }
  for (size_t i = 0; i < count; i++) {
    for (const auto& shard : *moment.shards) shard->postings().FetchList(hashes[i]);
  }
  for (size_t i = 0; i < count; i++) rows[i] = static_cast<double>(RowsWith(moment, hashes[i]));
  return rows;
}

}  // namespace quarry
