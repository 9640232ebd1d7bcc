import { assert } from '../base/assert.ts';
import type { WordPiece } from '../text/wordpiece.ts';

/** Components used for comparing single tokens: half of the vector tells almost as much for half of the time. */
const usedDimensions = 160;

/** The token vectors of a static embedding (its `table.i8`), for comparing words with tokens. */
export class TokenTable {
  readonly #codes: Int8Array;
  readonly #width: number;
  readonly #pieces: WordPiece;
  /** 1 / length of a token's used components; 0 until it is needed. */
  readonly #inverse: Float32Array;

  constructor(table: Uint8Array, width: number, pieces: WordPiece) {
    assert(table.length === width * pieces.size, 'the token table has a row for every piece');
    this.#codes = new Int8Array(table.buffer, table.byteOffset, table.byteLength);
    this.#width = width;
    this.#pieces = pieces;
    this.#inverse = new Float32Array(pieces.size);
  }

  /** Direction of a raw word: the sum of its pieces' directions, scaled to length 1. */
  wordVector(word: string): Float32Array {
    const sum = new Float32Array(usedDimensions);
    for (const token of this.#pieces.wordTokens(word)) {
      const inverse = this.#inverseLength(token);
      for (let i = 0; i < usedDimensions; i += 1) sum[i]! += inverse * this.#codes[token * this.#width + i]!;
    }
    const length = Math.hypot(...sum);
    return length === 0 ? sum : sum.map((component) => component / length);
  }

  /** Cosine of a word's direction and a token's. */
  cosine(word: Float32Array, token: number): number {
    const start = token * this.#width;
    let sum = 0;
    for (let i = 0; i < usedDimensions; i += 1) sum += word[i]! * this.#codes[start + i]!;
    return sum * this.#inverseLength(token);
  }

  #inverseLength(token: number): number {
    const known = this.#inverse[token]!;
    if (known !== 0) return known;
    let sum = 0;
    for (let i = token * this.#width; i < token * this.#width + usedDimensions; i += 1)
      sum += this.#codes[i]! ** 2;
    const inverse = sum === 0 ? 1 : 1 / Math.sqrt(sum);
    this.#inverse[token] = inverse;
    return inverse;
  }
}
