import { assert } from '../core/assert.ts';
import { addon, type TokenizerHandle } from '../index/addon.ts';

/** The piece that stands for a run of characters no piece covers; always entry 0 of a vocabulary. */
export const unknownPiece = '[UNK]';

/** Marks a piece that continues a word. */
const continuation = '##';

/**
 * Calls `visit` with every raw word of `text` in order, in linear time. A word is a longest run of letters, digits and
 * marks (an underscore separates), or one ideograph; symbols, emoji and lone surrogates separate words. What is longer
 * than 256 units is several words.
 */
export function forEachWord(text: string, onWord: (word: string) => void): void {
  const spans = addon.wordSpans(text);
  for (let at = 0; at < spans.length; at += 2) onWord(text.slice(spans[at], spans[at + 1]));
}

/** Lower case, compatibility forms unified, accents of the combining block removed ("Ｃafé" is "cafe"). */
export function normalizeWord(word: string): string {
  return addon.wordNormalize(word);
}

/** The ids of several texts, one after the other. */
export interface EncodedTexts {
  readonly ids: Int32Array;
  /** Where the ids of each text end. */
  readonly ends: Uint32Array;
}

/**
 * WordPiece: words are split greedily into the longest known pieces; the first piece of a word stands as it is, the
 * following ones carry `##`. The work is done in native/text; every thread of the process shares one vocabulary.
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

  /** The piece with this id, as the vocabulary spells it. */
  getPiece(id: number): string {
    const piece = this.#vocabulary[id];
    assert(piece !== undefined, 'a piece id lies inside the vocabulary');
    return piece;
  }

  /** All piece ids of each text, in order. */
  encodeAll(texts: readonly string[]): EncodedTexts {
    return addon.tokenizerEncode(this.handle, texts);
  }

  /** All piece ids of `text`, in order. */
  encode(text: string): Int32Array {
    return this.encodeAll([text]).ids;
  }

  /** Normalised words separated by single spaces; inverse of `encode` for text in vocabulary. */
  decode(ids: Iterable<number>): string {
    let text = '';
    for (const id of ids) {
      const piece = this.getPiece(id);
      if (id !== 0 && piece.startsWith(continuation)) text += piece.slice(continuation.length);
      else text += text === '' ? piece : ` ${piece}`;
    }
    return text;
  }

  /** Piece ids of one raw word, as `eachWord` gives it; never empty for a word with a visible character. */
  wordTokens(word: string): Int32Array {
    return addon.wordEncode(this.handle, word);
  }
}
