import { setTimeout as wait } from 'node:timers/promises';
import { waitForAll } from '../core/async/wait-for-all.ts';
import type { Contents } from '../storage/content.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { Versions } from '../storage/versions.ts';
import { type CollectionIndex, type IndexChange, IndexError } from './collection-index.ts';

export interface ReplacementIndexOptions {
  readonly collectionId: string;
  readonly generation: number;
  readonly index: CollectionIndex;
  readonly versions: Pick<Versions, 'get'>;
  readonly contents: Pick<Contents, 'readIndexBlock'>;
  readonly sequence: Pick<Sequence, 'next'>;
}

/** A version that search answers from, or has answered from until now. */
export interface ShardVersion {
  readonly version: number;
  readonly shard: number;
}

/** Changes that are worked off at the same time. */
const catchUpConcurrencyMax = 8;
/** After how many milliseconds rows are staged again that the engine was too busy for. */
const busyRetryMs = 200;

/**
 * Shards with the vectors of another model, which nobody searches yet: they are filled with what the store says is live,
 * then brought up to date with the changes that happened meanwhile.
 */
export class ReplacementIndex {
  readonly collectionId: string;
  readonly generation: number;
  readonly index: CollectionIndex;
  /** Changes since its snapshot. */
  changesSinceSnapshot = 0;
  readonly #options: ReplacementIndexOptions;
  readonly #versions = new Set<number>();
  /** What became of versions that were added or removed meanwhile. */
  readonly #pendingChanges = new Map<number, ShardVersion & { readonly isLive: boolean }>();

  constructor(options: ReplacementIndexOptions) {
    this.#options = options;
    this.collectionId = options.collectionId;
    this.generation = options.generation;
    this.index = options.index;
  }

  /** The shards that it is to succeed have changed. */
  recordChange({ shard, add, remove }: IndexChange): void {
    if (add !== undefined) this.#pendingChanges.set(add, { version: add, shard, isLive: true });
    if (remove !== undefined) this.#pendingChanges.set(remove, { version: remove, shard, isLive: false });
  }

  /**
   * Shows a version whose vectors are stored; one that it shows is fine, and so is one that is gone: a noted change says
   * so. Waits while the shard is too busy.
   */
  async add({ version, shard }: ShardVersion, signal: AbortSignal): Promise<void> {
    const { collectionId, generation, versions, contents, sequence, index } = this.#options;
    if (this.#versions.has(version)) return;
    const record = versions.get(collectionId, version);
    const block = record === undefined ? undefined : contents.readIndexBlock(record.documentId, generation);
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

  /** Works off the changes that are noted by now. `add` makes what a version needs, and hands it to the method above. */
  async catchUp(add: (version: ShardVersion) => Promise<void>): Promise<void> {
    const all = [...this.#pendingChanges.values()];
    const work = async (change: (typeof all)[number]) => {
      if (change.isLive) await add(change);
      else this.#remove(change);
      // Unless there is news of it.
      if (this.#pendingChanges.get(change.version) === change) this.#pendingChanges.delete(change.version);
    };
    for (let i = 0; i < all.length; i += catchUpConcurrencyMax)
      await waitForAll(all.slice(i, i + catchUpConcurrencyMax).map(work));
  }

  /** Whether search has been told meanwhile not to answer from this version any more. */
  isRemoved({ version }: ShardVersion): boolean {
    return this.#pendingChanges.get(version)?.isLive === false;
  }

  /** Begins its snapshot, which covers every change so far, also in shards that have no rows. */
  snapshot(): Promise<unknown> {
    const { index, sequence } = this.#options;
    for (const { shard } of index.shards) index.commit({ sequence: sequence.next(), shard });
    this.changesSinceSnapshot = 0;
    return index.snapshot();
  }

  /** Changes that are not worked off yet. */
  get pendingCount(): number {
    return this.#pendingChanges.size;
  }

  #remove({ version, shard }: ShardVersion): void {
    if (!this.#versions.delete(version)) return;
    this.index.commit({ sequence: this.#options.sequence.next(), shard, remove: version });
    this.changesSinceSnapshot += 1;
  }
}
