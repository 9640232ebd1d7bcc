#include "text/lexicon.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <utility>

#include "engine/term_hash.h"
#include "text/english_stem.h"

namespace quarry::text {
namespace {

constexpr uint32_t kMagic = 0x31425451;  // "QTB1"
constexpr uint64_t kCountMax = 0xffff;
constexpr size_t kSlotsFirst = 1024;
// Number of words looked up together, so that their memory latencies overlap.
constexpr size_t kAhead = 16;
// The first words of a row, up to this many units in total, count twice: they contain titles, headings and
// the topic sentence (measured in models/README.md).
constexpr size_t kLeadUnits = 100;

struct Word {
  std::u16string_view text;
  uint64_t hash = 0;
};

bool IsSpace(char16_t unit) { return (PropertiesOf(unit).flags & kSpace) != 0; }

// Whether the words before and after a position are the same in the whole text as in its two parts: no word and no
// run contains white space, and none depends on characters beyond it.
bool SeparatesWords(std::u16string_view text, size_t at) {
  return at == text.size() || (at > 0 && IsSpace(text[at - 1]) && WordClassOf(text[at - 1]) == WordClass::kOther);
}

}  // namespace

Lexicon::Lexicon(LexiconOptions options)
    : options_(std::move(options)), seed_(std::random_device{}()), slots_(kSlotsFirst) {}

void Lexicon::Begin() {
  sizes_.clear();
  block_.clear();
  occurrences_ = 0;
}

int Lexicon::Language(const std::vector<std::u16string>& texts, const Analyzer& analyzer) {
  Votes votes{std::vector<double>(languages()), 0};
  std::vector<uint32_t> found;
  for (const auto& text : texts) Scan(text, analyzer, &votes, &found);
  return analyzer.choose(votes.perLanguage, votes.words);
}

int Lexicon::AddRow(const Row& row, const std::function<int()>& fallback, const Analyzer& analyzer,
                    std::vector<uint8_t>* fineTerms) {
  // Only between rows, so that the entry numbers of a row stay valid.
  if (entries_.size() >= options_.entriesMax) Clear();
  Votes votes{std::vector<double>(languages()), 0};
  ScanBody(row.text, row.fineEnds, analyzer, &votes);
  bodyHashes_.clear();
  prefixHashes_.clear();
  int language = kUnknownLanguage;
  if (!body_.empty()) {
    language = analyzer.choose(votes.perLanguage, votes.words);
    if (language == kUnknownLanguage) language = fallback();
    Scan(row.prefix, analyzer, nullptr, &prefix_);
    Collect(body_, language, analyzer, &bodyHashes_);
    CountLeadTwice(language, analyzer);
    Collect(prefix_, language, analyzer, &prefixHashes_);
  }
  AppendCounts();
  EncodeFineTerms(row.text, row.fineEnds, language, analyzer, fineTerms);
  return language;
}

void Lexicon::AppendFineTermsOf(std::u16string_view text, std::span<const uint32_t> fineEnds, int language,
                                const Analyzer& analyzer, std::vector<uint8_t>* fineTerms) {
  if (entries_.size() >= options_.entriesMax) Clear();
  ScanBody(text, fineEnds, analyzer, nullptr);
  EncodeFineTerms(text, fineEnds, language, analyzer, fineTerms);
}

// Scans each part of the text once if it is a whole fine chunk. Fine chunks that share a word are scanned together for
// the row, and again one by one.
void Lexicon::ScanBody(std::u16string_view text, std::span<const uint32_t> fineEnds, const Analyzer& analyzer,
                       Votes* votes) {
  fineWords_.clear();
  fineWordEnds_.clear();
  if (fineEnds.empty()) return Scan(text, analyzer, votes, &body_);
  body_.clear();
  size_t start = 0;
  for (size_t fine = 0; fine < fineEnds.size();) {
    size_t last = fine;
    while (!SeparatesWords(text, fineEnds[last])) ++last;
    Scan(text.substr(start, fineEnds[last] - start), analyzer, votes, &found_);
    body_.insert(body_.end(), found_.begin(), found_.end());
    if (last == fine) AddFineWords(found_);
    for (size_t i = fine; last > fine && i <= last; ++i) {
      Scan(text.substr(start, fineEnds[i] - start), analyzer, nullptr, &found_);
      AddFineWords(found_);
      start = fineEnds[i];
    }
    start = fineEnds[last];
    fine = last + 1;
  }
}

void Lexicon::AddFineWords(const std::vector<uint32_t>& words) {
  fineWords_.insert(fineWords_.end(), words.begin(), words.end());
  fineWordEnds_.push_back(fineWords_.size());
}

void Lexicon::EncodeFineTerms(std::u16string_view text, std::span<const uint32_t> fineEnds, int language,
                              const Analyzer& analyzer, std::vector<uint8_t>* fineTerms) {
  fineTerms_.clear();
  fineBlanks_.clear();
  size_t start = 0;
  size_t word = 0;
  for (uint32_t fine = 0; fine < fineEnds.size(); ++fine) {
    const std::u16string_view part = text.substr(start, fineEnds[fine] - start);
    start = fineEnds[fine];
    fineBlanks_.push_back(std::all_of(part.begin(), part.end(), IsSpace) ? 1 : 0);
    fineHashes_.clear();
    for (; word < fineWordEnds_[fine]; ++word) AppendHashes(fineWords_[word], language, analyzer, &fineHashes_);
    for (const uint64_t hash : fineHashes_) fineTerms_.push_back(ToFineTerm(hash, fine));
  }
  AppendFineTerms(fineBlanks_, &fineTerms_, fineTerms);
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

void Lexicon::Scan(std::u16string_view text, const Analyzer& analyzer, Votes* votes, std::vector<uint32_t>* found) {
  found->clear();
  const auto addWord = [&](std::u16string_view term, bool isGram, uint64_t hash) {
    const uint32_t number = Find(term, isGram, hash, analyzer);
    const Entry& entry = entries_[number];
    if (!entry.hasTerms) return;
    found->push_back(number);
    if (votes == nullptr) return;
    votes->words += 1;
    // A function word shared by many languages is weak evidence for each of them.
    const double share = 1.0 / static_cast<double>(entry.stops);
    for (uint32_t i = 0; i < entry.stops; ++i) votes->perLanguage[stops_[entry.stopsAt + i]] += share;
  };
  std::array<Word, kAhead> words;
  size_t pending = 0;
  const auto flush = [&] {
    for (size_t i = 0; i < pending; ++i) PrefetchEntry(words[i].hash);
    for (size_t i = 0; i < pending; ++i) addWord(words[i].text, false, words[i].hash);
    pending = 0;
  };
  TermScanner scanner(options_.scan, analyzer.segment);
  scanner.Scan(text, [&](std::u16string_view term, TermKind kind) {
    const bool isGram = kind != TermKind::kWord;
    const uint64_t hash = HashText(term, isGram);
    if (isGram) {
      flush();
      addWord(term, isGram, hash);  // immediately: the scanner reuses the buffer for the next gram
      return;
    }
    __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
    words[pending++] = {term, hash};
    if (pending == kAhead) flush();
  });
  flush();
}

void Lexicon::PrefetchEntry(uint64_t hash) const {
  const uint32_t number = slots_[hash & (slots_.size() - 1)].number;
  if (number != 0) __builtin_prefetch(&entries_[number - 1]);
}

uint32_t Lexicon::Find(std::u16string_view text, bool isGram, uint64_t hash, const Analyzer& analyzer) {
  const auto tag = static_cast<uint32_t>(hash >> 32);
  size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].number != 0; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].tag != tag) continue;
    const Entry& entry = entries_[slots_[at].number - 1];
    const bool same = entry.textHash == hash && entry.isGram == isGram && entry.textUnits == text.size() &&
                      std::memcmp(&texts_[entry.textAt], text.data(), text.size() * sizeof(char16_t)) == 0;
    if (same) return slots_[at].number - 1;
  }
  return AddEntry(text, isGram, hash, analyzer);
}

uint32_t Lexicon::AddEntry(std::u16string_view text, bool isGram, uint64_t hash, const Analyzer& analyzer) {
  Entry entry;
  entry.textHash = hash;
  entry.isGram = isGram;
  entry.textAt = static_cast<uint32_t>(texts_.size());
  entry.textUnits = static_cast<uint32_t>(text.size());
  entry.stopsAt = static_cast<uint32_t>(stops_.size());
  if (!isGram) Expand(text, analyzer, &entry);
  texts_.append(text);
  entries_.push_back(entry);
  if ((entries_.size() + 1) * 2 > slots_.size()) {
    Grow();
  } else {
    InsertSlot(static_cast<uint32_t>(entries_.size() - 1));
  }
  return static_cast<uint32_t>(entries_.size() - 1);
}

void Lexicon::Expand(std::u16string_view word, const Analyzer& analyzer, Entry* entry) {
  std::vector<uint8_t> stops;
  entry->hasPieces = ToPieces(word, &pieces_);
  if (!entry->hasPieces) {
    entry->hasTerms = analyzer.expand(word, &stops);
  } else if (pieces_.size() == 1) {
    const auto known = options_.functionWords.find(pieces_[0]);
    if (known != options_.functionWords.end()) stops = known->second;
  }
  entry->stops = static_cast<uint8_t>(stops.size());
  stops_.insert(stops_.end(), stops.begin(), stops.end());
}

std::vector<uint64_t> Lexicon::HashesOf(const Entry& entry, int language, const Analyzer& analyzer) {
  const Stemming stemming = language == kUnknownLanguage ? Stemming::kNone : options_.stemming[language];
  std::vector<uint64_t> hashes;
  if (!entry.hasPieces || stemming == Stemming::kCaller) {
    analyzer.hash(TextOf(entry), entry.isGram, language, &hashes);
    return hashes;
  }
  ToPieces(TextOf(entry), &pieces_);
  for (Piece& piece : pieces_) {
    if (stemming == Stemming::kEnglish && piece.size() <= options_.stemUnitsMax) ToEnglishStem(&piece);
    const uint64_t hash = TermHash(piece);
    if (std::find(hashes.begin(), hashes.end(), hash) == hashes.end()) hashes.push_back(hash);
  }
  return hashes;
}

void Lexicon::AppendHashes(uint32_t number, int language, const Analyzer& analyzer, std::vector<uint64_t>* hashes) {
  const Entry& entry = entries_[number];
  if (entry.language == language) {
    hashes->push_back(entry.onlyTerm);
    return;
  }
  const uint64_t key = uint64_t{number} << 32 | static_cast<uint32_t>(language);
  const auto known = otherHashes_.find(key);
  if (known != otherHashes_.end()) {
    hashes->insert(hashes->end(), known->second.begin(), known->second.end());
    return;
  }
  std::vector<uint64_t> found = HashesOf(entry, language, analyzer);
  hashes->insert(hashes->end(), found.begin(), found.end());
  if (found.size() == 1 && entry.language == kNone) {
    entries_[number].language = static_cast<int16_t>(language);
    entries_[number].onlyTerm = found[0];
  } else {
    otherHashes_.emplace(key, std::move(found));
  }
}

// Seeded, so that no crafted text can make all words collide in one slot.
uint64_t Lexicon::HashText(std::u16string_view text, bool isGram) const {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  constexpr size_t kUnits = sizeof(uint64_t) / sizeof(char16_t);
  uint64_t hash = seed_ + (isGram ? 1 : 0) + (text.size() << 1);
  const auto mix = [&](uint64_t units) {
    hash = (hash ^ units) * kMultiplier;
    hash ^= hash >> 29;
  };
  size_t at = 0;
  for (; at + kUnits <= text.size(); at += kUnits) {
    uint64_t units = 0;
    std::memcpy(&units, &text[at], sizeof units);
    mix(units);
  }
  for (; at < text.size(); ++at) mix(text[at]);
  return hash * kMultiplier >> 3 ^ hash;
}

void Lexicon::Collect(const std::vector<uint32_t>& found, int language, const Analyzer& analyzer,
                      std::vector<uint64_t>* hashes) {
  for (const uint32_t number : found) AppendHashes(number, language, analyzer, hashes);
  occurrences_ += hashes->size();
  std::sort(hashes->begin(), hashes->end());
}

void Lexicon::CountLeadTwice(int language, const Analyzer& analyzer) {
  size_t units = 0;
  for (const uint32_t number : body_) {
    units += entries_[number].textUnits;
    if (units > kLeadUnits) break;
    AppendHashes(number, language, analyzer, &bodyHashes_);
  }
  std::sort(bodyHashes_.begin(), bodyHashes_.end());
}

void Lexicon::InsertSlot(uint32_t number) {
  const uint64_t hash = entries_[number].textHash;
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].number != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {static_cast<uint32_t>(hash >> 32), number + 1};
}

void Lexicon::Grow() {
  slots_.assign(slots_.size() * 2, {});
  for (uint32_t number = 0; number < entries_.size(); ++number) InsertSlot(number);
}

void Lexicon::Clear() {
  entries_.clear();
  texts_.clear();
  stops_.clear();
  otherHashes_.clear();
  std::fill(slots_.begin(), slots_.end(), Slot{});
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
