import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { ChangeLogEntry } from '../storage/changes.ts';
import {
  addon,
  type CollectionHandle,
  type NativeCorrection,
  type NativeStatistics,
  type NativeUnknownWord,
  type ShardOpenResult,
} from './addon.ts';
import {
  encodeAttributes,
  encodeMilliseconds,
  encodeOptionalFilter,
  type FilterNode,
  type IndexValue,
} from './encoding.ts';
import type { FacetCount, FacetResult } from './facets.ts';
import { IndexError, toIndexError } from './index-error.ts';
import { countFacets, type IndexSelection, listSorted } from './index-selection.ts';
import { cancelSearches, decodeOutcome, nextTicket, trackSearch } from './running-searches.ts';
import { encodeQuery, encodeTerms, type IndexHits } from './search-codec.ts';
import type { SortedListing } from './sort.ts';
import { encodeReplySpec, type ReplySpec, takeReplyBuffer, WrittenReply } from './written-reply.ts';

export type { FilterNode } from './encoding.ts';
export { IndexError } from './index-error.ts';
export type { IndexHits } from './search-codec.ts';

/** One version of a document, ready to be staged. */
export interface StagedDocument {
  readonly shard: number;
  readonly version: number;
  /** [rows x dimensions], each row of unit length. */
  readonly vectors: Float32Array;
  /** TermBlock with the same number of rows; see src/text/terms.ts. */
  readonly terms: Uint8Array;
  readonly attributes: Readonly<Record<string, IndexValue>>;
}

export interface IndexQuery {
  /** `dimensions` floats of unit length; null for lexical search only. */
  readonly vector: Float32Array | null;
  /**
   * Terms of one group are alternatives of one query word: a row scores the best of them, with their common
   * inverse document frequency.
   */
  readonly terms: readonly { readonly hash: bigint; readonly weight: number; readonly group: number }[];
  readonly filter: FilterNode | null;
  readonly vectorCandidates: number;
  readonly lexicalCandidates: number;
  /**
   * Size of the candidate list in each shard's graph (ef); larger is slower and finds more. Default: the
   * calibrated value that reaches the target recall in this collection, see `useSearchRecall`.
   */
  readonly ef?: number;
  /** Milliseconds from now. */
  readonly deadlineMs: number;
  readonly caller?: CancellationToken;
}

export type IndexStatistics = NativeStatistics;

interface OpenIndexOptions {
  readonly collectionId: string;
  readonly dimensions: number;
  readonly shards: number;
  readonly directory: string;
  /** Called when the file of a shard was truncated or is unreadable; the index must be opened again. */
  readonly onDamaged?: (error: IndexError, index: CollectionIndex) => void;
}
type OnDamaged = OpenIndexOptions['onDamaged'];

function callNative<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw toIndexError(error);
  }
}

/**
 * The search index of one collection. All threads of the process that open the same collection share one copy
 * in memory; the collection closes when the last of them closes it.
 *
 * A search sees a consistent state of all shards: every commit made before the call and none made after it.
 */
export class CollectionIndex {
  readonly shards: readonly ShardOpenResult[];
  readonly #handle: CollectionHandle;
  readonly #onDamaged: OnDamaged;
  readonly #pending = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;
  #commits = 0;

  private constructor(handle: CollectionHandle, shards: readonly ShardOpenResult[], onDamaged: OnDamaged) {
    this.#handle = handle;
    this.shards = shards;
    this.#onDamaged = onDamaged;
  }

  /**
   * Loads the snapshots in `directory`, which must be used by this collection only. A damaged or missing
   * shard starts empty and is reported in `shards`. Afterwards the caller must replay newer changes, or
   * rebuild such shards, in ascending sequence, and must not take a snapshot before that is finished.
   */
  static async open({ onDamaged, ...options }: OpenIndexOptions): Promise<CollectionIndex> {
    try {
      const { handle, opened } = await addon.collectionOpen(options);
      return new CollectionIndex(handle, opened, onDamaged);
    } catch (error) {
      throw toIndexError(error);
    }
  }

  /**
   * Sets the number of search threads of the process; call it before the first collection is opened. Default:
   * one per core.
   */
  static useSearchThreads(count: number): void {
    addon.useSearchThreads(count);
  }

  /**
   * Selects the instruction set of the process; call it before the first collection is opened. Default: the
   * fastest that this processor supports. Errors: `invalid` if the processor does not support it.
   */
  static useKernels(name: string): void {
    if (addon.useKernels(name)) return;
    const runnable = CollectionIndex.supportedKernels().join(', ');
    throw new AppError(
      'invalid',
      `QUARRY_ENGINE_KERNELS is ${name}, but this processor supports only ${runnable}. Use auto to select the fastest.`,
    );
  }

  /** Returns the values that `useKernels` accepts on this processor, the fastest last. */
  static supportedKernels(): readonly string[] {
    return addon.supportedKernels();
  }

  /**
   * Sets the target recall (share of the nearest rows that searches find), above 0 and below 1; default 0.99.
   * The required search width (ef) is calibrated on each collection while the engine is idle; until then a
   * conservative estimate applies.
   */
  static useSearchRecall(share: number): void {
    assert(share > 0 && share < 1, 'the recall is between 0 and 1');
    addon.useSearchRecall(share);
  }

  /**
   * Sets the target memory limit of the process. A compaction that needs more than the remaining memory, and
   * more than an eighth of the limit, is deferred until there is enough memory. Default: no compaction is
   * deferred.
   */
  static useMemoryBytesMax(bytes: number): void {
    addon.useMemoryBytesMax(bytes);
  }

  /** Returns freed memory that the process still holds, of the engine or other code, to the operating system. */
  static async releaseFreeMemory(): Promise<void> {
    try {
      await addon.releaseFreeMemory();
    } catch (error) {
      throw toIndexError(error);
    }
  }

  /** Number of compactions of all collections of the process that are deferred until there is enough memory. */
  static deferredCompactions(): number {
    return addon.deferredCompactions();
  }

  /**
   * Number of searches, listings and staging calls of all collections of the process waiting for an engine
   * thread.
   */
  static queuedCalls(): number {
    return addon.queuedCalls();
  }

  /**
   * Adds the rows, invisible to search. Staging a version again replaces its staged rows. Error `busy`: too
   * much is waiting, or the shard is being compacted; the same call succeeds later.
   */
  async stage(document: StagedDocument): Promise<void> {
    const { shard, version, vectors, terms, attributes } = document;
    await this.#runOperation(() =>
      addon.collectionStage(this.#handle, shard, version, vectors, terms, encodeAttributes(attributes)),
    );
  }

  /** Discards a staged version. Does nothing when the version is not staged. */
  discard(shard: number, version: number): void {
    this.#assertOpen();
    callNative(() => addon.collectionDiscard(this.#handle, shard, version));
  }

  /**
   * Publishes a change atomically: searches that start afterwards see `add` and not `remove`, earlier ones
   * the opposite. `add` must be staged; removing an unknown version does nothing. Sequences must not
   * decrease.
   */
  commit(change: ChangeLogEntry): void {
    this.#assertOpen();
    this.#commits += 1;
    callNative(() =>
      addon.collectionCommit(this.#handle, change.sequence, change.shard, change.add, change.remove),
    );
  }

  /** Number of commits since the index was opened. */
  get commits(): number {
    return this.#commits;
  }

  /**
   * Returns the best `vectorCandidates` rows by cosine and the best `lexicalCandidates` rows by BM25, with
   * both scores for each.
   */
  async search(query: IndexQuery): Promise<IndexHits> {
    const result = await this.#search(query, null);
    assert(!(result instanceof WrittenReply), 'a search without a specification returns hits');
    return result;
  }

  /**
   * Same as `search`, but returns the JSON of the reply instead if all of its parts are cached (`ReplyParts`) and no
   * deeper search can change it.
   */
  async searchAndWrite(query: IndexQuery, spec: ReplySpec): Promise<IndexHits | WrittenReply> {
    return this.#search(query, spec);
  }

  async #search(query: IndexQuery, spec: ReplySpec | null): Promise<IndexHits | WrittenReply> {
    this.#assertOpen();
    const { caller, filter } = query;
    if (caller?.isCanceled === true) throw new IndexError('canceled', 'the search was canceled');
    assert(query.deadlineMs >= 0, 'the deadline of a search is not negative');
    const ticket = nextTicket();
    const bytes = encodeOptionalFilter(filter);
    const buffer = spec === null ? null : takeReplyBuffer();
    try {
      const outcome = callNative(() => {
        const request = encodeQuery(query, ticket);
        return spec === null || buffer === null
          ? addon.collectionSearch(this.#handle, request, query.vector, bytes)
          : addon.collectionSearch(
              this.#handle,
              request,
              query.vector,
              bytes,
              encodeReplySpec(spec),
              buffer,
              spec.fine?.words,
            );
      });
      if (outcome !== undefined) return decodeOutcome(outcome, buffer);
      // Canceling a search that has ended does nothing.
      caller?.onCanceled(() => addon.searchCancel(ticket));
      return await trackSearch(ticket, this, buffer);
    } catch (error) {
      this.reportDamage(error);
      throw error;
    }
  }

  /** Returns matching versions, at most `limit`, in any order. */
  async list(filter: FilterNode | null, limit: number, deadlineMs = 0xffffffff): Promise<Float64Array> {
    return this.#runOperation(() =>
      addon.collectionList(this.#handle, encodeOptionalFilter(filter), limit, encodeMilliseconds(deadlineMs)),
    );
  }

  /** Returns the documents that match a filter. */
  select(filter: FilterNode | null): IndexSelection[] {
    return [{ filter, run: (start) => this.#runOperation(() => start(this.#handle)) }];
  }

  /** Returns the first matching versions in an order, at most `limit`. */
  async listSorted(
    { filter, ...listing }: SortedListing,
    limit: number,
    deadlineMs = 0xffffffff,
  ): Promise<Float64Array> {
    const listed = await listSorted(this.select(filter), listing, limit, deadlineMs);
    return Float64Array.from(listed, ({ version }) => version);
  }

  /** Counts the documents that match a filter by values. */
  countFacets({ filter, ...count }: FacetCount, deadlineMs = 0xffffffff): Promise<FacetResult[]> {
    return countFacets(this.select(filter), count, deadlineMs);
  }

  /** Returns the number of matching versions. */
  count(filter: FilterNode | null): number {
    this.#assertOpen();
    return callNative(() => addon.collectionCount(this.#handle, encodeOptionalFilter(filter)));
  }

  /**
   * Whether each word of a query occurs in some row; rows of removed documents count until they are compacted
   * away.
   */
  hasWords(terms: IndexQuery['terms']): boolean {
    this.#assertOpen();
    return callNative(() => addon.collectionHasWords(this.#handle, encodeTerms(terms)));
  }

  /**
   * Returns the number of rows that contain each term; rows of removed documents count until they are
   * compacted away.
   */
  countRowsOfTerms(hashes: readonly bigint[]): Float64Array {
    this.#assertOpen();
    return callNative(() => addon.collectionTermRows(this.#handle, BigUint64Array.from(hashes)));
  }

  /**
   * Returns candidate corrections for words that occur in no row: with the fewest edits, grouped by word,
   * most frequent first.
   */
  async findCorrections(
    words: readonly NativeUnknownWord[],
    deadlineMs: number,
  ): Promise<NativeCorrection[]> {
    return this.#runOperation(() =>
      addon.collectionCorrections(this.#handle, words, Math.max(1, Math.ceil(deadlineMs))),
    );
  }

  /**
   * Writes the shards that changed or were compacted since the last snapshot. Afterwards every change up to
   * `sequence` is durable (-1: there was no change); `bytes` is the amount written by this call.
   */
  async snapshot(): Promise<{ sequence: number; bytes: number }> {
    return this.#runOperation(() => addon.collectionSnapshot(this.#handle));
  }

  /** Returns visible rows and documents, rows of removed versions not yet compacted away, and memory by part. */
  statistics(): IndexStatistics {
    this.#assertOpen();
    return callNative(() => addon.collectionStatistics(this.#handle));
  }

  /** Closes the collection for all threads and deletes its files. */
  async drop(): Promise<void> {
    await this.#runOperation(() => addon.collectionDrop(this.#handle));
    await this.close();
  }

  /** Cancels running searches and waits for other operations. May be called at any time. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#closeNow();
    return this.#closing;
  }

  /** Calls `onDamaged` if the error means that the file of a shard is damaged. */
  reportDamage(error: unknown): void {
    if (error instanceof IndexError && error.code === 'damaged') this.#onDamaged?.(error, this);
  }

  async #closeNow(): Promise<void> {
    await cancelSearches(this);
    await Promise.allSettled(this.#pending);
    addon.collectionRelease(this.#handle);
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new IndexError('closed', 'the collection is closed');
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
      this.reportDamage(indexError);
      throw indexError;
    } finally {
      if (pending !== undefined) this.#pending.delete(pending);
    }
  }
}
