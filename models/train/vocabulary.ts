import { unknownPiece } from '../../src/text/wordpiece.ts';

const alphabetMax = 1_200;
const wordCountMin = 3;
const continuation = '##';

/** Two adjacent symbols, the number of their occurrences, and the words that contain them. */
interface SymbolPair {
  readonly left: number;
  readonly right: number;
  count: number;
  readonly words: Set<number>;
}

/**
 * Binary max-heap of pairs by a possibly outdated count. Ties are broken by the older symbols, so that runs
 * are reproducible.
 */
class PairHeap {
  readonly #items: { readonly pair: SymbolPair; readonly count: number }[] = [];

  push(pair: SymbolPair): void {
    const items = this.#items;
    items.push({ pair, count: pair.count });
    let at = items.length - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Returns the pair with the highest current count, or undefined if none is left. */
  pop(): SymbolPair | undefined {
    const items = this.#items;
    for (;;) {
      const top = items[0];
      if (top === undefined) return undefined;
      const last = items.pop()!;
      if (items.length > 0) {
        items[0] = last;
        this.#siftDown();
      }
      if (top.count === top.pair.count) return top.pair;
      if (top.pair.count > 0) this.push(top.pair);
    }
  }

  #siftDown(): void {
    let at = 0;
    for (;;) {
      let best = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#items.length && this.#isBefore(child, best)) best = child;
      }
      if (best === at) return;
      this.#swap(at, best);
      at = best;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const first = this.#items[a]!;
    const second = this.#items[b]!;
    if (first.count !== second.count) return first.count > second.count;
    if (first.pair.left !== second.pair.left) return first.pair.left < second.pair.left;
    return first.pair.right < second.pair.right;
  }

  #swap(a: number, b: number): void {
    const first = this.#items[a]!;
    this.#items[a] = this.#items[b]!;
    this.#items[b] = first;
  }
}

function buildAlphabet(words: readonly (readonly [string, number])[]): string[] {
  const counts = new Map<string, number>();
  for (const [word, count] of words) {
    for (const character of word) counts.set(character, (counts.get(character) ?? 0) + count);
  }
  const ranked = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return ranked.slice(0, alphabetMax).map(([character]) => character);
}

/** State of one training run: merges the most frequent adjacent symbols of all words repeatedly. */
class BpeTrainer {
  readonly symbols: string[] = [unknownPiece];
  readonly #ids = new Map<string, number>();
  readonly #words: number[][] = [];
  readonly #counts: number[] = [];
  readonly #pairs = new Map<number, SymbolPair>();
  readonly #heap = new PairHeap();

  constructor(words: readonly (readonly [string, number])[]) {
    const alphabet = buildAlphabet(words);
    for (const character of alphabet) this.#internSymbol(character);
    for (const character of alphabet) this.#internSymbol(continuation + character);
    for (const [word, count] of words) {
      const symbols = [...word].map((character, index) =>
        this.#ids.get(index === 0 ? character : continuation + character),
      );
      // Words with a character outside the alphabet are ignored.
      if (symbols.includes(undefined)) continue;
      this.#words.push(symbols as number[]);
      this.#counts.push(count);
    }
    for (const index of this.#words.keys()) this.#countPairs(index, 1);
    for (const pair of this.#pairs.values()) this.#heap.push(pair);
  }

  /** Performs one merge. Returns false if no adjacent symbols are left. */
  mergeNext(): boolean {
    const best = this.#heap.pop();
    if (best === undefined || best.count <= 0) return false;
    const merged = this.#internSymbol(
      this.symbols[best.left]! + this.symbols[best.right]!.slice(continuation.length),
    );
    for (const index of [...best.words]) {
      this.#countPairs(index, -1);
      const word = this.#words[index]!;
      const next: number[] = [];
      for (let at = 0; at < word.length; at += 1) {
        const meets = word[at] === best.left && word[at + 1] === best.right;
        next.push(meets ? merged : word[at]!);
        if (meets) at += 1;
      }
      this.#words[index] = next;
      for (const pair of this.#countPairs(index, 1)) this.#heap.push(pair);
    }
    return true;
  }

  #internSymbol(text: string): number {
    const existingId = this.#ids.get(text);
    if (existingId !== undefined) return existingId;
    this.symbols.push(text);
    this.#ids.set(text, this.symbols.length - 1);
    return this.symbols.length - 1;
  }

  #countPairs(index: number, sign: 1 | -1): SymbolPair[] {
    const word = this.#words[index]!;
    const touched: SymbolPair[] = [];
    for (let at = 0; at + 1 < word.length; at += 1) {
      const left = word[at]!;
      const right = word[at + 1]!;
      const key = left * 0x100000 + right;
      let pair = this.#pairs.get(key);
      if (pair === undefined) {
        pair = { left, right, count: 0, words: new Set() };
        this.#pairs.set(key, pair);
      }
      pair.count += sign * this.#counts[index]!;
      if (sign > 0) pair.words.add(index);
      else pair.words.delete(index);
      touched.push(pair);
    }
    return touched;
  }
}

/**
 * Returns a WordPiece vocabulary of at most `size` pieces for normalized words with their counts: `[UNK]`,
 * the most frequent characters (alone and as `##`), then the results of byte-pair merges in the order of
 * their frequency.
 */
export function trainVocabulary(counts: ReadonlyMap<string, number>, size: number): string[] {
  const words = [...counts].filter(([, count]) => count >= wordCountMin);
  words.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const merger = new BpeTrainer(words);
  while (merger.symbols.length < size && merger.mergeNext());
  return merger.symbols;
}
