import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../base/app-error.ts';
import { present } from '../base/assert.ts';
import { uuidPattern } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { CollectionIndex, type IndexChange, IndexError } from '../engine/collection-index.ts';
import type { Change, ChangeLog, LiveVersions } from '../store/changes.ts';
import type { Collection, Collections } from '../store/collections.ts';
import type { Contents, IndexBlock } from '../store/content.ts';
import type { Sequence } from '../store/sequence.ts';
import type { VersionReader } from '../store/version-reader.ts';
import type { VersionRecord, Versions } from '../store/versions.ts';
import { shardOf } from './shard-of.ts';

export interface IndexesOptions {
  /** Folder that holds one folder of snapshots per collection. */
  readonly folder: string;
  readonly sequence: Sequence;
  readonly changes: ChangeLog;
  readonly live: LiveVersions;
  readonly collections: Collections;
  readonly versions: Versions;
  readonly contents: Contents;
  /** Told which versions search no longer finds. */
  readonly reader: Pick<VersionReader, 'forget' | 'forgetCollection'>;
  readonly logger: Logger;
}

/** What a change did, for the case that its write fails. */
export interface Undo {
  readonly shard: number;
  readonly added: number | null;
  readonly removed: number | null;
}

/** What staging has to know of a version beside its rows. */
export type StagedVersion = Pick<
  VersionRecord,
  'collectionId' | 'version' | 'documentId' | 'path' | 'metadata'
>;

interface Shelf {
  readonly index: CollectionIndex;
  /** Changes since the last snapshot. */
  changed: number;
  /** Changes that the shards show and whose writes are on their way; none of them rejects. */
  readonly inDoubt: Set<Promise<void>>;
  /** Changes whose write failed and that the shards still show: no snapshot may be taken. */
  undoing: number;
  /** Set while a snapshot waits for the changes in doubt: new ones wait for it. */
  gate: Promise<void> | null;
}

/** How many changes of the log one write trims. */
const trimChangesMax = 10_000;
/** Documents that are put back into the shards at the same time. */
const stagingMax = 16;
/** How often a change that could not be undone is tried again, and after how many milliseconds. */
const undoAttemptsMax = 20;
const undoRetryMs = 500;
/** After how many milliseconds rows are staged again that the engine was too busy for. */
const busyRetryMs = 1_000;

/**
 * The shards of every collection, kept equal to what the store says is live: loaded from snapshots at start with the
 * change log replayed over them, rebuilt from the store where a snapshot is missing or damaged.
 *
 * A snapshot never holds a change that the store could still lose, and never covers one that was undone and that the
 * store could still keep: it waits for the writes of all changes that the shards show and for a store that can be
 * written, and what it holds is fixed in the turn in which it begins.
 */
export class Indexes {
  readonly #options: IndexesOptions;
  readonly #shelves = new Map<string, Shelf>();
  readonly #opening = new Map<string, Promise<void>>();
  readonly #dropping = new Map<string, Promise<void>>();
  #snapshotting: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #closing: Promise<void> | null = null;

  constructor(options: IndexesOptions) {
    this.#options = options;
  }

  /** The open shards of a collection; 503 while they are loaded, 404 when it was deleted a moment ago. */
  get(collectionId: string): CollectionIndex {
    const shelf = this.#shelves.get(collectionId);
    if (shelf !== undefined) return shelf.index;
    if (this.#options.collections.byId(collectionId) === undefined) {
      throw new AppError('not_found', 'The collection was deleted.');
    }
    throw new AppError('unavailable', 'The collection is not loaded yet; try again in a moment.', {
      retryAfterMs: 1_000,
    });
  }

  has(collectionId: string): boolean {
    return this.#shelves.has(collectionId);
  }

  /** Loads a collection, or makes its empty shards; afterwards it answers from exactly what the store says is live. */
  async open(collection: Collection): Promise<void> {
    if (this.#closing !== null) throw closed();
    const opening = this.#open(collection).finally(() => this.#opening.delete(collection.collectionId));
    this.#opening.set(collection.collectionId, opening);
    await opening;
  }

  /**
   * Puts the rows of a version into its shard, invisible until a change adds it. 503 while the shard is too busy.
   * `block`: its rows; null when the store has them.
   */
  async stage(staged: StagedVersion, block: IndexBlock | null): Promise<void> {
    const rows = block ?? this.#options.contents.indexBlock(staged.documentId);
    const index = this.get(staged.collectionId);
    await this.#stage(index, staged, present(rows, 'a staged version has an index block'));
  }

  discard({ collectionId, path, version }: StagedVersion): void {
    const index = this.#shelves.get(collectionId)?.index;
    index?.discard(shardOf(path, index.opened.length), version);
  }

  /** Resolves when a change may be made. */
  async ready(collectionId: string): Promise<void> {
    for (;;) {
      const gate = this.#shelves.get(collectionId)?.gate ?? null;
      if (gate === null) return;
      await gate;
    }
  }

  /**
   * Switches what search sees, at once and atomically. In the same turn hand its write to the store and the write's
   * promise to `follow`.
   */
  commit(collectionId: string, change: IndexChange): void {
    const shelf = this.#shelves.get(collectionId);
    if (shelf === undefined) return;
    shelf.index.commit(change);
    shelf.changed += 1;
    if (change.remove !== undefined) this.#options.reader.forget(collectionId, change.remove);
  }

  /** Settles as the write of a change does. When it failed, search answers from what the store says again by then. */
  async follow(collectionId: string, undo: Undo, written: Promise<void>): Promise<void> {
    const shelf = this.#shelves.get(collectionId);
    if (shelf === undefined) return written;
    const doubt = written.catch(() => {});
    shelf.inDoubt.add(doubt);
    try {
      await written;
    } catch (error) {
      shelf.undoing += 1;
      shelf.inDoubt.delete(doubt);
      if (await this.#undo(collectionId, shelf, undo)) shelf.undoing -= 1;
      throw error;
    } finally {
      shelf.inDoubt.delete(doubt);
    }
  }

  /** Takes a collection out of service at once; its files go in the background. Running searches end by themselves. */
  async remove(collectionId: string): Promise<void> {
    const shelf = this.#shelves.get(collectionId);
    if (shelf === undefined) return;
    this.#shelves.delete(collectionId);
    this.#options.reader.forgetCollection(collectionId);
    const dropping = shelf.index
      .drop()
      .catch((error: unknown) => {
        const fields = { collectionId, error: String(error) };
        this.#options.logger.warn(fields, 'the snapshots of a deleted collection stay until the next start');
      })
      .finally(() => this.#dropping.delete(collectionId));
    this.#dropping.set(collectionId, dropping);
  }

  /** Deletes the snapshots of collections that are gone: what a crash left. Resolves to their number. */
  async removeOrphans(): Promise<number> {
    const { folder, collections } = this.#options;
    let removed = 0;
    for (const name of await readdir(folder)) {
      if (!uuidPattern.test(name) || collections.byId(name) !== undefined) continue;
      if (this.#shelves.has(name) || this.#opening.has(name) || this.#dropping.has(name)) continue;
      await rm(join(folder, name), { recursive: true, force: true });
      removed += 1;
    }
    return removed;
  }

  /**
   * Writes a snapshot of every collection with at least `changesMin` changes since its last one. One that fails keeps
   * none of the others from theirs; then it rejects with the first failure.
   */
  snapshot(changesMin = 1): Promise<void> {
    const all = this.#snapshotting.then(() => this.#snapshotAll(changesMin));
    // A failure belongs to its caller; the next round goes on.
    this.#snapshotting = all.catch(() => {});
    return all;
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
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([...this.#opening.values(), ...this.#dropping.values()]);
    try {
      await this.snapshot();
    } catch (error) {
      // The change log holds what the snapshot would have: the next start only takes longer.
      this.#options.logger.warn({ error: String(error) }, 'no snapshot at the end');
    }
    await Promise.all([...this.#shelves.values()].map(({ index }) => index.close()));
    this.#shelves.clear();
  }

  async #open(collection: Collection): Promise<void> {
    const { collectionId, dimensions, shards } = collection;
    const directory = join(this.#options.folder, collectionId);
    const index = await CollectionIndex.open({ collectionId, dimensions, shards, directory });
    try {
      const replayed = await this.#replay(collectionId, index);
      const rebuilt = await this.#rebuild(collectionId, index);
      const fields = { collectionId, replayed, rebuilt };
      if (replayed + rebuilt > 0) this.#options.logger.info(fields, 'collection index brought up to date');
      // What an interrupted snapshot left in the log goes with the next one.
      const changed = replayed + rebuilt + ((await this.#hasLog(collectionId)) ? 1 : 0);
      this.#shelves.set(collectionId, { index, changed, inDoubt: new Set(), undoing: 0, gate: null });
    } catch (error) {
      await index.close();
      throw error;
    }
  }

  async #hasLog(collectionId: string): Promise<boolean> {
    for await (const _ of this.#options.changes.after(collectionId, -1)) return true;
    return false;
  }

  /** Fills the shards that had no usable snapshot. Answers how many documents. */
  async #rebuild(collectionId: string, index: CollectionIndex): Promise<number> {
    const { live, sequence, logger } = this.#options;
    let rebuilt = 0;
    for (const { shard, state, reason } of index.opened) {
      if (state === 'loaded') continue;
      if (state === 'damaged')
        logger.warn({ collectionId, shard, reason }, 'shard snapshot damaged, rebuilding');
      for await (const group of groups(live.list(collectionId, shard))) {
        const staged = await this.#stageAll(collectionId, index, group);
        for (const { version } of staged) index.commit({ sequence: sequence.next(), shard, add: version });
        rebuilt += staged.length;
      }
    }
    return rebuilt;
  }

  /** Applies the changes that the loaded shards have not seen, in their order. Answers how many. */
  async #replay(collectionId: string, index: CollectionIndex): Promise<number> {
    const loaded = index.opened.filter(({ state }) => state === 'loaded');
    if (loaded.length === 0) return 0;
    const seen = new Map(loaded.map(({ shard, sequence }) => [shard, sequence]));
    const missed: Change[] = [];
    for await (const change of this.#options.changes.after(collectionId, Math.min(...seen.values()))) {
      if (change.sequence > (seen.get(change.shard) ?? Number.POSITIVE_INFINITY)) missed.push(change);
    }
    // What a later change removes need not come back first; its content may be gone already.
    const removed = new Set(missed.map(({ remove }) => remove));
    for await (const group of groups(missed)) {
      const wanted = group.flatMap(({ shard, add }) =>
        add === undefined || removed.has(add) ? [] : [{ shard, version: add }],
      );
      const staged = new Set(
        (await this.#stageAll(collectionId, index, wanted)).map(({ version }) => version),
      );
      for (const { add, ...change } of group) {
        index.commit(add === undefined || !staged.has(add) ? change : { ...change, add });
      }
    }
    return missed.length;
  }

  /** Stages versions that search answers from. Answers those that could be staged; one that cannot is told in the log. */
  async #stageAll(
    collectionId: string,
    index: CollectionIndex,
    entries: readonly { readonly shard: number; readonly version: number }[],
  ) {
    if (this.#stop.signal.aborted) throw closed();
    const staged = await Promise.all(
      entries.map(({ version }) => this.#stageInTime(collectionId, index, version)),
    );
    return entries.filter(({ version }, i) => {
      if (staged[i] !== true)
        this.#options.logger.error({ collectionId, version }, 'a live version has no content');
      return staged[i];
    });
  }

  /** Waits while the shard is too busy, for example with its compaction. False when the store holds nothing to stage. */
  async #stageInTime(collectionId: string, index: CollectionIndex, version: number): Promise<boolean> {
    for (;;) {
      if (this.#stop.signal.aborted) throw closed();
      try {
        const record = this.#options.versions.get(collectionId, version);
        const block = record === undefined ? undefined : this.#options.contents.indexBlock(record.documentId);
        if (record === undefined || block === undefined) return false;
        await this.#stage(index, record, block);
        return true;
      } catch (error) {
        if (!(error instanceof AppError) || error.options.retryAfterMs === undefined) throw error;
        await wait(error.options.retryAfterMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
    }
  }

  async #stage(
    index: CollectionIndex,
    { path, version, metadata }: StagedVersion,
    { vectors, terms }: IndexBlock,
  ): Promise<void> {
    const shard = shardOf(path, index.opened.length);
    try {
      await index.stage({ shard, version, vectors, terms, attributes: metadata });
    } catch (error) {
      throw error instanceof IndexError && error.code === 'busy' ? busy(error) : error;
    }
  }

  /**
   * After a change whose write failed: search answers again from what the store says. False when that was not
   * possible: then the shards stay wrong until the next start, which knows nothing of the change.
   */
  async #undo(collectionId: string, shelf: Shelf, { shard, added, removed }: Undo): Promise<boolean> {
    for (let attempt = 1; attempt <= undoAttemptsMax && !this.#stop.signal.aborted; attempt += 1) {
      if (this.#shelves.get(collectionId) !== shelf) return false;
      try {
        if (removed !== null) await this.#restage(collectionId, removed);
        this.commit(collectionId, {
          sequence: this.#options.sequence.next(),
          shard,
          ...(removed === null ? {} : { add: removed }),
          ...(added === null ? {} : { remove: added }),
        });
        return true;
      } catch (error) {
        const fields = { collectionId, attempt, error: String(error) };
        this.#options.logger.error(fields, 'a change whose write failed cannot be undone yet');
        await wait(undoRetryMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
    }
    return false;
  }

  async #restage(collectionId: string, version: number): Promise<void> {
    const record = this.#options.versions.get(collectionId, version);
    await this.stage(present(record, 'a version that search answered from has a record'), null);
  }

  async #snapshotAll(changesMin: number): Promise<void> {
    const failures: unknown[] = [];
    for (const [collectionId, shelf] of this.#shelves) {
      if (shelf.changed < changesMin) continue;
      try {
        await this.#snapshot(collectionId, shelf);
      } catch (error) {
        // A collection that was deleted meanwhile needs no snapshot.
        if (this.#shelves.get(collectionId) === shelf) failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #snapshot(collectionId: string, shelf: Shelf): Promise<void> {
    const { changes, logger } = this.#options;
    let open = () => {};
    shelf.gate = new Promise((resolve) => {
      open = resolve;
    });
    let writing: ReturnType<CollectionIndex['snapshot']>;
    let changed: number;
    try {
      while (shelf.inDoubt.size > 0) await Promise.all(shelf.inDoubt);
      // The shards show a change that never happened: the next round comes when it is undone.
      if (shelf.undoing > 0) return;
      await changes.settle(collectionId);
      changed = shelf.changed;
      writing = shelf.index.snapshot();
    } finally {
      shelf.gate = null;
      open();
    }
    const { sequence, bytes } = await writing;
    logger.debug({ collectionId, sequence, bytes }, 'collection index snapshot written');
    while ((await changes.trim(collectionId, sequence, trimChangesMax)) === trimChangesMax);
    shelf.changed -= changed;
  }
}

function busy(cause: IndexError): AppError {
  return new AppError('unavailable', 'The index takes no more rows just now; try again in a moment.', {
    retryAfterMs: busyRetryMs,
    cause,
  });
}

function closed(): AppError {
  return new AppError('unavailable', 'The server is shutting down; try again in a moment.', {
    retryAfterMs: 2_000,
  });
}

/** The entries in their order, `stagingMax` at a time. */
async function* groups<T>(entries: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T[], void, void> {
  let group: T[] = [];
  for await (const entry of entries) {
    group.push(entry);
    if (group.length < stagingMax) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
