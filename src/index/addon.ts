/** The one file that loads the native library. Its types are the contract with `native/bridge/addon.cc`. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { projectRoot } from '../core/root.ts';

declare const collectionHandle: unique symbol;
/** A hold on an open collection; the collection closes when all holds are released or collected. */
export type CollectionHandle = { readonly [collectionHandle]: true };

export interface ShardOpenResult {
  readonly shard: number;
  /** The last change that the shard's snapshot holds; -1 when nothing is usable. */
  readonly sequence: number;
  readonly state: 'fresh' | 'loaded' | 'missing' | 'damaged';
  readonly reason: string | null;
}

export interface NativeStatistics {
  readonly rows: number;
  readonly deadRows: number;
  readonly documents: number;
  /** Compactions that have ended since it was opened. */
  readonly compactions: number;
  readonly bytes: Record<string, number>;
}

/** A word that no row has. */
export interface NativeUnknownWord {
  /** Forms of it to change by a letter. */
  readonly forms: readonly string[];
  /** Terms to look for as they are. */
  readonly terms: readonly string[];
  /** That a changed or added letter may be. */
  readonly letters: string;
  /** 2: two letters may differ where no term differs by one. */
  readonly editsMax: number;
}

export interface NativeSpelling {
  /** Number of the word. */
  readonly word: number;
  readonly term: string;
  readonly edits: number;
  readonly rows: number;
}

declare const tokenizerHandle: unique symbol;
/** A tokenizer; equal ones are one in memory, whatever thread opened them. */
export type TokenizerHandle = { readonly [tokenizerHandle]: true };

declare const embeddingHandle: unique symbol;
/** A static embedding; equal ones are one in memory, whatever thread opened them. */
export type EmbeddingHandle = { readonly [embeddingHandle]: true };

declare const lexiconHandle: unique symbol;
/** Remembered words of one thread. */
export type LexiconHandle = { readonly [lexiconHandle]: true };

/** What native/text asks about words; languages are positions in a list of the caller's, -1 is none. */
export interface NativeAnalyzer {
  /** Lengths of the words of a slice without spaces; they add up to it. */
  segment(slice: string): Uint32Array;
  /** Languages that have the word as a function word; null for a word with nothing to index. */
  expand(word: string): Uint8Array | null;
  /** Halves (high, low, ...) of the hash of each distinct term of a word or gram. */
  hash(term: string, isGram: boolean, language: number): Uint32Array;
  /** The language of a passage of that many words with these votes. */
  choose(votes: Float64Array, words: number): number;
}

export interface NativeBertOptions {
  /** Pieces, one a line; the piece of line i has the id `ids[i]`. */
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

/**
 * Where a reply to a search lies: a new page of replies that begins with it, or its place in bytes in the page that came
 * last. To be looked up before the next call.
 */
export type NativeReply = ArrayBuffer | number;

/** Errors carry a `code`: the words of `native/engine/status.h`. Byte formats are those of filter.h and attributes.h. */
export interface Addon {
  collectionOpen(options: {
    readonly collectionId: string;
    readonly dimensions: number;
    readonly shards: number;
    readonly directory: string;
  }): Promise<{ handle: CollectionHandle; opened: ShardOpenResult[] }>;
  collectionRelease(handle: CollectionHandle): void;
  collectionStage(
    handle: CollectionHandle,
    shard: number,
    version: number,
    vectors: Float32Array,
    terms: Uint8Array,
    attributes: Uint8Array,
  ): Promise<void>;
  collectionDiscard(handle: CollectionHandle, shard: number, version: number): void;
  collectionCommit(
    handle: CollectionHandle,
    sequence: number,
    shard: number,
    add: number | undefined,
    remove: number | undefined,
  ): void;
  /**
   * `request` and the answer are the bytes of `src/index/search-codec.ts`. A cheap search is run by the call itself,
   * for up to 2 ms of each turn of the event loop; one that takes a little more, while the engine is idle. Otherwise
   * the answer is undefined and goes to `onSearchEnd`, with the ticket of the request: a number that no other search of
   * this thread that still runs has.
   */
  collectionSearch(
    handle: CollectionHandle,
    request: Uint8Array,
    vector: Float32Array | null,
    filter: Uint8Array | null,
  ): NativeReply | undefined;
  /** Has `ended` told what becomes of the searches of this thread that were not answered by their call. */
  onSearchEnd(onEnd: (ticket: number, outcome: NativeReply | Error) => void): void;
  /** Ends the search soon, with the error `cancelled`; does nothing when it has ended. */
  searchCancel(ticket: number): void;
  /** Names of the ways to search a shard, by their numbers in the answer. */
  readonly strategies: readonly string[];
  collectionList(
    handle: CollectionHandle,
    filter: Uint8Array | null,
    limit: number,
    deadlineMs: number,
  ): Promise<Float64Array>;
  collectionCount(handle: CollectionHandle, filter: Uint8Array | null): number;
  /** Whether some row has each word, or one of its alternatives; `request` as for a search. */
  collectionHasWords(handle: CollectionHandle, request: Uint8Array): boolean;
  /** In how many rows each term is, with those of removed documents that are still there. */
  collectionTermRows(handle: CollectionHandle, hashes: BigUint64Array): Float64Array;
  /** Terms that unknown words may stand for, by word, those in most rows first. */
  collectionSpellings(
    handle: CollectionHandle,
    words: readonly NativeUnknownWord[],
    deadlineMs: number,
  ): Promise<NativeSpelling[]>;
  collectionSnapshot(handle: CollectionHandle): Promise<{ sequence: number; bytes: number }>;
  collectionStatistics(handle: CollectionHandle): NativeStatistics;
  collectionDrop(handle: CollectionHandle): Promise<void>;
  /** Threads of the engine that search; counts only before the first collection of the process is opened. */
  useSearchThreads(count: number): void;
  /**
   * The instructions that all collections compute with, or `auto`; counts only before the first collection of the
   * process is opened. False, and nothing is chosen, when this processor cannot run them.
   */
  useKernels(name: string): boolean;
  /** What `useKernels` takes on this processor besides `auto`. */
  runnableKernels(): string[];
  /** Share of the nearest rows that searches should find; counts for what is measured from now on. */
  useSearchRecall(share: number): void;
  /** What the process should hold at most; a compaction that needs much more than is left is put off. */
  useMemoryBytesMax(bytes: number): void;
  /** Gives memory back to the system that the allocator keeps although it is free. */
  releaseFreeMemory(): Promise<void>;
  /** Compactions of all collections that are put off until there is memory for them. */
  compactionsPutOff(): number;
  /** Searches, listings and stagings of all collections that wait for a thread of the engine. */
  waiting(): number;

  /** The tokenizer of the built-in models; its pieces one a line. Throws when they are no vocabulary. */
  plainTokenizerOpen(vocabulary: string): TokenizerHandle;
  /** `source` tells tokenizers apart: two with the same source are one. */
  bertTokenizerOpen(options: NativeBertOptions, source: string): TokenizerHandle;
  /** All ids of all texts; those of text i end before `ends[i]`. */
  tokenizerEncode(
    tokenizer: TokenizerHandle,
    texts: readonly string[],
  ): { ids: Int32Array; ends: Uint32Array };
  /** Ids of one word as `wordSpans` finds it; for plain tokenizers. */
  wordEncode(tokenizer: TokenizerHandle, word: string): Int32Array;
  /** Start and end of every word of a text as plain tokenizers see it, in UTF-16 units. */
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
  lexiconOpen(limits: {
    readonly termUnitsMax: number;
    readonly compoundRunsMax: number;
    readonly segmenterUnitsMax: number;
    readonly entriesMax: number;
    readonly languages: number;
  }): LexiconHandle;
  /**
   * Terms of the rows of a document as a TermBlock, and the language each row was analysed in: that of its words, else
   * that of the words of `sample`, else `declared`.
   */
  lexiconAnalyze(
    lexicon: LexiconHandle,
    document: {
      readonly texts: readonly string[];
      readonly prefixes: readonly string[];
      readonly sample: readonly string[];
      readonly declared: number;
    },
    analyzer: NativeAnalyzer,
  ): { block: Uint8Array; languages: Int32Array; tokens: number; terms: number };
  /** One row of `dimensions` floats per text, and the tokens of all. */
  embeddingRun(
    embedding: EmbeddingHandle,
    texts: readonly string[],
    isQuery: boolean,
  ): { vectors: Float32Array; tokens: number };
  /**
   * The same of texts of documents, each below its heading with a blank line between, and codes (models/quantization.ts) of
   * parts of the texts: `spans` has their starts and ends in UTF-16 units, ascending in each text, and `counts` how many
   * each text has.
   */
  embeddingRunParts(
    embedding: EmbeddingHandle,
    headings: readonly string[],
    texts: readonly string[],
    spans: Uint32Array,
    counts: Uint32Array,
  ): { vectors: Float32Array; codes: Uint8Array; tokens: number };
}

export const addon: Addon = createRequire(import.meta.url)(join(projectRoot, 'build/Release/quarry.node'));
