import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import type { CancellationToken } from '../core/async/cancellation-token.ts';
import {
  addon,
  type CollectionHandle,
  type NativeSpelling,
  type NativeStatistics,
  type NativeUnknownWord,
  type ShardOpenResult,
} from './addon.ts';
import { encodeAttributes, encodeFilter, type FilterNode } from './encoding.ts';
import { IndexError, toIndexError } from './index-error.ts';
import { cancelSearches, nextTicket, trackSearch } from './running-searches.ts';
import { decodeReply, encodeQuery, encodeTerms, type IndexHits } from './search-codec.ts';

export type { FilterNode } from './encoding.ts';
export { IndexError } from './index-error.ts';
export type { IndexHits } from './search-codec.ts';

/** One version of a document, ready to be added. */
export interface StagedDocument {
  readonly shard: number;
  readonly version: number;
  /** rows x dimensions, each row of unit length. */
  readonly vectors: Float32Array;
  /** TermBlock of as many rows; see src/text/terms.ts. */
  readonly terms: Uint8Array;
  readonly attributes: Readonly<Record<string, string | readonly string[]>>;
}

export interface IndexChange {
  readonly sequence: number;
  readonly shard: number;
  readonly add?: number;
  readonly remove?: number;
}

export interface IndexQuery {
  /** `dimensions` floats of unit length; null: lexical only. */
  readonly vector: Float32Array | null;
  /** Terms of one group are alternatives of one query word: a row counts the best of them, at their common rarity. */
  readonly terms: readonly { readonly hash: bigint; readonly weight: number; readonly group: number }[];
  readonly filter: FilterNode | null;
  readonly vectorCandidates: number;
  readonly lexicalCandidates: number;
  /**
   * Rows that each shard's graph keeps in view (ef); more is slower and finds more. Default: what finds the wanted
   * share of the nearest rows in this collection, see `useSearchRecall`.
   */
  readonly ef?: number;
  /** Milliseconds from now. */
  readonly deadlineMs: number;
  readonly caller?: CancellationToken;
}

export type IndexStatistics = NativeStatistics;

function callNative<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw toIndexError(error);
  }
}

/**
 * The searchable side of one collection. Every thread of the process that opens the same collection shares one
 * copy in memory; the collection closes when the last of them does.
 *
 * A search sees the state of one instant in all shards: every commit made before it was called and none after.
 */
export class CollectionIndex {
  readonly shards: readonly ShardOpenResult[];
  /** Told when the file of a shard was cut off or cannot be read any more; the index has to be opened again. */
  onDamaged: ((error: IndexError) => void) | null = null;
  readonly #handle: CollectionHandle;
  readonly #pending = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;

  private constructor(handle: CollectionHandle, shards: readonly ShardOpenResult[]) {
    this.#handle = handle;
    this.shards = shards;
  }

  /**
   * Loads the snapshots of `directory`, which belongs to this collection alone. A damaged or missing shard starts
   * empty and says so in `opened`. Afterwards the caller replays newer changes, or rebuilds such shards, in
   * ascending sequence, and takes no snapshot before that is finished.
   */
  static async open(options: {
    collectionId: string;
    dimensions: number;
    shards: number;
    directory: string;
  }): Promise<CollectionIndex> {
    try {
      const { handle, opened } = await addon.collectionOpen(options);
      return new CollectionIndex(handle, opened);
    } catch (error) {
      throw toIndexError(error);
    }
  }

  /** How many threads of the process search; say it before the first collection is opened. Default: one per core. */
  static useSearchThreads(count: number): void {
    addon.useSearchThreads(count);
  }

  /**
   * Which instructions the process computes with; say it before the first collection is opened. Default: the fastest
   * that this processor has. An AppError when it does not have these.
   */
  static useKernels(name: string): void {
    if (addon.useKernels(name)) return;
    const runnable = CollectionIndex.runnableKernels().join(', ');
    throw new AppError(
      'invalid',
      `The setting engineKernels is ${name}, but this processor runs only ${runnable}; auto takes the fastest of them.`,
    );
  }

  /** What `useKernels` takes on this processor, the fastest last. */
  static runnableKernels(): readonly string[] {
    return addon.runnableKernels();
  }

  /**
   * Share of the nearest rows that searches should find, above 0 and below 1; default .99. How widely the graphs have
   * to be searched for it is measured on each collection, when nobody searches or stages for a while; until then a
   * careful guess stands in.
   */
  static useSearchRecall(share: number): void {
    assert(share > 0 && share < 1, 'a recall lies between 0 and 1');
    addon.useSearchRecall(share);
  }

  /**
   * What the process should hold at most. A compaction that needs more than is left, and more than an eighth of it, is
   * put off until there is room; by default none is.
   */
  static useMemoryBytesMax(bytes: number): void {
    addon.useMemoryBytesMax(bytes);
  }

  /** Gives memory back to the system that was freed, by the engine or others, and that the process still holds. */
  static async releaseFreeMemory(): Promise<void> {
    try {
      await addon.releaseFreeMemory();
    } catch (error) {
      throw toIndexError(error);
    }
  }

  /** Compactions of all collections of the process that are put off until there is memory for them. */
  static deferredCompactions(): number {
    return addon.compactionsPutOff();
  }

  /** Searches, listings and stagings of all collections of the process that wait for a thread of the engine. */
  static queuedCalls(): number {
    return addon.waiting();
  }

  /**
   * Adds the rows, invisible. Staging a version again replaces what was staged before. `busy` means that too much is
   * waiting or arrives while the shard is being compacted: the same call succeeds later.
   */
  async stage(document: StagedDocument): Promise<void> {
    const { shard, version, vectors, terms, attributes } = document;
    await this.#runOperation(() =>
      addon.collectionStage(this.#handle, shard, version, vectors, terms, encodeAttributes(attributes)),
    );
  }

  /** Forgets a staged version; one that is not staged is fine. */
  discard(shard: number, version: number): void {
    this.#assertOpen();
    callNative(() => addon.collectionDiscard(this.#handle, shard, version));
  }

  /**
   * One atomic step: searches that start afterwards see `add` and no `remove`, earlier ones the opposite. `add` must
   * have been staged; removing an unknown version does nothing. Sequences never decrease.
   */
  commit(change: IndexChange): void {
    this.#assertOpen();
    callNative(() =>
      addon.collectionCommit(this.#handle, change.sequence, change.shard, change.add, change.remove),
    );
  }

  /** The best `vectorCandidates` by cosine and the best `lexicalCandidates` by BM25, both scores for each. */
  async search(query: IndexQuery): Promise<IndexHits> {
    this.#assertOpen();
    const { caller, vector, filter } = query;
    if (caller?.isCanceled === true) throw new IndexError('cancelled', 'the search was cancelled');
    assert(query.deadlineMs >= 0, 'a search has a deadline that is not negative');
    const ticket = nextTicket();
    const request = encodeQuery(query, ticket);
    const bytes = filter === null ? null : encodeFilter(filter);
    try {
      const reply = callNative(() => addon.collectionSearch(this.#handle, request, vector, bytes));
      if (reply !== undefined) return decodeReply(reply);
      // Cancelling a search that has ended does nothing.
      caller?.onCanceled(() => addon.searchCancel(ticket));
      return await trackSearch(ticket, this);
    } catch (error) {
      this.#reportDamage(error);
      throw error;
    }
  }

  /** Versions that match, at most `limit`, in any order. */
  async list(filter: FilterNode | null, limit: number, deadlineMs = 0xffffffff): Promise<Float64Array> {
    const bytes = filter === null ? null : encodeFilter(filter);
    return this.#runOperation(() =>
      addon.collectionList(this.#handle, bytes, limit, Math.max(0, Math.ceil(deadlineMs))),
    );
  }

  /** How many versions match. */
  count(filter: FilterNode | null): number {
    this.#assertOpen();
    return callNative(() =>
      addon.collectionCount(this.#handle, filter === null ? null : encodeFilter(filter)),
    );
  }

  /** Whether some row has each word of a query; rows of removed documents count until they are compacted away. */
  hasWords(terms: IndexQuery['terms']): boolean {
    this.#assertOpen();
    return callNative(() => addon.collectionHasWords(this.#handle, encodeTerms(terms)));
  }

  /** In how many rows each term is; rows of removed documents count until they are compacted away. */
  countRowsOfTerms(hashes: readonly bigint[]): Float64Array {
    this.#assertOpen();
    return callNative(() => addon.collectionTermRows(this.#handle, BigUint64Array.from(hashes)));
  }

  /** Terms that words may stand for which no row has: of the fewest edits, by word, those in most rows first. */
  async findSpellings(words: readonly NativeUnknownWord[], deadlineMs: number): Promise<NativeSpelling[]> {
    return this.#runOperation(() =>
      addon.collectionSpellings(this.#handle, words, Math.max(1, Math.ceil(deadlineMs))),
    );
  }

  /**
   * Writes the shards that changed or were compacted since the last time. Afterwards every change up to `sequence` is on
   * disk (-1: there was none); `bytes` is what this call wrote.
   */
  async snapshot(): Promise<{ sequence: number; bytes: number }> {
    return this.#runOperation(() => addon.collectionSnapshot(this.#handle));
  }

  /** Visible rows and documents, rows of removed versions not yet compacted away, and memory by part. */
  statistics(): IndexStatistics {
    this.#assertOpen();
    return callNative(() => addon.collectionStatistics(this.#handle));
  }

  /** Closes the collection for all threads and deletes its files. */
  async drop(): Promise<void> {
    await this.#runOperation(() => addon.collectionDrop(this.#handle));
    await this.close();
  }

  /** Running searches are cancelled, other operations end first. May be called at any moment, any number of times. */
  close(): Promise<void> {
    this.#closing ??= this.#closeNow();
    return this.#closing;
  }

  async #closeNow(): Promise<void> {
    await cancelSearches(this);
    await Promise.allSettled(this.#pending);
    addon.collectionRelease(this.#handle);
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new IndexError('closed', 'the collection is closed');
  }

  #reportDamage(error: unknown): void {
    if (error instanceof IndexError && error.code === 'damaged') this.onDamaged?.(error);
  }

  async #runOperation<T>(start: () => Promise<T>): Promise<T> {
    this.#assertOpen();
    let pending: Promise<T> | undefined;
    try {
      pending = start();
      this.#pending.add(pending);
      return await pending;
    } catch (error) {
      const indexError = toIndexError(error);
      this.#reportDamage(indexError);
      throw indexError;
    } finally {
      if (pending !== undefined) this.#pending.delete(pending);
    }
  }
}
