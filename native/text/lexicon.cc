#include "text/lexicon.h"

#include <algorithm>
#include <random>

namespace quarry::text {
namespace {

constexpr uint32_t kMagic = 0x31425451;  // "QTB1"
constexpr uint64_t kCountMax = 0xffff;
constexpr size_t kSlotsFirst = 1024;

}  // namespace

Lexicon::Lexicon(LexiconLimits limits) : limits_(limits), seed_(std::random_device{}()), slots_(kSlotsFirst) {}

void Lexicon::Begin() {
  sizes_.clear();
  block_.clear();
  occurrences_ = 0;
}

int Lexicon::Language(const std::vector<std::u16string>& texts, const Analyser& analyser) {
  Votes votes{std::vector<double>(limits_.languages), 0};
  std::vector<uint32_t> found;
  for (const auto& text : texts) Scan(text, analyser, &votes, &found);
  return analyser.choose(votes.perLanguage, votes.words);
}

int Lexicon::AddRow(std::u16string_view text, std::u16string_view prefix, const std::function<int()>& fallback,
                    const Analyser& analyser) {
  // Only between rows, so that the numbers of a row's entries stay what they are.
  if (all_.size() >= limits_.entriesMax) Forget();
  Votes votes{std::vector<double>(limits_.languages), 0};
  Scan(text, analyser, &votes, &body_);
  bodyHashes_.clear();
  prefixHashes_.clear();
  int language = kUnsure;
  if (!body_.empty()) {
    language = analyser.choose(votes.perLanguage, votes.words);
    if (language == kUnsure) language = fallback();
    Scan(prefix, analyser, nullptr, &prefix_);
    Collect(body_, language, analyser, &bodyHashes_);
    Collect(prefix_, language, analyser, &prefixHashes_);
  }
  AppendCounts();
  return language;
}

std::vector<uint32_t> Lexicon::Block() const {
  const uint32_t rows = static_cast<uint32_t>(sizes_.size());
  std::vector<uint32_t> block = {kMagic, rows};
  block.reserve(2 + sizes_.size() + 1 + block_.size());
  block.insert(block.end(), sizes_.begin(), sizes_.end());
  if (rows % 2 != 0) block.push_back(0);
  block.insert(block.end(), block_.begin(), block_.end());
  return block;
}

void Lexicon::Scan(std::u16string_view text, const Analyser& analyser, Votes* votes, std::vector<uint32_t>* found) {
  found->clear();
  TermScanner scanner(limits_.scan, analyser.segment);
  scanner.Scan(text, [&](std::u16string_view term, Role role) {
    const uint32_t number = Find(term, role != Role::kWord, analyser);
    const Entry& entry = all_[number];
    if (!entry.hasTerms) return;
    found->push_back(number);
    if (votes == nullptr) return;
    votes->words += 1;
    // A function word that many languages share says little about each.
    const double share = 1.0 / static_cast<double>(entry.stops.size());
    for (const uint8_t language : entry.stops) votes->perLanguage[language] += share;
  });
}

uint32_t Lexicon::Find(std::u16string_view text, bool isGram, const Analyser& analyser) {
  const uint64_t hash = HashText(text, isGram);
  size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Entry& entry = all_[slots_[slot] - 1];
    if (entry.textHash == hash && entry.isGram == isGram && entry.text == text) return slots_[slot] - 1;
  }
  Entry entry{hash, std::u16string(text), isGram, true, {}, {}};
  if (!isGram) entry.hasTerms = analyser.expand(text, &entry.stops);
  all_.push_back(std::move(entry));
  slots_[slot] = static_cast<uint32_t>(all_.size());
  if (all_.size() * 2 > slots_.size()) Grow();
  return static_cast<uint32_t>(all_.size() - 1);
}

const std::vector<uint64_t>& Lexicon::HashesOf(uint32_t number, int language, const Analyser& analyser) {
  for (const auto& [known, hashes] : all_[number].hashes) {
    if (known == language) return hashes;
  }
  std::vector<uint64_t> hashes;
  analyser.hash(all_[number].text, all_[number].isGram, language, &hashes);
  return all_[number].hashes.emplace_back(language, std::move(hashes)).second;
}

// Seeded, so that nobody can make texts whose words all meet in one slot.
uint64_t Lexicon::HashText(std::u16string_view text, bool isGram) const {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t hash = seed_ + (isGram ? 1 : 0);
  for (const char16_t unit : text) {
    hash = (hash ^ unit) * kMultiplier;
    hash ^= hash >> 32;
  }
  return hash;
}

void Lexicon::Collect(const std::vector<uint32_t>& found, int language, const Analyser& analyser,
                      std::vector<uint64_t>* hashes) {
  for (const uint32_t number : found) {
    const auto& terms = HashesOf(number, language, analyser);
    hashes->insert(hashes->end(), terms.begin(), terms.end());
  }
  occurrences_ += hashes->size();
  std::sort(hashes->begin(), hashes->end());
}

void Lexicon::Grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (uint32_t number = 0; number < all_.size(); ++number) {
    size_t slot = all_[number].textHash & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = number + 1;
  }
}

void Lexicon::Forget() {
  all_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
}

// Merges the two sorted lists into entries: hash, count in the body, count in the prefix.
void Lexicon::AppendCounts() {
  const size_t before = block_.size();
  auto body = bodyHashes_.begin();
  auto prefix = prefixHashes_.begin();
  while (body != bodyHashes_.end() || prefix != prefixHashes_.end()) {
    const bool fromBody = prefix == prefixHashes_.end() || (body != bodyHashes_.end() && *body <= *prefix);
    const uint64_t hash = fromBody ? *body : *prefix;
    uint64_t bodyCount = 0;
    uint64_t prefixCount = 0;
    for (; body != bodyHashes_.end() && *body == hash; ++body) ++bodyCount;
    for (; prefix != prefixHashes_.end() && *prefix == hash; ++prefix) ++prefixCount;
    const uint64_t counts = std::min(bodyCount, kCountMax) | (std::min(prefixCount, kCountMax) << 16);
    block_.insert(block_.end(),
                  {static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(counts), 0});
  }
  sizes_.push_back(static_cast<uint32_t>((block_.size() - before) / 4));
}

}  // namespace quarry::text
