import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../base/app-error.ts';
import { present } from '../base/assert.ts';
import { uuidPattern } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { CollectionIndex, type IndexChange, IndexError } from '../engine/collection-index.ts';
import type { Change, ChangeLog, LiveVersions } from '../store/changes.ts';
import { type Collection, type Collections, generationOf, type VectorSet } from '../store/collections.ts';
import type { Contents, IndexBlock } from '../store/content.ts';
import type { Sequence } from '../store/sequence.ts';
import type { VersionReader } from '../store/version-reader.ts';
import type { VersionRecord, Versions } from '../store/versions.ts';
import { shardOf } from './shard-of.ts';
import { Successor } from './successor.ts';

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
  /** Milliseconds that succeeded shards stay, for the queries that began before. */
  readonly retireMs: number;
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
  /** Which of the collection's vectors it holds. */
  readonly generation: number;
  /** Versions that a change may add. */
  readonly staged: Set<number>;
  /** What is to take its place, and learns of every change. */
  successor: Successor | null;
  /** Its successor is on disk: what the log holds from then on has to stay. */
  keepsLog: boolean;
  /** Changes since the last snapshot. */
  changed: number;
  /** Compactions that had ended when it was begun. */
  compactions: number;
  /** Changes that the shards show and whose writes are on their way; none of them rejects. */
  readonly inDoubt: Set<Promise<void>>;
  /** Changes whose write failed and that are being undone: no snapshot may be taken. */
  undoing: number;
  /** A change could not be undone: the shards are wrong until they are opened again, and no snapshot may be taken. */
  isWrong: boolean;
  /** Its file is damaged, and it is opened again. */
  isRepairing: boolean;
  /** Set while a snapshot waits for the changes in doubt: new ones wait for it. */
  gate: Promise<void> | null;
}

/** An index that was succeeded, for the queries that began before. */
interface Retired {
  readonly generation: number;
  readonly index: CollectionIndex;
  readonly gone: Promise<void>;
}

/** How many changes of the log one write trims. */
const trimChangesMax = 10_000;
/** Documents that are put back into the shards at the same time. */
const stagingMax = 16;
/** How often a change that could not be undone is tried again, and after how many milliseconds. */
const undoAttemptsMax = 20;
const undoRetryMs = 500;
/** How long searches that run may go on before damaged shards are closed. */
const repairGraceMs = 250;
/** After how many milliseconds rows are staged again that the engine was too busy for. */
const busyRetryMs = 1_000;
const busyWaitMs = 50;

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
  readonly #repairing = new Map<string, Promise<void>>();
  readonly #retired = new Map<string, Retired>();
  /** Folders of successors that are being opened. */
  readonly #founding = new Set<string>();
  #snapshotting: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #closing: Promise<void> | null = null;

  constructor(options: IndexesOptions) {
    this.#options = options;
  }

  /**
   * The open shards of a collection, by default those of today; 503 while they are loaded, 404 when it was deleted a
   * moment ago. Whoever made a vector names the `generation` it is to be compared with.
   */
  get(collectionId: string, generation?: number): CollectionIndex {
    const shelf = this.#shelves.get(collectionId);
    if (shelf?.isRepairing === true) throw repairing();
    if (shelf !== undefined && (generation === undefined || shelf.generation === generation))
      return shelf.index;
    // The store names the successor a moment before it takes its place, and queries may have begun before that.
    const beside = [shelf?.successor, this.#retired.get(collectionId)];
    for (const other of beside) if (other && other.generation === generation) return other.index;
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
   * Puts the rows of a version into its shard, invisible until a change adds it. Waits while the shard is too busy, as
   * with a compaction that has to come first, until `signal` says that nobody wants it any more. `block`: its rows; null
   * when the store has them.
   */
  async stage(staged: StagedVersion, block: IndexBlock | null, signal?: AbortSignal): Promise<void> {
    const index = this.get(staged.collectionId);
    const shelf = present(this.#shelves.get(staged.collectionId), 'open shards have a shelf');
    const rows = block ?? this.#options.contents.indexBlock(staged.documentId, shelf.generation);
    if (rows === undefined || (rows.generation ?? 0) !== shelf.generation) throw succeeding();
    await this.#patiently(() => this.#stage(index, staged, rows), signal);
    shelf.staged.add(staged.version);
  }

  discard({ collectionId, path, version }: StagedVersion): void {
    const shelf = this.#shelves.get(collectionId);
    shelf?.staged.delete(version);
    if (shelf?.isRepairing !== true) shelf?.index.discard(shardOf(path, shelf.index.opened.length), version);
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
    if (shelf.isRepairing) throw repairing();
    // It was staged in shards that have been succeeded since.
    if (change.add !== undefined && !shelf.staged.has(change.add)) throw succeeding();
    commitTo(shelf.index, change);
    if (change.add !== undefined) shelf.staged.delete(change.add);
    shelf.changed += 1;
    shelf.successor?.note(change);
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
      if (!(await this.#undo(collectionId, shelf, undo))) {
        shelf.isWrong = true;
        // The store has no such change: the successor must not keep it.
        shelf.successor?.note(this.#reverse(undo));
      }
      shelf.undoing -= 1;
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
    const all = [shelf.index, shelf.successor?.index, this.#retired.get(collectionId)?.index];
    this.#retired.delete(collectionId);
    const dropping = Promise.all(all.map(async (index) => index?.drop()))
      .then(() => {})
      .catch((error: unknown) => {
        const fields = { collectionId, error: String(error) };
        this.#options.logger.warn(fields, 'the snapshots of a deleted collection stay until the next start');
      })
      .finally(() => this.#dropping.delete(collectionId));
    this.#dropping.set(collectionId, dropping);
  }

  /** Deletes the snapshots of collections that are gone: what a crash left. Resolves to their number. */
  async removeOrphans(): Promise<number> {
    const { folder } = this.#options;
    let removed = 0;
    for (const name of await readdir(folder)) {
      const [collectionId = '', generation = '0'] = name.split('.');
      if (!uuidPattern.test(collectionId) || this.#isNeeded(collectionId, Number(generation))) continue;
      await rm(join(folder, name), { recursive: true, force: true });
      removed += 1;
    }
    return removed;
  }

  /**
   * Writes a snapshot of every collection with at least `changesMin` changes since its last one; a compaction is a
   * change, too: what it made takes less on disk, and its vectors no memory once they are there. One that fails keeps
   * none of the others from theirs; then it rejects with the first failure.
   */
  snapshot(changesMin = 1): Promise<void> {
    const all = this.#snapshotting.then(() => this.#snapshotAll(changesMin));
    // A failure belongs to its caller; the next round goes on.
    this.#snapshotting = all.catch(() => {});
    return all;
  }

  /**
   * Opens empty shards for vectors that are to take the place of those that search answers from; the successor learns
   * of every change that the store does not show yet. Hand it to `succeed`, or back to `disown`.
   */
  async found({ collectionId, shards }: Collection, set: VectorSet): Promise<Successor> {
    const name = folderOf(collectionId, set.generation);
    const directory = join(this.#options.folder, name);
    const { dimensions, generation } = set;
    this.get(collectionId);
    this.#founding.add(name);
    try {
      await rm(directory, { recursive: true, force: true });
      const index = await CollectionIndex.open({ collectionId: name, dimensions, shards, directory });
      const shelf = this.#shelves.get(collectionId);
      if (shelf === undefined || this.#closing !== null) {
        await index.drop();
        throw closed();
      }
      const successor = new Successor({ ...this.#options, collectionId, generation, index });
      shelf.successor = successor;
      // Those began before it could learn of them: from here on the store shows them, or they are undone.
      await Promise.all(shelf.inDoubt);
      return successor;
    } finally {
      this.#founding.delete(name);
    }
  }

  /**
   * Writes a successor to disk, when it has caught up. `catchUp` runs while no change begins, and says whether it came
   * to its end. False when it has to be tried again.
   */
  async preserve(successor: Successor, catchUp: () => Promise<boolean>): Promise<boolean> {
    const { collectionId } = successor;
    const begun = await this.#alone(collectionId, async (shelf) => {
      if (shelf.successor !== successor || !(await catchUp())) return null;
      await this.#options.changes.settle(collectionId);
      shelf.keepsLog = true;
      return { writing: successor.snapshot() };
    });
    await begun?.writing;
    return begun !== null;
  }

  /**
   * The successor takes the place of what search answers from, in one step: `write` says so in the store. What it
   * succeeds is dropped once no query can need it. False when it has to be tried again, and nothing has changed.
   */
  async succeed(
    successor: Successor,
    catchUp: () => Promise<boolean>,
    write: () => Promise<void>,
  ): Promise<boolean> {
    const { collectionId, index, generation } = successor;
    const done = await this.#alone(collectionId, async (shelf) => {
      if (shelf.successor !== successor || !(await catchUp())) return null;
      await write();
      // Unless it was deleted in this very moment, and its shards with it.
      if (this.#shelves.get(collectionId) === shelf) {
        const changed = successor.changed + 1;
        this.#shelve(collectionId, { ...newShelf(index, generation), changed });
        this.#retired.set(collectionId, {
          generation: shelf.generation,
          index: shelf.index,
          gone: this.#dropLater(collectionId, shelf.index),
        });
      }
      return true;
    });
    return done !== null;
  }

  /** Drops a successor that is not wanted any more; one that has succeeded stays. */
  async disown(successor: Successor): Promise<void> {
    const shelf = this.#shelves.get(successor.collectionId);
    if (shelf?.successor !== successor) return;
    shelf.successor = null;
    shelf.keepsLog = false;
    await successor.index.drop();
  }

  /** Resolves when nothing is left of the shards that were succeeded last. */
  async retired(collectionId: string): Promise<void> {
    await this.#retired.get(collectionId)?.gone;
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
    const add = (index: CollectionIndex) => {
      const found = index.statistics();
      for (const [part, bytes] of Object.entries(found.bytes))
        total.bytes[part] = (total.bytes[part] ?? 0) + bytes;
      return found;
    };
    for (const { index, successor, isRepairing } of this.#shelves.values()) {
      if (isRepairing) continue;
      const found = add(index);
      total.shards += index.opened.length;
      total.rows += found.rows;
      total.deadRows += found.deadRows;
      if (successor !== null) add(successor.index);
    }
    for (const { index } of this.#retired.values()) add(index);
    return total;
  }

  /** Writes what is not on disk and closes everything; twice is once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort();
    const running = [this.#opening, this.#dropping, this.#repairing].flatMap((map) => [...map.values()]);
    await Promise.allSettled(running);
    try {
      await this.snapshot();
    } catch (error) {
      // The change log holds what the snapshot would have: the next start only takes longer.
      this.#options.logger.warn({ error: String(error) }, 'no snapshot at the end');
    }
    const besides = [...this.#retired.values()];
    const open = [...this.#shelves.values()].flatMap(({ index, successor }) =>
      successor === null ? [index] : [index, successor.index],
    );
    await Promise.all([...open, ...besides.map(({ index }) => index)].map((index) => index.close()));
    await Promise.all(besides.map(({ gone }) => gone));
    this.#shelves.clear();
    this.#retired.clear();
  }

  /** `former`: the shelf of damaged shards, whose successor the new one takes over. */
  async #open(collection: Collection, former: Shelf | null = null): Promise<void> {
    const { collectionId, dimensions, shards } = collection;
    const generation = generationOf(collection);
    const name = folderOf(collectionId, generation);
    const directory = join(this.#options.folder, name);
    const index = await CollectionIndex.open({ collectionId: name, dimensions, shards, directory });
    try {
      const loading = { collectionId, generation, index };
      const replayed = await this.#replay(loading);
      const rebuilt = await this.#rebuild(loading);
      const fields = { collectionId, replayed, rebuilt };
      if (replayed + rebuilt > 0) this.#options.logger.info(fields, 'collection index brought up to date');
      // What an interrupted snapshot left in the log goes with the next one.
      const changed = replayed + rebuilt + ((await this.#hasLog(collectionId)) ? 1 : 0);
      // Read in the turn in which changes begin to come to the new shelf.
      const successor = former?.successor ?? null;
      const keepsLog = former?.keepsLog ?? false;
      this.#shelve(collectionId, { ...newShelf(index, generation), changed, successor, keepsLog });
    } catch (error) {
      await index.close();
      throw error;
    }
  }

  /** Queries and changes find this shelf from now on. */
  #shelve(collectionId: string, shelf: Shelf): void {
    shelf.index.onDamaged = (error) => this.#beginRepair(collectionId, shelf, error);
    this.#shelves.set(collectionId, shelf);
  }

  #beginRepair(collectionId: string, shelf: Shelf, error: IndexError): void {
    // A search of shards that were succeeded or opened again says nothing of those of today.
    if (this.#shelves.get(collectionId) !== shelf) return;
    if (this.#repairing.has(collectionId) || this.#closing !== null) return;
    const directory = join(this.#options.folder, folderOf(collectionId, shelf.generation));
    this.#options.logger.error(
      { collectionId, directory, error: error.message },
      'the snapshot of a shard was cut off or cannot be read: opening the collection again',
    );
    const repairing = this.#repair(collectionId, shelf).finally(() => this.#repairing.delete(collectionId));
    this.#repairing.set(collectionId, repairing);
  }

  /** Opens the shards again, which rebuilds those whose files are damaged. Meanwhile queries are answered 503. */
  async #repair(collectionId: string, shelf: Shelf): Promise<void> {
    const { collections, logger } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted && this.#shelves.get(collectionId) === shelf) {
      try {
        const reopen = (current: Shelf) => this.#reopen(collectionId, current, shelf);
        const done = await this.#alone(collectionId, reopen, true);
        if (collections.byId(collectionId) === undefined) await this.remove(collectionId);
        else if (done === null) await this.#pauseRepair();
      } catch (error) {
        logger.error({ collectionId, error: String(error) }, 'a damaged collection cannot be opened yet');
        await this.#pauseRepair();
      }
    }
  }

  /** One try; null when the shards are not those that are damaged. */
  async #reopen(collectionId: string, current: Shelf, damaged: Shelf): Promise<true | null> {
    const { collections, changes } = this.#options;
    const { signal } = this.#stop;
    if (current !== damaged) return null;
    damaged.isRepairing = true;
    await changes.settle(collectionId);
    // For the searches that began before.
    await wait(repairGraceMs, undefined, { signal }).catch(() => {});
    await damaged.index.close();
    const collection = collections.byId(collectionId);
    if (collection !== undefined && !signal.aborted) await this.#open(collection, damaged);
    return true;
  }

  /** Other work goes on before the next try, above all the undoing of a change that the repair waits for. */
  async #pauseRepair(): Promise<void> {
    await wait(undoRetryMs, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  async #hasLog(collectionId: string): Promise<boolean> {
    for await (const _ of this.#options.changes.after(collectionId, -1)) return true;
    return false;
  }

  /** Fills the shards that had no usable snapshot. Answers how many documents. */
  async #rebuild(loading: Loading): Promise<number> {
    const { collectionId, index } = loading;
    const { live, sequence, logger } = this.#options;
    let rebuilt = 0;
    for (const { shard, state, reason } of index.opened) {
      if (state === 'loaded') continue;
      if (state === 'damaged')
        logger.warn({ collectionId, shard, reason }, 'shard snapshot damaged, rebuilding');
      for await (const group of groups(live.list(collectionId, shard))) {
        const staged = await this.#stageAll(loading, group);
        for (const { version } of staged) index.commit({ sequence: sequence.next(), shard, add: version });
        rebuilt += staged.length;
      }
    }
    return rebuilt;
  }

  /** Applies the changes that the loaded shards have not seen, in their order. Answers how many. */
  async #replay(loading: Loading): Promise<number> {
    const { collectionId, index } = loading;
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
      const staged = new Set((await this.#stageAll(loading, wanted)).map(({ version }) => version));
      for (const { add, ...change } of group) {
        index.commit(add === undefined || !staged.has(add) ? change : { ...change, add });
      }
    }
    return missed.length;
  }

  /** Stages versions that search answers from. Answers those that could be staged; one that cannot is told in the log. */
  async #stageAll(
    loading: Loading,
    entries: readonly { readonly shard: number; readonly version: number }[],
  ) {
    if (this.#stop.signal.aborted) throw closed();
    const staged = await Promise.all(entries.map(({ version }) => this.#stageInTime(loading, version)));
    return entries.filter(({ version }, i) => {
      if (staged[i] !== true) {
        const { collectionId } = loading;
        this.#options.logger.error({ collectionId, version }, 'a live version has no content');
      }
      return staged[i];
    });
  }

  /** Waits while the shard is too busy, for example with its compaction. False when the store holds nothing to stage. */
  async #stageInTime({ collectionId, generation, index }: Loading, version: number): Promise<boolean> {
    const { versions, contents } = this.#options;
    for (;;) {
      if (this.#stop.signal.aborted) throw closed();
      try {
        const record = versions.get(collectionId, version);
        const block = record === undefined ? undefined : contents.indexBlock(record.documentId, generation);
        if (record === undefined || block === undefined) return false;
        await this.#stage(index, record, block);
        return true;
      } catch (error) {
        if (!(error instanceof AppError) || error.options.retryAfterMs === undefined) throw error;
        await wait(error.options.retryAfterMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
    }
  }

  /** Whoever waits here keeps his place among those that are indexed at the same time: so the others wait, too. */
  async #patiently(stage: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    const { signal: stop } = this.#stop;
    for (;;) {
      try {
        await stage();
        return;
      } catch (error) {
        if (!(error instanceof AppError) || !isBusy(error.cause) || stop.aborted) throw error;
      }
      const ended = signal === undefined ? stop : AbortSignal.any([stop, signal]);
      await wait(busyWaitMs, undefined, { signal: ended }).catch(() => {});
      signal?.throwIfAborted();
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
      // Closed while the server is not: it was succeeded, and whoever comes again finds its successor.
      const isPassing = error instanceof IndexError && (isBusy(error) || error.code === 'closed');
      throw isPassing ? busy(error) : error;
    }
  }

  /**
   * After a change whose write failed: search answers again from what the store says. False when that was not
   * possible: then the shards stay wrong until they are opened again, from a store that knows nothing of the change.
   */
  async #undo(collectionId: string, shelf: Shelf, undo: Undo): Promise<boolean> {
    for (let attempt = 1; attempt <= undoAttemptsMax && !this.#stop.signal.aborted; attempt += 1) {
      if (this.#shelves.get(collectionId) !== shelf) return false;
      try {
        if (undo.removed !== null) await this.#restage(collectionId, undo.removed);
        this.commit(collectionId, this.#reverse(undo));
        return true;
      } catch (error) {
        // Deleted meanwhile: nothing answers from these shards any more.
        if (this.#shelves.get(collectionId) !== shelf) return false;
        const fields = { collectionId, attempt, error: String(error) };
        this.#options.logger.error(fields, 'a change whose write failed cannot be undone yet');
        await wait(undoRetryMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
    }
    return false;
  }

  /** The change that takes back what a change did. */
  #reverse({ shard, added, removed }: Undo): IndexChange {
    return {
      sequence: this.#options.sequence.next(),
      shard,
      ...(removed === null ? {} : { add: removed }),
      ...(added === null ? {} : { remove: added }),
    };
  }

  /**
   * Runs `work` while no change of the collection is in doubt or begins; null while one is undone. Null also while the
   * shards are not fit for use, unless `mends`: the work opens them again.
   */
  async #still<T>(shelf: Shelf, work: () => Promise<T>, mends = false): Promise<T | null> {
    let open = () => {};
    shelf.gate = new Promise((resolve) => {
      open = resolve;
    });
    try {
      while (shelf.inDoubt.size > 0) await Promise.all(shelf.inDoubt);
      // The shards show a change that never happened: the next round comes when it is undone.
      if (shelf.undoing > 0) return null;
      return mends || !(shelf.isWrong || shelf.isRepairing) ? await work() : null;
    } finally {
      shelf.gate = null;
      open();
    }
  }

  /** The same between two snapshots; null also when the collection is gone. */
  #alone<T>(
    collectionId: string,
    work: (shelf: Shelf) => Promise<T | null>,
    mends = false,
  ): Promise<T | null> {
    const run = this.#snapshotting.then(() => {
      const shelf = this.#shelves.get(collectionId);
      return shelf === undefined ? null : this.#still(shelf, () => work(shelf), mends);
    });
    // A failure belongs to its caller; the next round goes on.
    this.#snapshotting = run.then(
      () => {},
      () => {},
    );
    return run;
  }

  /** Drops shards that were succeeded, after as long as a query may go on. When the server closes, the next start does. */
  async #dropLater(collectionId: string, index: CollectionIndex): Promise<void> {
    const pause = { signal: this.#stop.signal, ref: false };
    await wait(this.#options.retireMs, undefined, pause).catch(() => {});
    // Deleted with its collection, perhaps.
    if (this.#stop.signal.aborted || this.#retired.get(collectionId)?.index !== index) return;
    this.#retired.delete(collectionId);
    try {
      await index.drop();
    } catch (error) {
      const fields = { collectionId, error: String(error) };
      this.#options.logger.warn(fields, 'the snapshots of former vectors stay until the next start');
    }
  }

  #isNeeded(collectionId: string, generation: number): boolean {
    const collection = this.#options.collections.byId(collectionId);
    if (collection !== undefined && generationOf(collection) === generation) return true;
    if (this.#founding.has(folderOf(collectionId, generation))) return true;
    if (this.#opening.has(collectionId) || this.#dropping.has(collectionId)) return true;
    const shelf = this.#shelves.get(collectionId);
    const open = [shelf, shelf?.successor, this.#retired.get(collectionId)];
    return open.some((index) => index?.generation === generation);
  }

  async #restage(collectionId: string, version: number): Promise<void> {
    const record = this.#options.versions.get(collectionId, version);
    await this.stage(present(record, 'a version that search answered from has a record'), null);
  }

  async #snapshotAll(changesMin: number): Promise<void> {
    const failures: unknown[] = [];
    for (const [collectionId, shelf] of this.#shelves) {
      // Closed shards have nothing to write; the change log holds what they showed.
      if (shelf.isRepairing || shelf.keepsLog || unsaved(shelf) < changesMin) continue;
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
    const { changes, sequence, logger } = this.#options;
    const begun = await this.#still(shelf, async () => {
      await changes.settle(collectionId);
      const { changed, index } = shelf;
      // Before it begins: what ends in the same moment is written once more rather than never.
      const { compactions } = index.statistics();
      return { changed, compactions, covered: sequence.next(), writing: index.snapshot() };
    });
    if (begun === null) return;
    const { changed, compactions, covered, writing } = begun;
    const { bytes } = await writing;
    logger.debug({ collectionId, covered, bytes }, 'collection index snapshot written');
    // Whatever the log holds came before. The shards may not tell: those that are empty again have seen no change.
    while ((await changes.trim(collectionId, covered, trimChangesMax)) === trimChangesMax);
    shelf.changed -= changed;
    shelf.compactions = compactions;
  }
}

interface Loading {
  readonly collectionId: string;
  readonly generation: number;
  readonly index: CollectionIndex;
}

function newShelf(index: CollectionIndex, generation: number): Shelf {
  return {
    index,
    generation,
    staged: new Set(),
    successor: null,
    keepsLog: false,
    changed: 0,
    compactions: 0,
    inDoubt: new Set(),
    undoing: 0,
    isWrong: false,
    isRepairing: false,
    gate: null,
  };
}

/** Changes of the shards that no snapshot holds. */
function unsaved({ index, changed, compactions }: Shelf): number {
  return changed + index.statistics().compactions - compactions;
}

/** The vectors that a collection was made with lie where those of the first builds do. */
function folderOf(collectionId: string, generation: number): string {
  return generation === 0 ? collectionId : `${collectionId}.${generation}`;
}

function succeeding(): AppError {
  return new AppError('unavailable', 'The collection changes its model just now; try again in a moment.', {
    retryAfterMs: 250,
  });
}

function repairing(): AppError {
  return new AppError('unavailable', 'The collection is being repaired; try again in a moment.', {
    retryAfterMs: 1_000,
  });
}

/** Shards that cannot take a change now are no mistake of the server: 503, and the write is not begun. */
function commitTo(index: CollectionIndex, change: IndexChange): void {
  try {
    index.commit(change);
  } catch (error) {
    if (!(error instanceof IndexError) || !passing.has(error.code)) throw error;
    throw new AppError('unavailable', 'The collection cannot be changed just now; try again in a moment.', {
      retryAfterMs: 1_000,
      cause: error,
    });
  }
}

/** Troubles that end by themselves. */
const passing: ReadonlySet<IndexError['code']> = new Set(['busy', 'closed', 'memory', 'io']);

function isBusy(error: unknown): boolean {
  return error instanceof IndexError && error.code === 'busy';
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
