import { addon } from '../index/addon.ts';
import type { EmbeddingHandle, TokenizerHandle } from '../index/native-text.ts';

export interface TokenBagParameters {
  /** Number of components of a vector. */
  readonly dimensions: number;
  /** A token that occurs n times in a text counts as n to the power of this exponent. */
  readonly repetitionExponent: number;
  /** Token vectors as signed bytes, one row of `dimensions` per piece. */
  readonly codes: Uint8Array;
  /** Weights of all pieces in queries, followed by those in documents. */
  readonly weights: Float32Array;
  /** Start vectors of queries and of documents: two rows of `dimensions`. */
  readonly prefixes: Float32Array;
}

/**
 * Static embedding of texts as bags of token vectors: the prefix for queries or documents plus the weighted
 * mean of the token vectors, scaled to length 1. Computed in native/text, which defines the order of the
 * additions: the same text has the same bytes on every machine. Equal bags share one instance in memory
 * across threads.
 */
export class TokenBag {
  readonly handle: EmbeddingHandle;
  readonly tokenizer: TokenizerHandle;
  readonly #dimensions: number;

  constructor(tokenizer: { readonly handle: TokenizerHandle }, parameters: TokenBagParameters) {
    this.tokenizer = tokenizer.handle;
    this.handle = addon.embeddingOpen(tokenizer.handle, parameters);
    this.#dimensions = parameters.dimensions;
  }

  /** Returns one row of `dimensions` components per text, in input order, and the total number of tokens. */
  embed(
    texts: readonly string[],
    side: 'query' | 'document',
  ): { readonly vectors: Float32Array; readonly tokens: number } {
    const vectors = new Float32Array(texts.length * this.#dimensions);
    const tokens = addon.embeddingRun(this.handle, texts, side === 'query', vectors);
    return { vectors, tokens };
  }

  /**
   * Returns the vectors of document texts below their headings, and codes of parts of them; see
   * `addon.embeddingRunParts`.
   */
  embedWithParts(
    headings: readonly string[],
    texts: readonly string[],
    parts: { readonly spans: Uint32Array; readonly counts: Uint32Array },
  ): { readonly vectors: Float32Array; readonly codes: Uint8Array; readonly tokens: number } {
    return addon.embeddingRunParts(this.handle, headings, texts, parts.spans, parts.counts);
  }
}
