// The pieces of a WordPiece vocabulary, as a trie that finds the longest piece with which a text continues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quarry::text {

// A double-array trie (Aoe, 1989): a step is one addition and one comparison. Characters are first mapped to
// symbols, so that only characters of the vocabulary take space. Immutable once built.
class PieceTrie {
 public:
  struct Piece {
    std::u32string text;  // without the continuation mark
    bool continues = false;
    int32_t id = 0;
  };

  // Selects pieces that begin a word or pieces that continue one.
  enum class Position { kFirst, kNext };

  struct Match {
    int32_t id = -1;    // -1: no piece matches
    size_t length = 0;  // in symbols
  };

  static constexpr size_t kPieceCharactersMax = 1'000;

  // Returns false if two pieces are equal, or one is empty or too long.
  bool Build(std::vector<Piece> pieces);

  // Returns 0 for a character that occurs in no piece.
  uint32_t SymbolOf(char32_t character) const {
    return symbols_[pages_[character >> kPageBits] * (1u << kPageBits) + (character & ((1u << kPageBits) - 1))];
  }

  // Returns the longest piece that is a prefix of `symbols`. Reads no more symbols than the longest piece has.
  Match Longest(Position position, const uint32_t* symbols, size_t count) const {
    Match match;
    uint32_t node = position == Position::kFirst ? 0 : continuationRoot_;
    for (size_t at = 0; at < count; ++at) {
      const uint32_t child = nodes_[node].base + symbols[at];
      if (nodes_[child].parent != node || symbols[at] == 0) break;
      node = child;
      if (nodes_[node].id >= 0) match = {nodes_[node].id, at + 1};
    }
    return match;
  }

 private:
  static constexpr uint32_t kPageBits = 8;
  static constexpr uint32_t kFree = 0xffffffff;
  static constexpr uint32_t kContinuation = 1;  // symbol that leads to the pieces that continue a word

  struct Node {
    uint32_t base = 0;
    uint32_t parent = kFree;
    int32_t id = -1;
  };
  struct Key {
    std::vector<uint32_t> symbols;
    int32_t id;
  };

  void AddSymbols(const std::vector<Piece>& pieces);
  // Lays out the keys [from, to), which are sorted and share their first `depth` symbols, below `node`.
  bool InsertKeys(const std::vector<Key>& keys, size_t from, size_t to, size_t depth, uint32_t node);
  uint32_t FindBase(const std::vector<uint32_t>& children);

  std::vector<uint16_t> pages_;
  std::vector<uint32_t> symbols_;
  std::vector<Node> nodes_;
  uint32_t symbolCount_ = 0;
  uint32_t firstFree_ = 1;
  uint32_t branchSearchStart_ = 1;
  uint32_t continuationRoot_ = 0;
};

}  // namespace quarry::text
