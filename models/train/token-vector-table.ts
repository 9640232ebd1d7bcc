import { assert } from '../../src/core/assert.ts';
import type { WordPiece } from '../../src/text/wordpiece.ts';

/** Components used for comparing single tokens: half of the vector is almost as accurate at half of the time. */
const comparedDimensions = 160;

/** Token vectors of a static embedding (its `table.i8`), for comparing words with tokens. */
export class TokenVectorTable {
  readonly #codes: Int8Array;
  readonly #width: number;
  readonly #pieces: WordPiece;
  /** 1 / length of a token's used components; 0 until computed. */
  readonly #inverseLengths: Float32Array;

  constructor(table: Uint8Array, width: number, pieces: WordPiece) {
    assert(table.length === width * pieces.vocabularySize, 'the token table has a row for every piece');
    this.#codes = new Int8Array(table.buffer, table.byteOffset, table.byteLength);
    this.#width = width;
    this.#pieces = pieces;
    this.#inverseLengths = new Float32Array(pieces.vocabularySize);
  }

  /** Returns the direction of a raw word: the sum of its pieces' directions, scaled to length 1. */
  computeWordVector(word: string): Float32Array {
    const sum = new Float32Array(comparedDimensions);
    for (const token of this.#pieces.wordTokens(word)) {
      const inverse = this.#getInverseLength(token);
      for (let i = 0; i < comparedDimensions; i += 1)
        sum[i]! += inverse * this.#codes[token * this.#width + i]!;
    }
    const length = Math.hypot(...sum);
    return length === 0 ? sum : sum.map((component) => component / length);
  }

  /** Returns the cosine of a word's direction and a token's. */
  computeCosine(word: Float32Array, token: number): number {
    const start = token * this.#width;
    let sum = 0;
    for (let i = 0; i < comparedDimensions; i += 1) sum += word[i]! * this.#codes[start + i]!;
    return sum * this.#getInverseLength(token);
  }

  #getInverseLength(token: number): number {
    const cached = this.#inverseLengths[token]!;
    if (cached !== 0) return cached;
    let sum = 0;
    for (let i = token * this.#width; i < token * this.#width + comparedDimensions; i += 1)
      sum += this.#codes[i]! ** 2;
    const inverse = sum === 0 ? 1 : 1 / Math.sqrt(sum);
    this.#inverseLengths[token] = inverse;
    return inverse;
  }
}
