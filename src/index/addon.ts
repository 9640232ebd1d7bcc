/**
 * Loads the native library; no other file may load it. The types are the contract with `native/bridge`.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { projectRoot } from '../core/root.ts';
import type { NativeReplies } from './native-replies.ts';
import type { NativeText } from './native-text.ts';

declare const collectionHandle: unique symbol;
/**
 * Reference to an open collection; the collection closes when all references are released or garbage
 * collected.
 */
export type CollectionHandle = { readonly [collectionHandle]: true };

/** Documents of a collection that match a filter; null: all. */
export interface NativeSelection {
  readonly handle: CollectionHandle;
  readonly filter: Uint8Array | null;
}

export interface ShardOpenResult {
  readonly shard: number;
  /** Sequence of the last change in the shard's snapshot; -1 when there is no usable snapshot. */
  readonly sequence: number;
  readonly state: 'fresh' | 'loaded' | 'missing' | 'damaged';
  readonly reason: string | null;
}

export interface NativeStatistics {
  readonly rows: number;
  readonly deadRows: number;
  readonly documents: number;
  /** Compactions completed since the collection was opened. */
  readonly compactions: number;
  readonly bytes: Record<string, number>;
}

/** A query word that occurs in no row. */
export interface NativeUnknownWord {
  /** Forms of the word from which variants with changed letters are generated. */
  readonly forms: readonly string[];
  /** Terms to look up without changes. */
  readonly terms: readonly string[];
  /** Letters that may be substituted or inserted. */
  readonly letters: string;
  /** Maximum edit distance. 2: two letters may differ if no term differs by one. */
  readonly editsMax: number;
}

export interface NativeCorrection {
  /** Index of the word in the request. */
  readonly word: number;
  readonly term: string;
  readonly edits: number;
  readonly rows: number;
}

/**
 * Location of a search reply: a new reply buffer that begins with it, or its byte offset in the most recent
 * buffer. Must be decoded before the next call.
 */
export type NativeReply = ArrayBuffer | number;
/** `true`: the reply was written as JSON. */
export type SearchOutcome = NativeReply | true;

/**
 * Errors carry a `code` as defined in `native/engine/status.h`. Byte formats are those of filter.h and
 * attributes.h.
 */
export interface Addon extends NativeText, NativeReplies {
  collectionOpen(options: {
    readonly collectionId: string;
    readonly dimensions: number;
    readonly shards: number;
    readonly directory: string;
  }): Promise<{ handle: CollectionHandle; opened: ShardOpenResult[] }>;
  collectionRelease(handle: CollectionHandle): void;
  /** Returns the packed form of a TermBlock; `collectionStage` takes either. */
  termBlockPack(block: Uint8Array): Uint8Array;
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
   * `request` and the reply have the byte formats of `src/index/search-codec.ts`. A cheap search runs
   * synchronously within the call, for up to 2 ms of each event-loop iteration; a slightly more expensive
   * one only while the engine is idle. Otherwise the call returns undefined, and the reply goes to
   * `onSearchEnd` with the ticket of the request: a number that no other running search of this thread has.
   * With a specification and a buffer (`src/index/written-reply.ts`), the outcome is true if the JSON of the reply was
   * written into the buffer.
   */
  collectionSearch(
    handle: CollectionHandle,
    request: Uint8Array,
    vector: Float32Array | null,
    filter: Uint8Array | null,
    replySpec?: Float64Array,
    replyBuffer?: ArrayBuffer,
    words?: Uint32Array,
  ): SearchOutcome | undefined;
  /** Registers the callback for the outcome of searches of this thread that their call did not answer. */
  onSearchEnd(onEnd: (ticket: number, outcome: SearchOutcome | Error) => void): void;
  /** Cancels the search, which soon ends with the error `canceled`. Does nothing when the search has ended. */
  searchCancel(ticket: number): void;
  /** Names of the strategies for searching a shard, indexed by the strategy number in the reply. */
  readonly strategies: readonly string[];
  collectionList(
    handle: CollectionHandle,
    filter: Uint8Array | null,
    limit: number,
    deadlineMs: number,
  ): Promise<Float64Array>;
  /**
   * Lists the first documents of all selections in an order: `sort` has the format of src/index/sort.ts. Returns two numbers
   * for each: its version, and the position of its selection.
   */
  collectionsSortedList(
    selections: readonly NativeSelection[],
    sort: Uint8Array,
    excluded: Float64Array,
    limit: number,
    deadlineMs: number,
  ): Promise<Float64Array>;
  /** Counts documents by values: `facets` and the reply have the formats of src/index/facets.ts. */
  collectionsFacets(
    selections: readonly NativeSelection[],
    facets: Uint8Array,
    excluded: Float64Array,
    deadlineMs: number,
  ): Promise<Buffer>;
  collectionCount(handle: CollectionHandle, filter: Uint8Array | null): number;
  /** Whether each word, or one of its alternatives, occurs in some row. `request` as for a search. */
  collectionHasWords(handle: CollectionHandle, request: Uint8Array): boolean;
  /**
   * Returns the number of rows that contain each term, including rows of removed documents not yet compacted
   * away.
   */
  collectionTermRows(handle: CollectionHandle, hashes: BigUint64Array): Float64Array;
  /** Returns candidate corrections for unknown words, grouped by word, most frequent term first. */
  collectionCorrections(
    handle: CollectionHandle,
    words: readonly NativeUnknownWord[],
    deadlineMs: number,
  ): Promise<NativeCorrection[]>;
  collectionSnapshot(handle: CollectionHandle): Promise<{ sequence: number; bytes: number }>;
  collectionStatistics(handle: CollectionHandle): NativeStatistics;
  collectionDrop(handle: CollectionHandle): Promise<void>;
  /**
   * Sets the number of search threads of the engine; only effective before the first collection of the
   * process is opened.
   */
  useSearchThreads(count: number): void;
  /**
   * Selects the instruction set of all collections, or `auto`; only effective before the first collection of
   * the process is opened. Returns false and changes nothing when this processor cannot run it.
   */
  useKernels(name: string): boolean;
  /** Returns the values that `useKernels` accepts on this processor, except `auto`. */
  supportedKernels(): string[];
  /**
   * Sets the target recall of searches (share of the nearest rows found); applies to calibrations from now
   * on.
   */
  useSearchRecall(share: number): void;
  /**
   * Sets the target memory limit of the process; a compaction that needs much more than the remaining memory
   * is deferred.
   */
  useMemoryBytesMax(bytes: number): void;
  /** Returns free memory held by the allocator to the operating system. */
  releaseFreeMemory(): Promise<void>;
  /** Number of compactions of all collections that are deferred until there is enough memory. */
  deferredCompactions(): number;
  /** Number of searches, listings and staging calls of all collections waiting for an engine thread. */
  queuedCalls(): number;
  /**
   * Sets the receive buffer, in bytes, of the sockets of this process that listen on a TCP port; connections
   * accepted later have the same. Returns the number of sockets found.
   */
  limitReceiveBuffers(port: number, bytes: number): number;
  /** Sends a datagram to a Unix socket without blocking, which Node.js cannot. Throws with the reason of the system. */
  sendUnixDatagram(address: string, message: string): void;
}

/** A build in the project is preferred to the package with the prebuilt addon. */
function loadAddon(): Addon {
  const require = createRequire(import.meta.url);
  const built = join(projectRoot, 'build/Release/quarry.node');
  return require(existsSync(built) ? built : `@quarry/native-${process.platform}-${process.arch}`) as Addon;
}

export const addon: Addon = loadAddon();
