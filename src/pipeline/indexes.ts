import { join } from 'node:path';
import { AppError } from '../base/app-error.ts';
import { present } from '../base/assert.ts';
import type { Logger } from '../base/logger.ts';
import { CollectionIndex, type IndexChange } from '../engine/collection-index.ts';
import type { ChangeLog, LiveVersions } from '../store/changes.ts';
import type { Collection } from '../store/collections.ts';
import type { Contents } from '../store/content.ts';
import type { Sequence } from '../store/sequence.ts';
import type { Store } from '../store/store.ts';
import type { Versions } from '../store/versions.ts';

export interface IndexesOptions {
  /** Folder that holds one folder of snapshots per collection. */
  readonly folder: string;
  readonly store: Store;
  readonly sequence: Sequence;
  readonly changes: ChangeLog;
  readonly live: LiveVersions;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly logger: Logger;
}

interface Shelf {
  readonly index: CollectionIndex;
  /** Changes since the last snapshot. */
  changed: number;
}

/** How many changes of the log one write trims. */
const trimChangesMax = 10_000;

/**
 * The shards of every collection, kept equal to what the store says is live: loaded from snapshots at start with the
 * change log replayed over them, rebuilt from the store where a snapshot is missing or damaged.
 */
export class Indexes {
  readonly #options: IndexesOptions;
  readonly #shelves = new Map<string, Shelf>();
  /** Changes wait here while a snapshot makes sure that it holds nothing the store could still lose. */
  #gate: Promise<void> = Promise.resolve();
  #snapshotting: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: IndexesOptions) {
    this.#options = options;
  }

  /** The open shards of a collection; 503 while they are loaded, or when the collection is just going away. */
  get(collectionId: string): CollectionIndex {
    const shelf = this.#shelves.get(collectionId);
    if (shelf !== undefined) return shelf.index;
    throw new AppError('unavailable', 'The collection is not loaded yet; try again in a moment.', {
      retryAfterMs: 1_000,
    });
  }

  has(collectionId: string): boolean {
    return this.#shelves.has(collectionId);
  }

  /** Loads a collection, or makes its empty shards; afterwards it answers from exactly what the store says is live. */
  async open(collection: Collection): Promise<void> {
    const { folder, logger, sequence } = this.#options;
    const { collectionId, dimensions, shards } = collection;
    const index = await CollectionIndex.open({
      collectionId,
      dimensions,
      shards,
      directory: join(folder, collectionId),
    });
    try {
      const usable = index.opened.filter((shard) => shard.state === 'loaded');
      const replayed = await this.#replay(collectionId, index, usable);
      let rebuilt = 0;
      for (const shard of index.opened) {
        if (shard.state === 'loaded') continue;
        if (shard.state === 'damaged') {
          logger.warn(
            { collectionId, shard: shard.shard, reason: shard.reason },
            'shard snapshot damaged, rebuilding',
          );
        }
        for await (const entry of this.#options.live.list(collectionId, shard.shard)) {
          if (!(await this.#stage(collectionId, index, entry))) continue;
          index.commit({ sequence: sequence.next(), shard: shard.shard, add: entry.version });
          rebuilt += 1;
        }
      }
      this.#shelves.set(collectionId, { index, changed: replayed + rebuilt });
      if (replayed + rebuilt > 0)
        logger.info({ collectionId, replayed, rebuilt }, 'collection index brought up to date');
    } catch (error) {
      await index.close();
      throw error;
    }
  }

  /** Puts the rows of a version into its shard, invisible until a change adds it. */
  async stage(collectionId: string, version: number): Promise<void> {
    const record = present(
      this.#options.versions.get(collectionId, version),
      'a staged version has a record',
    );
    const staged = await this.#stage(collectionId, this.get(collectionId), record);
    present(staged ? true : null, 'a staged version has an index block');
  }

  discard(collectionId: string, shard: number, version: number): void {
    this.#shelves.get(collectionId)?.index.discard(shard, version);
  }

  /** Resolves when a change may be made. Make it, and hand its write to the store, before anything else is awaited. */
  async ready(): Promise<void> {
    let gate: Promise<void>;
    do {
      gate = this.#gate;
      await gate;
    } while (gate !== this.#gate);
  }

  /** Switches what search sees, at once and atomically. Call it in the turn in which its write goes to the store. */
  commit(collectionId: string, change: IndexChange): void {
    const shelf = this.#shelves.get(collectionId);
    if (shelf === undefined) return;
    shelf.index.commit(change);
    shelf.changed += 1;
  }

  /** After a change whose write failed: search answers again from what the store says. */
  async restore(
    collectionId: string,
    undo: { shard: number; added?: number; removed?: number },
  ): Promise<void> {
    if (!this.#shelves.has(collectionId)) return;
    if (undo.removed !== undefined) await this.stage(collectionId, undo.removed);
    this.commit(collectionId, {
      sequence: this.#options.sequence.next(),
      shard: undo.shard,
      ...(undo.removed === undefined ? {} : { add: undo.removed }),
      ...(undo.added === undefined ? {} : { remove: undo.added }),
    });
  }

  /** Takes a collection out of service and deletes its files. Searches that still run end by themselves. */
  async remove(collectionId: string): Promise<void> {
    const shelf = this.#shelves.get(collectionId);
    this.#shelves.delete(collectionId);
    await this.#snapshotting;
    await shelf?.index.drop();
  }

  /** Writes a snapshot of every collection with at least `changesMin` changes since its last one. */
  snapshot(changesMin = 1): Promise<void> {
    this.#snapshotting = this.#snapshotting.then(async () => {
      for (const [collectionId, shelf] of this.#shelves) {
        if (shelf.changed >= changesMin) await this.#snapshot(collectionId, shelf);
      }
    });
    return this.#snapshotting;
  }

  statistics(): {
    collections: number;
    shards: number;
    rows: number;
    deadRows: number;
    bytes: Record<string, number>;
  } {
    const total = {
      collections: this.#shelves.size,
      shards: 0,
      rows: 0,
      deadRows: 0,
      bytes: {} as Record<string, number>,
    };
    for (const { index } of this.#shelves.values()) {
      const found = index.statistics();
      total.shards += index.opened.length;
      total.rows += found.rows;
      total.deadRows += found.deadRows;
      for (const [part, bytes] of Object.entries(found.bytes))
        total.bytes[part] = (total.bytes[part] ?? 0) + bytes;
    }
    return total;
  }

  /** Writes what is not on disk and closes everything; twice is once. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.snapshot();
    await Promise.all([...this.#shelves.values()].map(({ index }) => index.close()));
    this.#shelves.clear();
  }

  async #snapshot(collectionId: string, shelf: Shelf): Promise<void> {
    const { store, changes, logger } = this.#options;
    const changed = shelf.changed;
    let open = () => {};
    this.#gate = new Promise((resolve) => {
      open = resolve;
    });
    let writing: ReturnType<CollectionIndex['snapshot']>;
    try {
      // Everything committed so far must be durable before a snapshot may claim to hold it.
      await store.write([], { mayUseReserve: true });
      writing = shelf.index.snapshot();
    } finally {
      open();
    }
    const { sequence, bytes } = await writing;
    shelf.changed -= changed;
    logger.debug({ collectionId, sequence, bytes }, 'collection index snapshot written');
    while ((await changes.trim(collectionId, sequence, trimChangesMax)) === trimChangesMax);
  }

  /** Applies the changes that the loaded shards have not seen, in their order. Answers how many. */
  async #replay(
    collectionId: string,
    index: CollectionIndex,
    loaded: readonly { shard: number; sequence: number }[],
  ): Promise<number> {
    if (loaded.length === 0) return 0;
    const seen = new Map(loaded.map((shard) => [shard.shard, shard.sequence]));
    const live = new Map<number, string>();
    for await (const entry of this.#options.live.list(collectionId))
      live.set(entry.version, entry.documentId);
    let replayed = 0;
    for await (const change of this.#options.changes.after(collectionId, Math.min(...seen.values()))) {
      if (change.sequence <= (seen.get(change.shard) ?? Number.POSITIVE_INFINITY)) continue;
      const documentId = change.add === undefined ? undefined : live.get(change.add);
      const added =
        documentId !== undefined &&
        (await this.#stage(collectionId, index, { ...change, version: change.add!, documentId }));
      const { add: _, ...rest } = change;
      index.commit(added ? change : rest);
      replayed += 1;
    }
    return replayed;
  }

  async #stage(
    collectionId: string,
    index: CollectionIndex,
    entry: { shard: number; version: number; documentId: string },
  ): Promise<boolean> {
    const block = this.#options.contents.indexBlock(entry.documentId);
    const record = this.#options.versions.get(collectionId, entry.version);
    if (block === undefined || record === undefined) return false;
    await index.stage({
      shard: entry.shard,
      version: entry.version,
      vectors: block.vectors,
      terms: block.terms,
      attributes: record.metadata as Record<string, string | string[]>,
    });
    return true;
  }
}
