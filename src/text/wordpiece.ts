import { assert } from '../core/assert.ts';
import { addon } from '../index/addon.ts';
import type { TokenizerHandle } from '../index/native-text.ts';

/** Piece for a run of characters that no other piece covers; always entry 0 of a vocabulary. */
export const unknownPiece = '[UNK]';

/** Prefix of a piece that continues a word. */
const continuation = '##';

/**
 * Calls `onWord` with every raw word of `text` in order, in linear time. A word is a maximal run of letters,
 * digits and marks (an underscore separates), or one ideograph; symbols, emoji and lone surrogates separate
 * words. Runs longer than 256 units are split into several words.
 */
export function forEachWord(text: string, onWord: (word: string) => void): void {
  const spans = addon.wordSpans(text);
  for (let at = 0; at < spans.length; at += 2) onWord(text.slice(spans[at], spans[at + 1]));
}

/**
 * Lower-cases a word, unifies compatibility forms and removes accents of the combining block ("Ｃafé" becomes
 * "cafe").
 */
export function normalizeWord(word: string): string {
  return addon.wordNormalize(word);
}

/** Ids of several texts, concatenated. */
export interface EncodedTexts {
  readonly ids: Int32Array;
  /** End of the ids of each text. */
  readonly ends: Uint32Array;
}

/**
 * WordPiece tokenizer: words are split greedily into the longest known pieces; the first piece of a word has
 * no prefix, the following ones have the prefix `##`. Runs in native/text; all threads of the process share
 * one vocabulary.
 */
export class WordPiece {
  readonly vocabularySize: number;
  readonly handle: TokenizerHandle;
  readonly #vocabulary: readonly string[];

  /** `vocabulary[0]` must be `[UNK]`; the index of a piece is its id. */
  constructor(vocabulary: readonly string[]) {
    this.handle = addon.plainTokenizerOpen(vocabulary.join('\n'));
    this.#vocabulary = vocabulary;
    this.vocabularySize = vocabulary.length;
  }

  /** Returns the piece with this id, as in the vocabulary. */
  getPiece(id: number): string {
    const piece = this.#vocabulary[id];
    assert(piece !== undefined, 'the piece id is in the vocabulary');
    return piece;
  }

  /** Returns all piece ids of each text, in order. */
  encodeAll(texts: readonly string[]): EncodedTexts {
    return addon.tokenizerEncode(this.handle, texts);
  }

  /** Returns all piece ids of `text`, in order. */
  encode(text: string): Int32Array {
    return this.encodeAll([text]).ids;
  }

  /** Returns normalized words separated by single spaces; inverse of `encode` for text within the vocabulary. */
  decode(ids: Iterable<number>): string {
    let text = '';
    for (const id of ids) {
      const piece = this.getPiece(id);
      if (id !== 0 && piece.startsWith(continuation)) text += piece.slice(continuation.length);
      else text += text === '' ? piece : ` ${piece}`;
    }
    return text;
  }

  /**
   * Returns the piece ids of one raw word, as passed by `forEachWord`; never empty for a word with a visible
   * character.
   */
  wordTokens(word: string): Int32Array {
    return addon.wordEncode(this.handle, word);
  }
}
