import { limits } from '../core/limits.ts';
import { findStopLanguages, type Language, languages, toTerm } from './languages.ts';
import { hashTerm, toBigInt } from './term-hash.ts';
import { expandWord, type WordVariant } from './words.ts';

/** Analysis of one word, computed once while cached. */
export interface LexiconEntry {
  readonly pieces: readonly WordVariant[];
  /** Positions in `languages` of the languages with this stop word. */
  readonly stopLanguages: readonly number[];
  /**
   * Per language position + 1 (0: unknown): 32-bit halves (high, low, high, low, ...) of the hash of each
   * distinct term.
   */
  readonly hashes: (Uint32Array | undefined)[];
}

/**
 * Bounded cache of words. Natural text repeats words, so splitting, folding, stemming and hashing run once
 * per word. At the limit the whole cache is cleared, which costs nothing extra for a stream of new words. Gain
 * per text of 1,300 characters in which query words are found (call `pages` of the bench case `server`): 300 ->
 * 80 us.
 */
export class Lexicon {
  readonly #words = new Map<string, LexiconEntry>();

  getWord(surface: string): LexiconEntry {
    const cached = this.#words.get(surface);
    if (cached !== undefined) return cached;
    const own = detachString(surface);
    const pieces = expandWord(own);
    const only = pieces.length === 1 ? pieces[0] : undefined;
    return this.#cache(own, {
      pieces,
      stopLanguages: only === undefined ? [] : findStopLanguages(only.text),
      hashes: [],
    });
  }

  /** Returns the entry of a term that has itself as its only piece, in every language. */
  getGram(gram: string): LexiconEntry {
    const cached = this.#words.get(gram);
    if (cached !== undefined) return cached;
    const pieces = [{ text: gram, isStemmable: false, weight: 1 }];
    return this.#cache(gram, { pieces, stopLanguages: [], hashes: [] });
  }

  #cache(surface: string, entry: LexiconEntry): LexiconEntry {
    if (this.#words.size >= limits.wordCacheEntriesMax) this.#words.clear();
    this.#words.set(surface, entry);
    return entry;
  }
}

/**
 * Returns the hash halves of the distinct terms of an entry in a text of the language at `position` (-1:
 * unknown).
 */
export function getEntryHashes(entry: LexiconEntry, position: number): Uint32Array {
  entry.hashes[position + 1] ??= hashPieces(entry.pieces, position);
  return entry.hashes[position + 1]!;
}

/** Same for the pieces of a word. */
export function hashPieces(pieces: readonly WordVariant[], position: number): Uint32Array {
  const language: Language | null = position < 0 ? null : languages[position]!;
  const terms = new Set(pieces.map((piece) => toTerm(piece.text, piece.isStemmable, language)));
  const halves = new Uint32Array(terms.size * 2);
  let index = 0;
  for (const term of terms) {
    const { high, low } = hashTerm(term);
    halves[index] = high;
    halves[index + 1] = low;
    index += 2;
  }
  return halves;
}

/** Returns the hash of a term in the form used by the engine. */
export function toTermKey(term: string): bigint {
  return toBigInt(hashTerm(term));
}

/** Returns a copy that does not keep the whole text alive, as a slice of 13 units or more does in V8. */
export function detachString(slice: string): string {
  return slice.length < 13 ? slice : Buffer.from(slice, 'utf16le').toString('utf16le');
}
