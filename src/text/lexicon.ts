import { limits } from '../base/limits.ts';
import { type Language, languages, stopLanguages, termOf } from './languages.ts';
import { hashAsBigInt, termHash } from './term-hash.ts';
import { expandWord, type WordPiece } from './words.ts';

/** What is known about one spelling, computed once while it stays in the cache. */
export interface LexiconEntry {
  readonly pieces: readonly WordPiece[];
  /** Positions in `languages` of those that have the word as a function word. */
  readonly stops: readonly number[];
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

  word(surface: string): LexiconEntry {
    const known = this.#words.get(surface);
    if (known !== undefined) return known;
    const own = detached(surface);
    const pieces = expandWord(own);
    const only = pieces.length === 1 ? pieces[0] : undefined;
    return this.#remember(own, {
      pieces,
      stops: only === undefined ? [] : stopLanguages(only.text),
      hashes: [],
    });
  }

  /** A term that is its own only piece, whatever the language. */
  gram(gram: string): LexiconEntry {
    const known = this.#words.get(gram);
    if (known !== undefined) return known;
    const pieces = [{ text: gram, stemmable: false, weight: 1 }];
    return this.#remember(gram, { pieces, stops: [], hashes: [] });
  }

  #remember(surface: string, entry: LexiconEntry): LexiconEntry {
    if (this.#words.size >= limits.wordCacheEntriesMax) this.#words.clear();
    this.#words.set(surface, entry);
    return entry;
  }
}

/** Hash halves of the distinct terms of an entry in a text of the language at `position` (-1: unsure). */
export function entryHashes(entry: LexiconEntry, position: number): Uint32Array {
  entry.hashes[position + 1] ??= hashesOf(entry.pieces, position);
  return entry.hashes[position + 1]!;
}

/** The same for the pieces of a word. */
export function hashesOf(pieces: readonly WordPiece[], position: number): Uint32Array {
  const language: Language | null = position < 0 ? null : languages[position]!;
  const terms = new Set(pieces.map((piece) => termOf(piece.text, piece.stemmable, language)));
  const halves = new Uint32Array(terms.size * 2);
  let index = 0;
  for (const term of terms) {
    const { high, low } = termHash(term);
    halves[index] = high;
    halves[index + 1] = low;
    index += 2;
  }
  return halves;
}

/** The hash of a term as the engine takes it. */
export function termKey(term: string): bigint {
  return hashAsBigInt(termHash(term));
}

/** A copy that does not keep the whole text alive, as a slice of 13 units or more does in V8. */
export function detached(slice: string): string {
  return slice.length < 13 ? slice : Buffer.from(slice, 'utf16le').toString('utf16le');
}
