#include "engine/spelling.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "engine/collection.h"
#include "engine/term_hash.h"
#include "samples.h"

namespace quarry {
namespace {

constexpr uint32_t kShards = 3;

// One row for each word, spread over the shards.
class Words {
 public:
  Words() {
    REQUIRE(Collection::Open({"test", 4, kShards, folder_.path() + "/c"}, background_.Function(), &collection_).ok());
  }
  void Add(const std::string& word, uint32_t rows = 1) {
    for (uint32_t row = 0; row < rows; row++) {
      version_++;
      const uint32_t shard = version_ % kShards;
      const std::vector<test::RowTerms> terms = {{{TermHash(word), {1, 0}}}};
      REQUIRE(test::Stage(collection_, shard, test::MakeDocument(version_, {{1, 0, 0, 0}}, terms, {})).ok());
      REQUIRE(collection_->Commit({version_, shard, version_, {}}).ok());
    }
  }
  std::vector<Correction> Find(const UnknownWord& word) const {
    std::vector<Correction> found;
    REQUIRE(FindCorrections(collection_->GetReadSnapshot(), {word}, CancellationToken(), &found).ok());
    return found;
  }
  std::vector<std::u16string> Terms(const std::u16string& form, uint32_t editsMax) const {
    std::vector<std::u16string> terms;
    for (const Correction& correction : Find({{form}, {}, kLetters, editsMax})) terms.push_back(correction.term);
    return terms;
  }
  const std::shared_ptr<Collection>& collection() const { return collection_; }

  static constexpr const char16_t* kLetters = u"abcdefghijklmnopqrstuvwxyz";

 private:
  test::TemporaryFolder folder_;
  test::ManualScheduler background_;
  std::shared_ptr<Collection> collection_;
  uint64_t version_ = 0;
};

using Terms = std::vector<std::u16string>;

// Optimal string alignment distance: fewest Damerau edits, no two of which overlap.
size_t Distance(const std::u16string& left, const std::u16string& right) {
  std::vector<std::vector<size_t>> edits(left.size() + 1, std::vector<size_t>(right.size() + 1));
  for (size_t i = 0; i <= left.size(); i++) {
    for (size_t j = 0; j <= right.size(); j++) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const size_t changed = edits[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, changed});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
      }
    }
  }
  return edits[left.size()][right.size()];
}

TEST("a query is known if each of its words occurs in some shard, by any of its terms") {
  Words words;
  for (const char* word : {"one", "two", "three", "four"}) words.Add(word);
  const auto knows = [&](const std::vector<std::vector<std::string>>& groups) {
    std::vector<QueryTerm> terms;
    for (uint32_t group = 0; group < groups.size(); group++) {
      for (const std::string& term : groups[group]) terms.push_back({TermHash(term), 1, group});
    }
    return HasAllWords(words.collection()->GetReadSnapshot(), terms);
  };
  CHECK(knows({}));
  CHECK(knows({{"one"}, {"two"}, {"three"}, {"four"}}));
  CHECK(knows({{"ones", "one"}, {"two", "twos"}}));
  CHECK(!knows({{"five"}}));
  CHECK(!knows({{"one"}, {"five", "fives"}, {"two"}}));
  CHECK(!knows({{"one"}, {"two"}, {"five"}}));
}

TEST("a term has the hash of the format") {
  CHECK(TermHash("herring") == 0x91e725c104d34fc5U);
  CHECK(TermHash("самолет") == 0x4838ecb5ee67cc2eU);
  CHECK(TermHash("herring") != TermHash("herrings"));
}

TEST("the corrections of a word are the terms that differ by one letter, most frequent first") {
  Words words;
  words.Add("herring", 2);
  words.Add("hering", 3);
  words.Add("trout");
  CHECK((words.Terms(u"herrng", 1) == Terms{u"hering", u"herring"}));
  CHECK(words.Terms(u"herrinng", 1) == Terms{u"herring"});
  CHECK(words.Terms(u"herrimg", 1) == Terms{u"herring"});
  CHECK(words.Terms(u"ehrring", 1) == Terms{u"herring"});
  CHECK(words.Terms(u"berring", 1) == Terms{u"herring"});
  CHECK((words.Terms(u"heering", 1) == Terms{u"hering", u"herring"}));
  CHECK(words.Terms(u"herrign", 1) == Terms{u"herring"});
  CHECK(words.Terms(u"hrrimg", 1).empty());
  CHECK(words.Find({{u"heering"}, {}, Words::kLetters, 1})[0].rows == 3);
}

TEST("two letters may differ only if no term differs by one, and not the first letter") {
  Words words;
  words.Add("compressor");
  words.Add("compression");
  CHECK(words.Terms(u"comprsesro", 1).empty());
  CHECK(words.Terms(u"comprsesro", 2) == Terms{u"compressor"});
  CHECK(words.Terms(u"ocmpressro", 2).empty());
  CHECK(words.Terms(u"compressoin", 2) == Terms{u"compression"});
  CHECK(words.Terms(u"comprexxoor", 2).empty());
}

TEST("terms of the caller are looked up unchanged") {
  Words words;
  words.Add("develop");
  const auto found = words.Find({{u"developmetn"}, {u"develop", u"developm"}, Words::kLetters, 2});
  CHECK(found.size() == 1 && found[0].term == u"develop" && found[0].edits == 1);
}

TEST("corrections work with letters of other scripts") {
  Words words;
  words.Add("самолет");
  std::vector<Correction> found;
  const UnknownWord word{{u"самлет"}, {}, u"абвгдежзийклмнопрстуфхцчшщъыьэюя", 1};
  REQUIRE(FindCorrections(words.collection()->GetReadSnapshot(), {word, word}, CancellationToken(), &found).ok());
  CHECK(found.size() == 2 && found[0].term == u"самолет" && found[1].word == 1);
}

TEST("rows of terms are counted over all shards") {
  Words words;
  words.Add("herring", 5);
  const uint64_t hashes[] = {TermHash("herring"), TermHash("trout")};
  CHECK((CountRowsOfTerms(words.collection()->GetReadSnapshot(), hashes, 2) == std::vector<double>{5, 0}));
}

TEST("corrections equal those of a comparison with every term") {
  test::Random random(11);
  Words words;
  std::set<std::u16string> known;
  const auto letter = [&] { return static_cast<char16_t>(u'a' + test::RandomBelow(&random, 3)); };
  const auto make = [&] {
    std::u16string word(4 + test::RandomBelow(&random, 4), u'a');
    for (char16_t& unit : word) unit = letter();
    return word;
  };
  for (int i = 0; i < 12; i++) {
    const std::u16string word = make();
    if (known.insert(word).second) words.Add(std::string(word.begin(), word.end()));
  }
  for (int round = 0; round < 60; round++) {
    const std::u16string misspelled = make();
    if (known.contains(misspelled)) continue;
    std::set<std::u16string> byOne;
    for (const auto& word : known) {
      if (Distance(misspelled, word) == 1) byOne.insert(word);
    }
    const auto found = words.Find({{misspelled}, {}, u"abc", 2});
    for (const Correction& correction : found) CHECK(Distance(misspelled, correction.term) == correction.edits);
    std::set<std::u16string> terms;
    for (const Correction& correction : found) terms.insert(correction.term);
    if (!byOne.empty()) CHECK(terms == byOne);
  }
}

TEST("the search for corrections ends at its deadline") {
  Words words;
  words.Add("herring");
  std::vector<Correction> found;
  const CancellationToken cancellation{std::chrono::steady_clock::now() - std::chrono::seconds(1), nullptr};
  const UnknownWord word{{u"abcdefghijklmnop"}, {}, Words::kLetters, 2};
  CHECK(FindCorrections(words.collection()->GetReadSnapshot(), {word}, cancellation, &found).code() ==
        StatusCode::kDeadline);
}

}  // namespace
}  // namespace quarry
