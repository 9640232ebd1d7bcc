/** The functions of the native library for tokens, terms, vectors and scores of text (native/text). */

declare const tokenizerHandle: unique symbol;
/** A tokenizer; equal tokenizers share one instance in memory across threads. */
export type TokenizerHandle = { readonly [tokenizerHandle]: true };

declare const embeddingHandle: unique symbol;
/** A static embedding model; equal models share one instance in memory across threads. */
export type EmbeddingHandle = { readonly [embeddingHandle]: true };

declare const rerankerHandle: unique symbol;
/** A reranker that computes features of a query and a document. */
export type RerankerHandle = { readonly [rerankerHandle]: true };

export interface NativeRerankerOptions {
  /** The file described in `src/models/idf-table.ts`. */
  readonly idf: Uint8Array;
  /** Normalized words, one per line. */
  readonly functionWords: string;
  /** The constants of the reranker's ONNX graph, row-major. */
  readonly network: {
    readonly mean: Float32Array;
    readonly deviation: Float32Array;
    readonly lowest: number;
    readonly highest: number;
    readonly inner: Float32Array;
    readonly innerBias: Float32Array;
    readonly out: Float32Array;
    readonly outBias: number;
  };
}

export interface NativeRerankScores {
  /** One score in 0..1 per document, in input order. */
  readonly scores: Float32Array;
  readonly queryTokens: number;
  /** Total number of tokens of the documents. */
  readonly documentTokens: number;
  /** Milliseconds that a thread worked on the call. */
  readonly ms: number;
}

declare const lexiconHandle: unique symbol;
/** Cache of analyzed words of one thread. */
export type LexiconHandle = { readonly [lexiconHandle]: true };

/**
 * Callbacks from native/text for the analysis of words. A language is an index into a list of the caller, -1
 * for none.
 */
export interface NativeAnalyzer {
  /** Returns the lengths of the words in a slice without spaces; their sum is the length of the slice. */
  segment(slice: string): Uint32Array;
  /** Returns the languages that have the word as a stop word; null for a word with nothing to index. */
  expand(word: string): Uint8Array | null;
  /** Returns the 64-bit hash of each distinct term of a word or n-gram, as halves (high, low, ...). */
  hash(term: string, isGram: boolean, language: number): Uint32Array;
  /** Returns the language of a chunk with this many words and these votes per language. */
  choose(votes: Float64Array, words: number): number;
}

export interface NativeFineQuery {
  /** Upper half of the hash of each term, and its group. */
  readonly prefixes: Uint32Array;
  readonly groups: Uint32Array;
  /** Per group: the first group with the same query word. */
  readonly words: Uint32Array;
  /** Null: lexical scores only. */
  readonly vector: Float32Array | null;
  readonly lexicalWeight: number;
  readonly vectorWeight: number;
  readonly parentWeight: number;
  readonly neighborWeight: number;
  /** Maximum number of fine chunks in the order of their scores; below 2^32. */
  readonly bestMax: number;
}

export interface NativeBertOptions {
  /** Vocabulary pieces, one per line; the piece on line i has the id `ids[i]`. */
  readonly pieces: string;
  readonly ids: Int32Array;
  readonly unknown: number;
  readonly wordCharactersMax: number;
  readonly cleansText: boolean;
  readonly spacesIdeographs: boolean;
  readonly lowercases: boolean;
  readonly stripsAccents: boolean;
  readonly addedTokens: readonly {
    readonly content: string;
    readonly id: number;
    readonly stripsLeft: boolean;
    readonly stripsRight: boolean;
  }[];
}

export interface NativeText {
  /**
   * Opens the tokenizer of the built-in models; `vocabulary` has one piece per line. Throws when it is not a
   * valid vocabulary.
   */
  plainTokenizerOpen(vocabulary: string): TokenizerHandle;
  /** `source` identifies the tokenizer: two tokenizers with the same source share one instance. */
  bertTokenizerOpen(options: NativeBertOptions, source: string): TokenizerHandle;
  /** Returns the ids of all texts, concatenated; those of text i end before `ends[i]`. */
  tokenizerEncode(
    tokenizer: TokenizerHandle,
    texts: readonly string[],
  ): { ids: Int32Array; ends: Uint32Array };
  /** Returns the ids of one word as found by `wordSpans`; for plain tokenizers. */
  wordEncode(tokenizer: TokenizerHandle, word: string): Int32Array;
  /** Returns start and end of every word of a text as plain tokenizers split it, in UTF-16 units. */
  wordSpans(text: string): Uint32Array;
  wordNormalize(word: string): string;
  embeddingOpen(
    tokenizer: TokenizerHandle,
    options: {
      readonly dimensions: number;
      readonly repetitionExponent: number;
      /** Signed bytes, [vocabulary x dimensions]. */
      readonly codes: Uint8Array;
      /** [2 x vocabulary]: for queries, for documents. */
      readonly weights: Float32Array;
      /** [2 x dimensions] */
      readonly prefixes: Float32Array;
    },
  ): EmbeddingHandle;
  /**
   * Returns the stem of an English word of the letters a to z; other words are returned unchanged. Equal to Snowball
   * "english".
   */
  englishStem(word: string): string;
  /**
   * `stemming`: per language 0 (words are not stemmed), 1 (`englishStem`) or 2 (`NativeAnalyzer.hash` stems).
   * `functionWords`: words of ASCII letters, and the languages of each as `NativeAnalyzer.expand` returns them.
   */
  lexiconOpen(options: {
    readonly termUnitsMax: number;
    readonly compoundRunsMax: number;
    readonly segmenterUnitsMax: number;
    readonly stemUnitsMax: number;
    readonly entriesMax: number;
    readonly stemming: Uint8Array;
    readonly functionWords: { readonly words: readonly string[]; readonly languages: readonly Uint8Array[] };
  }): LexiconHandle;
  /**
   * Returns the terms of the rows of a document as a TermBlock, and the language used to analyze each row:
   * the language of its own words, else that of the words of `sample`, else `declared`. `fineEnds` has the
   * ends of the fine chunks of all rows in UTF-16 units, `fineCounts` their number per row; the fine chunks of
   * a row tile its text. `fineTerms`: the size of the block of each row as u32, then the blocks
   * (native/FORMAT.md).
   */
  lexiconAnalyze(
    lexicon: LexiconHandle,
    document: {
      readonly texts: readonly string[];
      readonly prefixes: readonly string[];
      readonly sample: readonly string[];
      readonly declared: number;
      readonly fineEnds: Uint32Array;
      readonly fineCounts: Uint32Array;
    },
    analyzer: NativeAnalyzer,
  ): {
    block: Uint8Array;
    languages: Int32Array;
    tokens: number;
    terms: number;
    fineTerms: Uint8Array;
  };
  /** Returns the block of fine terms that `lexiconAnalyze` returns for a row in this language. */
  lexiconFineTerms(
    lexicon: LexiconHandle,
    text: string,
    fineEnds: Uint32Array,
    language: number,
    analyzer: NativeAnalyzer,
  ): Uint8Array;
  /**
   * Scores the fine chunks of coarse chunks, which are given by their blocks of fine terms, the codes of
   * their fine chunks, and their own scores. Returns six numbers per fine chunk that is not blank, in the order
   * of the coarse chunks: the position of its coarse chunk, its index among the fine chunks of that, its lexical
   * score, similarity and score. The sixth number of row i is the row of the fine chunk that is best after i
   * others, equal scores in order; -1 from row `bestMax` on.
   */
  fineChunksScore(
    query: NativeFineQuery,
    terms: readonly Uint8Array[],
    codes: readonly Uint8Array[],
    fused: Float64Array,
  ): Float64Array;
  /**
   * Writes one row of `dimensions` floats per text to `vectors`, which must have exactly these rows, and returns the total
   * token count. Returning an object with a new array took .6 us more per query.
   */
  embeddingRun(
    embedding: EmbeddingHandle,
    texts: readonly string[],
    isQuery: boolean,
    vectors: Float32Array,
  ): number;
  /**
   * Same for document texts, each below its heading with a blank line between, plus codes
   * (models/quantization.ts) of parts of the texts: `spans` has their starts and ends in UTF-16 units,
   * ascending in each text, and `counts` the number of spans per text.
   */
  embeddingRunParts(
    embedding: EmbeddingHandle,
    headings: readonly string[],
    texts: readonly string[],
    spans: Uint32Array,
    counts: Uint32Array,
  ): { vectors: Float32Array; codes: Uint8Array; tokens: number };

  /**
   * Sets the number of threads that score documents; only effective before the first `rerankerScore` of the
   * process.
   */
  useRerankThreads(count: number): void;
  /** `embedding` must use `tokenizer`. Throws when the parts do not fit together. */
  rerankerOpen(
    tokenizer: TokenizerHandle,
    embedding: EmbeddingHandle,
    options: NativeRerankerOptions,
  ): RerankerHandle;
  /**
   * Scores documents on the rerank threads, urgent calls first; every call yields its thread to others after
   * 64,000 characters. Errors: `busy` when too many calls wait.
   */
  rerankerScore(
    reranker: RerankerHandle,
    query: string,
    documents: readonly string[],
    isUrgent: boolean,
  ): Promise<NativeRerankScores>;
  /** Returns the inputs of the network, one row per document, computed in the calling thread. */
  rerankerFeatures(reranker: RerankerHandle, query: string, documents: readonly string[]): Float32Array;
}
