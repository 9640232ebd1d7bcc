import { limits } from '../core/limits.ts';
import { findStopLanguages, type Language, languages, toTerm } from './languages.ts';
import { hashTerm, toBigInt } from './term-hash.ts';
import { expandWord, type WordVariant } from './words.ts';

/** What is known about one spelling, computed once while it stays in the cache. */
export interface LexiconEntry {
  readonly pieces: readonly WordVariant[];
  /** Positions in `languages` of those that have the word as a function word. */
  readonly stopLanguages: readonly number[];
  /**
   * Per language position + 1 (0: unsure): halves (high, low, high, low, ...) of the hash of each distinct
   * term.
   */
  readonly hashes: (Uint32Array | undefined)[];
}

/**
 * Bounded memory of words. Natural text repeats itself, so splitting, folding, stemming and hashing are
 * paid once per spelling; when the limit is reached everything is forgotten, which costs a stream of ever
 * new words nothing extra.
 */
export class Lexicon {
  readonly #words = new Map<string, LexiconEntry>();

  getWord(surface: string): LexiconEntry {
    const cached = this.#words.get(surface);
    if (cached !== undefined) return cached;
    const own = copyString(surface);
    const pieces = expandWord(own);
    const only = pieces.length === 1 ? pieces[0] : undefined;
    return this.#cache(own, {
      pieces,
      stopLanguages: only === undefined ? [] : findStopLanguages(only.text),
      hashes: [],
    });
  }

  /** A term that is its own only piece, whatever the language. */
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

/** Hash halves of the distinct terms of an entry in a text of the language at `position` (-1: unsure). */
export function getEntryHashes(entry: LexiconEntry, position: number): Uint32Array {
  entry.hashes[position + 1] ??= hashPieces(entry.pieces, position);
  return entry.hashes[position + 1]!;
}

/** The same for the pieces of a word. */
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

/** The hash of a term as the engine takes it. */
export function toTermKey(term: string): bigint {
  return toBigInt(hashTerm(term));
}

/** A copy that does not keep the whole text alive, as a slice of 13 units or more does in V8. */
export function copyString(slice: string): string {
  return slice.length < 13 ? slice : Buffer.from(slice, 'utf16le').toString('utf16le');
}
