import { addon, type EmbeddingHandle, type TokenizerHandle } from '../index/addon.ts';

export interface TokenBagParameters {
  /** Components of a vector. */
  readonly dimensions: number;
  /** A token that occurs n times in a text counts as n to this power. */
  readonly repetitionExponent: number;
  /** Token vectors as signed bytes, one row of `dimensions` per piece. */
  readonly codes: Uint8Array;
  /** Weight of every piece in a query, then in a document. */
  readonly weights: Float32Array;
  /** What every query, then every document starts from: two rows of `dimensions`. */
  readonly prefixes: Float32Array;
}

/**
 * Texts as bags of token vectors: the prefix of the text's side plus the weighted mean of the vectors of its tokens,
 * scaled to length 1. Done in native/text, which says in which order it adds: the same text has the same bytes on every
 * machine. Equal bags are one in memory, whatever threads hold them.
 */
export class TokenBag {
  readonly #handle: EmbeddingHandle;

  constructor(tokenizer: { readonly handle: TokenizerHandle }, parameters: TokenBagParameters) {
    this.#handle = addon.embeddingOpen(tokenizer.handle, parameters);
  }

  /** One row of `dimensions` components per text, in their order, and how many tokens they have together. */
  embed(
    texts: readonly string[],
    side: 'query' | 'document',
  ): { readonly vectors: Float32Array; readonly tokens: number } {
    return addon.embeddingRun(this.#handle, texts, side === 'query');
  }

  /** The vectors of texts of documents below their headings, and codes of parts of them; see `addon.embeddingRunParts`. */
  embedWithParts(
    headings: readonly string[],
    texts: readonly string[],
    parts: { readonly spans: Uint32Array; readonly counts: Uint32Array },
  ): { readonly vectors: Float32Array; readonly codes: Uint8Array; readonly tokens: number } {
    return addon.embeddingRunParts(this.#handle, headings, texts, parts.spans, parts.counts);
  }
}
