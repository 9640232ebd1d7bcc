#include "text/piece_trie.h"

#include <algorithm>

namespace quarry::text {

bool PieceTrie::Build(std::vector<Piece> pieces) {
  AddSymbols(pieces);
  std::vector<Key> keys;
  keys.reserve(pieces.size() + 1);
  // Required even if no piece continues a word: the walk starts at an existing node.
  keys.push_back({{kContinuation}, -1});
  for (const Piece& piece : pieces) {
    if (piece.text.empty() || piece.text.size() > kPieceCharactersMax) return false;
    Key key{{}, piece.id};
    if (piece.continues) key.symbols.push_back(kContinuation);
    for (const char32_t character : piece.text) key.symbols.push_back(SymbolOf(character));
    keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end(), [](const Key& left, const Key& right) { return left.symbols < right.symbols; });
  nodes_.assign(symbolCount_ + 1, {});
  nodes_[0].parent = 0;
  if (!InsertKeys(keys, 0, keys.size(), 0, 0)) return false;
  continuationRoot_ = nodes_[0].base + kContinuation;
  return true;
}

void PieceTrie::AddSymbols(const std::vector<Piece>& pieces) {
  constexpr uint32_t kPageSize = 1u << kPageBits;
  pages_.assign(0x110000 >> kPageBits, 0);
  symbols_.assign(kPageSize, 0);  // the page of all characters that occur in no piece
  symbolCount_ = kContinuation + 1;
  for (const Piece& piece : pieces) {
    for (const char32_t character : piece.text) {
      uint16_t& page = pages_[character >> kPageBits];
      if (page == 0) {
        page = static_cast<uint16_t>(symbols_.size() / kPageSize);
        symbols_.resize(symbols_.size() + kPageSize, 0);
      }
      uint32_t& symbol = symbols_[page * kPageSize + (character & (kPageSize - 1))];
      if (symbol == 0) symbol = symbolCount_++;
    }
  }
}

bool PieceTrie::InsertKeys(const std::vector<Key>& keys, size_t from, size_t to, size_t depth, uint32_t node) {
  for (; from < to && keys[from].symbols.size() == depth; ++from) {
    if (nodes_[node].id >= 0) return false;
    nodes_[node].id = keys[from].id;
  }
  std::vector<uint32_t> children;
  for (size_t at = from; at < to; ++at) {
    const uint32_t symbol = keys[at].symbols[depth];
    if (children.empty() || children.back() != symbol) children.push_back(symbol);
  }
  if (children.empty()) return true;
  const uint32_t base = FindBase(children);
  nodes_[node].base = base;
  for (const uint32_t symbol : children) nodes_[base + symbol].parent = node;
  for (const uint32_t symbol : children) {
    size_t end = from;
    while (end < to && keys[end].symbols[depth] == symbol) ++end;
    if (!InsertKeys(keys, from, end, depth + 1, base + symbol)) return false;
    from = end;
  }
  return true;
}

// Finds a base at which the nodes of all children are free. Every base leaves space for all symbols, so that
// no step leaves the array. A single child takes the first free node. Several children start where the last
// long search ended, so that the full part of the array is not searched repeatedly.
uint32_t PieceTrie::FindBase(const std::vector<uint32_t>& children) {
  constexpr uint32_t kProbesMax = 64;
  while (firstFree_ < nodes_.size() && nodes_[firstFree_].parent != kFree) ++firstFree_;
  const uint32_t start = children.size() == 1 ? firstFree_ : std::max(firstFree_, branchSearchStart_);
  const uint32_t first = start > children[0] ? start - children[0] : 0;
  for (uint32_t base = first;; ++base) {
    if (nodes_.size() < static_cast<size_t>(base) + symbolCount_) nodes_.resize(base + symbolCount_ + 1);
    const auto isFree = [&](uint32_t symbol) { return nodes_[base + symbol].parent == kFree; };
    if (!std::all_of(children.begin(), children.end(), isFree)) continue;
    if (base - first > kProbesMax) branchSearchStart_ = base + children[0];
    return base;
  }
}

}  // namespace quarry::text
