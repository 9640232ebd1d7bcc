import { setTimeout as wait } from 'node:timers/promises';
import { waitForAll } from '../core/async/wait-for-all.ts';
import type { ChangeLogEntry } from '../storage/changes.ts';
import type { Contents } from '../storage/content.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { Versions } from '../storage/versions.ts';
import { type CollectionIndex, IndexError } from './collection-index.ts';

export interface ReplacementIndexOptions {
  readonly collectionId: string;
  readonly generation: number;
  readonly index: CollectionIndex;
  readonly versions: Pick<Versions, 'get'>;
  readonly contents: Pick<Contents, 'blocks'>;
  readonly sequence: Pick<Sequence, 'next'>;
}

/** A version that is live, or was live until now. */
export interface ShardVersion {
  readonly version: number;
  readonly shard: number;
}

/** Number of changes processed concurrently. */
const catchUpConcurrencyMax = 8;
/** Milliseconds before rows are staged again after the engine was busy. */
const busyRetryMs = 200;

/**
 * Shards with the vectors of another model, not searched yet: filled with the live versions of the store,
 * then brought up to date with the changes made meanwhile.
 */
export class ReplacementIndex {
  readonly collectionId: string;
  readonly generation: number;
  readonly index: CollectionIndex;
  /** Number of changes since its snapshot. */
  changesSinceSnapshot = 0;
  readonly #options: ReplacementIndexOptions;
  readonly #versions = new Set<number>();
  /** Latest recorded state of versions that were added or removed meanwhile. */
  readonly #pendingChanges = new Map<number, ShardVersion & { readonly isLive: boolean }>();

  constructor(options: ReplacementIndexOptions) {
    this.#options = options;
    this.collectionId = options.collectionId;
    this.generation = options.generation;
    this.index = options.index;
  }

  /** Records a change of the shards that this index is to replace. */
  recordChange({ shard, add, remove }: ChangeLogEntry): void {
    if (add !== undefined) this.#pendingChanges.set(add, { version: add, shard, isLive: true });
    if (remove !== undefined) this.#pendingChanges.set(remove, { version: remove, shard, isLive: false });
  }

  /**
   * Adds a version whose vectors are stored. Does nothing when it was added before, or when the version is
   * gone: a recorded change then removes it. Waits while the shard is busy.
   */
  async add({ version, shard }: ShardVersion, signal: AbortSignal): Promise<void> {
    const { collectionId, generation, versions, contents, sequence, index } = this.#options;
    if (this.#versions.has(version)) return;
    const record = versions.get(collectionId, version);
    const block =
      record === undefined ? undefined : await contents.blocks.readBlock(record.documentId, generation);
    if (record === undefined || block === undefined) return;
    const { vectors, terms } = block;
    for (;;) {
      signal.throwIfAborted();
      try {
        await index.stage({ shard, version, vectors, terms, attributes: record.metadata });
        break;
      } catch (error) {
        if (!(error instanceof IndexError) || error.code !== 'busy') throw error;
        await wait(busyRetryMs, undefined, { signal });
      }
    }
    index.commit({ sequence: sequence.next(), shard, add: version });
    this.changesSinceSnapshot += 1;
    this.#versions.add(version);
  }

  /**
   * Processes the changes recorded before the call. `add` computes the vectors of a version and passes the
   * version to the method above.
   */
  async catchUp(add: (version: ShardVersion) => Promise<void>): Promise<void> {
    const all = [...this.#pendingChanges.values()];
    const work = async (change: (typeof all)[number]) => {
      if (change.isLive) await add(change);
      else this.#remove(change);
      // Kept if a newer change of the version was recorded meanwhile.
      if (this.#pendingChanges.get(change.version) === change) this.#pendingChanges.delete(change.version);
    };
    for (let i = 0; i < all.length; i += catchUpConcurrencyMax)
      await waitForAll(all.slice(i, i + catchUpConcurrencyMax).map(work));
  }

  /** Whether the removal of this version was recorded meanwhile. */
  isRemoved({ version }: ShardVersion): boolean {
    return this.#pendingChanges.get(version)?.isLive === false;
  }

  /** Begins a snapshot that covers every change so far, even in shards without rows. */
  snapshot(): Promise<unknown> {
    const { index, sequence } = this.#options;
    for (const { shard } of index.shards) index.commit({ sequence: sequence.next(), shard });
    this.changesSinceSnapshot = 0;
    return index.snapshot();
  }

  /** Number of recorded changes not yet processed. */
  get pendingCount(): number {
    return this.#pendingChanges.size;
  }

  #remove({ version, shard }: ShardVersion): void {
    if (!this.#versions.delete(version)) return;
    this.index.commit({ sequence: this.#options.sequence.next(), shard, remove: version });
    this.changesSinceSnapshot += 1;
  }
}
