import { setTimeout as wait } from 'node:timers/promises';
import { type CollectionIndex, type IndexChange, IndexError } from '../engine/collection-index.ts';
import type { Contents } from '../store/content.ts';
import type { Sequence } from '../store/sequence.ts';
import type { Versions } from '../store/versions.ts';
import { allDone } from './all-done.ts';

export interface SuccessorOptions {
  readonly collectionId: string;
  readonly generation: number;
  readonly index: CollectionIndex;
  readonly versions: Pick<Versions, 'get'>;
  readonly contents: Pick<Contents, 'indexBlock'>;
  readonly sequence: Pick<Sequence, 'next'>;
}

/** A version that search answers from, or has answered from until now. */
export interface NotedVersion {
  readonly version: number;
  readonly shard: number;
}

/** Changes that are worked off at the same time. */
const atOnce = 8;
/** After how many milliseconds rows are staged again that the engine was too busy for. */
const busyRetryMs = 200;

/**
 * Shards with the vectors of another model, which nobody searches yet: they are filled with what the store says is live,
 * then brought up to date with the changes that happened meanwhile.
 */
export class Successor {
  readonly collectionId: string;
  readonly generation: number;
  readonly index: CollectionIndex;
  /** Changes since its snapshot. */
  changed = 0;
  readonly #options: SuccessorOptions;
  readonly #held = new Set<number>();
  /** What became of versions that were added or removed meanwhile. */
  readonly #noted = new Map<number, NotedVersion & { readonly isLive: boolean }>();

  constructor(options: SuccessorOptions) {
    this.#options = options;
    this.collectionId = options.collectionId;
    this.generation = options.generation;
    this.index = options.index;
  }

  /** The shards that it is to succeed have changed. */
  note({ shard, add, remove }: IndexChange): void {
    if (add !== undefined) this.#noted.set(add, { version: add, shard, isLive: true });
    if (remove !== undefined) this.#noted.set(remove, { version: remove, shard, isLive: false });
  }

  /**
   * Shows a version whose vectors are stored; one that it shows is fine, and so is one that is gone: a noted change says
   * so. Waits while the shard is too busy.
   */
  async add({ version, shard }: NotedVersion, signal: AbortSignal): Promise<void> {
    const { collectionId, generation, versions, contents, sequence, index } = this.#options;
    if (this.#held.has(version)) return;
    const record = versions.get(collectionId, version);
    const block = record === undefined ? undefined : contents.indexBlock(record.documentId, generation);
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
    this.changed += 1;
    this.#held.add(version);
  }

  /** Works off the changes that are noted by now. `add` makes what a version needs, and hands it to the method above. */
  async catchUp(add: (version: NotedVersion) => Promise<void>): Promise<void> {
    const all = [...this.#noted.values()];
    const work = async (noted: (typeof all)[number]) => {
      if (noted.isLive) await add(noted);
      else this.#remove(noted);
      // Unless there is news of it.
      if (this.#noted.get(noted.version) === noted) this.#noted.delete(noted.version);
    };
    for (let i = 0; i < all.length; i += atOnce) await allDone(all.slice(i, i + atOnce).map(work));
  }

  /** Whether search has been told meanwhile not to answer from this version any more. */
  isGone({ version }: NotedVersion): boolean {
    return this.#noted.get(version)?.isLive === false;
  }

  /** Begins its snapshot, which covers every change so far, also in shards that have no rows. */
  snapshot(): Promise<unknown> {
    const { index, sequence } = this.#options;
    for (const { shard } of index.opened) index.commit({ sequence: sequence.next(), shard });
    this.changed = 0;
    return index.snapshot();
  }

  /** Changes that are not worked off yet. */
  get behind(): number {
    return this.#noted.size;
  }

  #remove({ version, shard }: NotedVersion): void {
    if (!this.#held.delete(version)) return;
    this.index.commit({ sequence: this.#options.sequence.next(), shard, remove: version });
    this.changed += 1;
  }
}
