import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { assertDefined } from '../core/assert.ts';
import { uuidPattern } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { ChangeLog, ChangeLogEntry, LiveVersions } from '../storage/changes.ts';
import { type Collection, type Collections, getGeneration, type VectorSet } from '../storage/collections.ts';
import type { Contents, IndexBlock } from '../storage/content.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { VersionRecord, Versions } from '../storage/versions.ts';
import { CollectionIndex, type IndexChange, IndexError } from './collection-index.ts';
import { ReplacementIndex } from './replacement-index.ts';
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
  readonly reader: Pick<VersionReader, 'evict' | 'evictCollection'>;
  /** Milliseconds that succeeded shards stay, for the queries that began before. */
  readonly retireMs: number;
  readonly logger: Logger;
}

/** What a change did, for the case that its write fails. */
export interface UndoRecord {
  readonly shard: number;
  readonly added: number | null;
  readonly removed: number | null;
}

/** What staging has to know of a version beside its rows. */
export type StagedVersion = Pick<
  VersionRecord,
  'collectionId' | 'version' | 'documentId' | 'path' | 'metadata'
>;

interface IndexEntry {
  readonly index: CollectionIndex;
  /** Which of the collection's vectors it holds. */
  readonly generation: number;
  /** Versions that a change may add. */
  readonly staged: Set<number>;
  /** What is to take its place, and learns of every change. */
  replacement: ReplacementIndex | null;
  /** Its successor is on disk: what the log holds from then on has to stay. */
  retainsLog: boolean;
  /** Changes since the last snapshot. */
  changesSinceSnapshot: number;
  /** Compactions that had ended when it was begun. */
  compactionsAtSnapshot: number;
  /** Changes that the shards show and whose writes are on their way; none of them rejects. */
  readonly pendingWrites: Set<Promise<void>>;
  /** Changes whose write failed and that are being undone: no snapshot may be taken. */
  undoCount: number;
  /** A change could not be undone: the shards are wrong until they are opened again, and no snapshot may be taken. */
  isInconsistent: boolean;
  /** Its file is damaged, and it is opened again. */
  isRepairing: boolean;
  /** Set while a snapshot waits for the changes in doubt: new ones wait for it. */
  barrier: Promise<void> | null;
}

/** An index that was succeeded, for the queries that began before. */
interface RetiredIndex {
  readonly generation: number;
  readonly index: CollectionIndex;
  readonly dropped: Promise<void>;
}

/** How many changes of the log one write trims. */
const trimChangesMax = 10_000;
/** Documents that are put back into the shards at the same time. */
const stagingMax = 16;
/** How often a change that could not be undone is tried again, and after how many milliseconds. */
const undoAttemptsMax = 20;
const undoRetryMs = 500;
/** How long searches that run may go on before damaged shards are closed. */
const searchGraceMs = 250;
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
  readonly #entries = new Map<string, IndexEntry>();
  readonly #opening = new Map<string, Promise<void>>();
  readonly #dropping = new Map<string, Promise<void>>();
  readonly #repairing = new Map<string, Promise<void>>();
  readonly #retired = new Map<string, RetiredIndex>();
  /** Folders of successors that are being opened. */
  readonly #creating = new Set<string>();
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
    const entry = this.#entries.get(collectionId);
    if (entry?.isRepairing === true) throw repairInProgress();
    if (entry !== undefined && (generation === undefined || entry.generation === generation))
      return entry.index;
    // The store names the successor a moment before it takes its place, and queries may have begun before that.
    const otherIndexes = [entry?.replacement, this.#retired.get(collectionId)];
    for (const other of otherIndexes) if (other && other.generation === generation) return other.index;
    if (this.#options.collections.findById(collectionId) === undefined) {
      throw new AppError('not_found', 'The collection was deleted.');
    }
    throw new AppError('unavailable', 'The collection is not loaded yet; try again in a moment.', {
      retryAfterMs: 1_000,
    });
  }

  has(collectionId: string): boolean {
    return this.#entries.has(collectionId);
  }

  /** Loads a collection, or makes its empty shards; afterwards it answers from exactly what the store says is live. */
  async open(collection: Collection): Promise<void> {
    if (this.#closing !== null) throw serverClosing();
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
    const entry = assertDefined(this.#entries.get(staged.collectionId), 'open shards have a shelf');
    const rows = block ?? this.#options.contents.readIndexBlock(staged.documentId, entry.generation);
    if (rows === undefined || (rows.generation ?? 0) !== entry.generation) throw modelChangeInProgress();
    await this.#retryWhileBusy(() => this.#stage(index, staged, rows), signal);
    entry.staged.add(staged.version);
  }

  unstage({ collectionId, path, version }: StagedVersion): void {
    const entry = this.#entries.get(collectionId);
    entry?.staged.delete(version);
    if (entry?.isRepairing !== true) entry?.index.discard(shardOf(path, entry.index.shards.length), version);
  }

  /** Resolves when a change may be made. */
  async waitUntilReady(collectionId: string): Promise<void> {
    for (;;) {
      const barrier = this.#entries.get(collectionId)?.barrier ?? null;
      if (barrier === null) return;
      await barrier;
    }
  }

  /**
   * Switches what search sees, at once and atomically. In the same turn hand its write to the store and the write's
   * promise to `follow`.
   */
  commit(collectionId: string, change: IndexChange): void {
    const entry = this.#entries.get(collectionId);
    if (entry === undefined) return;
    if (entry.isRepairing) throw repairInProgress();
    // It was staged in shards that have been succeeded since.
    if (change.add !== undefined && !entry.staged.has(change.add)) throw modelChangeInProgress();
    commitTo(entry.index, change);
    if (change.add !== undefined) entry.staged.delete(change.add);
    entry.changesSinceSnapshot += 1;
    entry.replacement?.recordChange(change);
    if (change.remove !== undefined) this.#options.reader.evict(collectionId, change.remove);
  }

  /** Settles as the write of a change does. When it failed, search answers from what the store says again by then. */
  async trackWrite(collectionId: string, undo: UndoRecord, written: Promise<void>): Promise<void> {
    const entry = this.#entries.get(collectionId);
    if (entry === undefined) return written;
    const settled = written.catch(() => {});
    entry.pendingWrites.add(settled);
    try {
      await written;
    } catch (error) {
      entry.undoCount += 1;
      entry.pendingWrites.delete(settled);
      if (!(await this.#undo(collectionId, entry, undo))) {
        entry.isInconsistent = true;
        // The store has no such change: the successor must not keep it.
        entry.replacement?.recordChange(this.#reverse(undo));
      }
      entry.undoCount -= 1;
      throw error;
    } finally {
      entry.pendingWrites.delete(settled);
    }
  }

  /** Takes a collection out of service at once; its files go in the background. Running searches end by themselves. */
  async remove(collectionId: string): Promise<void> {
    const entry = this.#entries.get(collectionId);
    if (entry === undefined) return;
    this.#entries.delete(collectionId);
    this.#options.reader.evictCollection(collectionId);
    const all = [entry.index, entry.replacement?.index, this.#retired.get(collectionId)?.index];
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
  async createReplacement({ collectionId, shards }: Collection, set: VectorSet): Promise<ReplacementIndex> {
    const name = folderName(collectionId, set.generation);
    const directory = join(this.#options.folder, name);
    const { dimensions, generation } = set;
    this.get(collectionId);
    this.#creating.add(name);
    try {
      await rm(directory, { recursive: true, force: true });
      const index = await CollectionIndex.open({ collectionId: name, dimensions, shards, directory });
      const entry = this.#entries.get(collectionId);
      if (entry === undefined || this.#closing !== null) {
        await index.drop();
        throw serverClosing();
      }
      const replacement = new ReplacementIndex({ ...this.#options, collectionId, generation, index });
      entry.replacement = replacement;
      // Those began before it could learn of them: from here on the store shows them, or they are undone.
      await Promise.all(entry.pendingWrites);
      return replacement;
    } finally {
      this.#creating.delete(name);
    }
  }

  /**
   * Writes a successor to disk, when it has caught up. `catchUp` runs while no change begins, and says whether it came
   * to its end. False when it has to be tried again.
   */
  async persistReplacement(replacement: ReplacementIndex, catchUp: () => Promise<boolean>): Promise<boolean> {
    const { collectionId } = replacement;
    const snapshot = await this.#runExclusive(collectionId, async (entry) => {
      if (entry.replacement !== replacement || !(await catchUp())) return null;
      await this.#options.changes.writeBarrier(collectionId);
      entry.retainsLog = true;
      return { writing: replacement.snapshot() };
    });
    await snapshot?.writing;
    return snapshot !== null;
  }

  /**
   * The successor takes the place of what search answers from, in one step: `write` says so in the store. What it
   * succeeds is dropped once no query can need it. False when it has to be tried again, and nothing has changed.
   */
  async promote(
    replacement: ReplacementIndex,
    catchUp: () => Promise<boolean>,
    write: () => Promise<void>,
  ): Promise<boolean> {
    const { collectionId, index, generation } = replacement;
    const done = await this.#runExclusive(collectionId, async (entry) => {
      if (entry.replacement !== replacement || !(await catchUp())) return null;
      await write();
      // Unless it was deleted in this very moment, and its shards with it.
      if (this.#entries.get(collectionId) === entry) {
        const changesSinceSnapshot = replacement.changesSinceSnapshot + 1;
        this.#install(collectionId, { ...newIndexEntry(index, generation), changesSinceSnapshot });
        this.#retired.set(collectionId, {
          generation: entry.generation,
          index: entry.index,
          dropped: this.#dropLater(collectionId, entry.index),
        });
      }
      return true;
    });
    return done !== null;
  }

  /** Drops a successor that is not wanted any more; one that has succeeded stays. */
  async discardReplacement(replacement: ReplacementIndex): Promise<void> {
    const entry = this.#entries.get(replacement.collectionId);
    if (entry?.replacement !== replacement) return;
    entry.replacement = null;
    entry.retainsLog = false;
    await replacement.index.drop();
  }

  /** Resolves when nothing is left of the shards that were succeeded last. */
  async waitForRetired(collectionId: string): Promise<void> {
    await this.#retired.get(collectionId)?.dropped;
  }

  statistics(): {
    collections: number;
    shards: number;
    rows: number;
    deadRows: number;
    bytes: Record<string, number>;
  } {
    const total = {
      collections: this.#entries.size,
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
    for (const { index, replacement, isRepairing } of this.#entries.values()) {
      if (isRepairing) continue;
      const found = add(index);
      total.shards += index.shards.length;
      total.rows += found.rows;
      total.deadRows += found.deadRows;
      if (replacement !== null) add(replacement.index);
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
    const retiredIndexes = [...this.#retired.values()];
    const open = [...this.#entries.values()].flatMap(({ index, replacement }) =>
      replacement === null ? [index] : [index, replacement.index],
    );
    await Promise.all([...open, ...retiredIndexes.map(({ index }) => index)].map((index) => index.close()));
    await Promise.all(retiredIndexes.map(({ dropped: gone }) => gone));
    this.#entries.clear();
    this.#retired.clear();
  }

  /** `former`: the shelf of damaged shards, whose successor the new one takes over. */
  async #open(collection: Collection, previous: IndexEntry | null = null): Promise<void> {
    const { collectionId, dimensions, shards } = collection;
    const generation = getGeneration(collection);
    const name = folderName(collectionId, generation);
    const directory = join(this.#options.folder, name);
    const index = await CollectionIndex.open({ collectionId: name, dimensions, shards, directory });
    try {
      const loading = { collectionId, generation, index };
      const replayed = await this.#replay(loading);
      const rebuilt = await this.#rebuild(loading);
      const fields = { collectionId, replayed, rebuilt };
      if (replayed + rebuilt > 0) this.#options.logger.info(fields, 'collection index brought up to date');
      // What an interrupted snapshot left in the log goes with the next one.
      const changesSinceSnapshot = replayed + rebuilt + ((await this.#hasLog(collectionId)) ? 1 : 0);
      // Read in the turn in which changes begin to come to the new shelf.
      const replacement = previous?.replacement ?? null;
      const retainsLog = previous?.retainsLog ?? false;
      this.#install(collectionId, {
        ...newIndexEntry(index, generation),
        changesSinceSnapshot,
        replacement,
        retainsLog,
      });
    } catch (error) {
      await index.close();
      throw error;
    }
  }

  /** Queries and changes find this shelf from now on. */
  #install(collectionId: string, entry: IndexEntry): void {
    entry.index.onDamaged = (error) => this.#beginRepair(collectionId, entry, error);
    this.#entries.set(collectionId, entry);
  }

  #beginRepair(collectionId: string, entry: IndexEntry, error: IndexError): void {
    // A search of shards that were succeeded or opened again says nothing of those of today.
    if (this.#entries.get(collectionId) !== entry) return;
    if (this.#repairing.has(collectionId) || this.#closing !== null) return;
    const directory = join(this.#options.folder, folderName(collectionId, entry.generation));
    this.#options.logger.error(
      { collectionId, directory, error: error.message },
      'the snapshot of a shard was cut off or cannot be read: opening the collection again',
    );
    const repairing = this.#repair(collectionId, entry).finally(() => this.#repairing.delete(collectionId));
    this.#repairing.set(collectionId, repairing);
  }

  /** Opens the shards again, which rebuilds those whose files are damaged. Meanwhile queries are answered 503. */
  async #repair(collectionId: string, entry: IndexEntry): Promise<void> {
    const { collections, logger } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted && this.#entries.get(collectionId) === entry) {
      try {
        const reopen = (current: IndexEntry) => this.#reopen(collectionId, current, entry);
        const done = await this.#runExclusive(collectionId, reopen, true);
        if (collections.findById(collectionId) === undefined) await this.remove(collectionId);
        else if (done === null) await this.#pauseRepair();
      } catch (error) {
        logger.error({ collectionId, error: String(error) }, 'a damaged collection cannot be opened yet');
        await this.#pauseRepair();
      }
    }
  }

  /** One try; null when the shards are not those that are damaged. */
  async #reopen(collectionId: string, current: IndexEntry, damaged: IndexEntry): Promise<true | null> {
    const { collections, changes } = this.#options;
    const { signal } = this.#stop;
    if (current !== damaged) return null;
    damaged.isRepairing = true;
    await changes.writeBarrier(collectionId);
    // For the searches that began before.
    await wait(searchGraceMs, undefined, { signal }).catch(() => {});
    await damaged.index.close();
    const collection = collections.findById(collectionId);
    if (collection !== undefined && !signal.aborted) await this.#open(collection, damaged);
    return true;
  }

  /** Other work goes on before the next try, above all the undoing of a change that the repair waits for. */
  async #pauseRepair(): Promise<void> {
    await wait(undoRetryMs, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  async #hasLog(collectionId: string): Promise<boolean> {
    for await (const _ of this.#options.changes.readAfter(collectionId, -1)) return true;
    return false;
  }

  /** Fills the shards that had no usable snapshot. Answers how many documents. */
  async #rebuild(loading: LoadingIndex): Promise<number> {
    const { collectionId, index } = loading;
    const { live, sequence, logger } = this.#options;
    let rebuilt = 0;
    for (const { shard, state, reason } of index.shards) {
      if (state === 'loaded') continue;
      if (state === 'damaged')
        logger.warn({ collectionId, shard, reason }, 'shard snapshot damaged, rebuilding');
      for await (const group of inBatches(live.list(collectionId, shard))) {
        const staged = await this.#stageAll(loading, group);
        for (const { version } of staged) index.commit({ sequence: sequence.next(), shard, add: version });
        rebuilt += staged.length;
      }
    }
    return rebuilt;
  }

  /** Applies the changes that the loaded shards have not seen, in their order. Answers how many. */
  async #replay(loading: LoadingIndex): Promise<number> {
    const { collectionId, index } = loading;
    const loaded = index.shards.filter(({ state }) => state === 'loaded');
    if (loaded.length === 0) return 0;
    const sequenceByShard = new Map(loaded.map(({ shard, sequence }) => [shard, sequence]));
    const missedChanges: ChangeLogEntry[] = [];
    for await (const change of this.#options.changes.readAfter(
      collectionId,
      Math.min(...sequenceByShard.values()),
    )) {
      if (change.sequence > (sequenceByShard.get(change.shard) ?? Number.POSITIVE_INFINITY))
        missedChanges.push(change);
    }
    // What a later change removes need not come back first; its content may be gone already.
    const removed = new Set(missedChanges.map(({ remove }) => remove));
    for await (const group of inBatches(missedChanges)) {
      const versionsToAdd = group.flatMap(({ shard, add }) =>
        add === undefined || removed.has(add) ? [] : [{ shard, version: add }],
      );
      const staged = new Set((await this.#stageAll(loading, versionsToAdd)).map(({ version }) => version));
      for (const { add, ...change } of group) {
        index.commit(add === undefined || !staged.has(add) ? change : { ...change, add });
      }
    }
    return missedChanges.length;
  }

  /** Stages versions that search answers from. Answers those that could be staged; one that cannot is told in the log. */
  async #stageAll(
    loading: LoadingIndex,
    entries: readonly { readonly shard: number; readonly version: number }[],
  ) {
    if (this.#stop.signal.aborted) throw serverClosing();
    const staged = await Promise.all(entries.map(({ version }) => this.#stageWhenReady(loading, version)));
    return entries.filter(({ version }, i) => {
      if (staged[i] !== true) {
        const { collectionId } = loading;
        this.#options.logger.error({ collectionId, version }, 'a live version has no content');
      }
      return staged[i];
    });
  }

  /** Waits while the shard is too busy, for example with its compaction. False when the store holds nothing to stage. */
  async #stageWhenReady(
    { collectionId, generation, index }: LoadingIndex,
    version: number,
  ): Promise<boolean> {
    const { versions, contents } = this.#options;
    for (;;) {
      if (this.#stop.signal.aborted) throw serverClosing();
      try {
        const record = versions.get(collectionId, version);
        const block =
          record === undefined ? undefined : contents.readIndexBlock(record.documentId, generation);
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
  async #retryWhileBusy(stage: () => Promise<void>, signal?: AbortSignal): Promise<void> {
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
    const shard = shardOf(path, index.shards.length);
    try {
      await index.stage({ shard, version, vectors, terms, attributes: metadata });
    } catch (error) {
      // Closed while the server is not: it was succeeded, and whoever comes again finds its successor.
      const isPassing = error instanceof IndexError && (isBusy(error) || error.code === 'closed');
      throw isPassing ? indexBusy(error) : error;
    }
  }

  /**
   * After a change whose write failed: search answers again from what the store says. False when that was not
   * possible: then the shards stay wrong until they are opened again, from a store that knows nothing of the change.
   */
  async #undo(collectionId: string, entry: IndexEntry, undo: UndoRecord): Promise<boolean> {
    for (let attempt = 1; attempt <= undoAttemptsMax && !this.#stop.signal.aborted; attempt += 1) {
      if (this.#entries.get(collectionId) !== entry) return false;
      try {
        if (undo.removed !== null) await this.#restage(collectionId, undo.removed);
        this.commit(collectionId, this.#reverse(undo));
        return true;
      } catch (error) {
        // Deleted meanwhile: nothing answers from these shards any more.
        if (this.#entries.get(collectionId) !== entry) return false;
        const fields = { collectionId, attempt, error: String(error) };
        this.#options.logger.error(fields, 'a change whose write failed cannot be undone yet');
        await wait(undoRetryMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
    }
    return false;
  }

  /** The change that takes back what a change did. */
  #reverse({ shard, added, removed }: UndoRecord): IndexChange {
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
  async #quiesce<T>(entry: IndexEntry, work: () => Promise<T>, isRepair = false): Promise<T | null> {
    let open = () => {};
    entry.barrier = new Promise((resolve) => {
      open = resolve;
    });
    try {
      while (entry.pendingWrites.size > 0) await Promise.all(entry.pendingWrites);
      // The shards show a change that never happened: the next round comes when it is undone.
      if (entry.undoCount > 0) return null;
      return isRepair || !(entry.isInconsistent || entry.isRepairing) ? await work() : null;
    } finally {
      entry.barrier = null;
      open();
    }
  }

  /** The same between two snapshots; null also when the collection is gone. */
  #runExclusive<T>(
    collectionId: string,
    work: (entry: IndexEntry) => Promise<T | null>,
    isRepair = false,
  ): Promise<T | null> {
    const run = this.#snapshotting.then(() => {
      const entry = this.#entries.get(collectionId);
      return entry === undefined ? null : this.#quiesce(entry, () => work(entry), isRepair);
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
    const options = { signal: this.#stop.signal, ref: false };
    await wait(this.#options.retireMs, undefined, options).catch(() => {});
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
    const collection = this.#options.collections.findById(collectionId);
    if (collection !== undefined && getGeneration(collection) === generation) return true;
    if (this.#creating.has(folderName(collectionId, generation))) return true;
    if (this.#opening.has(collectionId) || this.#dropping.has(collectionId)) return true;
    const entry = this.#entries.get(collectionId);
    const open = [entry, entry?.replacement, this.#retired.get(collectionId)];
    return open.some((index) => index?.generation === generation);
  }

  async #restage(collectionId: string, version: number): Promise<void> {
    const record = this.#options.versions.get(collectionId, version);
    await this.stage(assertDefined(record, 'a version that search answered from has a record'), null);
  }

  async #snapshotAll(changesMin: number): Promise<void> {
    const failures: unknown[] = [];
    for (const [collectionId, entry] of this.#entries) {
      // Closed shards have nothing to write; the change log holds what they showed.
      if (entry.isRepairing || entry.retainsLog || countUnsavedChanges(entry) < changesMin) continue;
      try {
        await this.#snapshot(collectionId, entry);
      } catch (error) {
        // A collection that was deleted meanwhile needs no snapshot.
        if (this.#entries.get(collectionId) === entry) failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #snapshot(collectionId: string, entry: IndexEntry): Promise<void> {
    const { changes, sequence, logger } = this.#options;
    const snapshot = await this.#quiesce(entry, async () => {
      await changes.writeBarrier(collectionId);
      const { changesSinceSnapshot, index } = entry;
      // Before it begins: what ends in the same moment is written once more rather than never.
      const { compactions } = index.statistics();
      return {
        changed: changesSinceSnapshot,
        compactions,
        covered: sequence.next(),
        writing: index.snapshot(),
      };
    });
    if (snapshot === null) return;
    const { changed: changesSinceSnapshot, compactions, covered, writing } = snapshot;
    const { bytes } = await writing;
    logger.debug({ collectionId, covered, bytes }, 'collection index snapshot written');
    // Whatever the log holds came before. The shards may not tell: those that are empty again have seen no change.
    while ((await changes.trim(collectionId, covered, trimChangesMax)) === trimChangesMax);
    entry.changesSinceSnapshot -= changesSinceSnapshot;
    entry.compactionsAtSnapshot = compactions;
  }
}

interface LoadingIndex {
  readonly collectionId: string;
  readonly generation: number;
  readonly index: CollectionIndex;
}

function newIndexEntry(index: CollectionIndex, generation: number): IndexEntry {
  return {
    index,
    generation,
    staged: new Set(),
    replacement: null,
    retainsLog: false,
    changesSinceSnapshot: 0,
    compactionsAtSnapshot: 0,
    pendingWrites: new Set(),
    undoCount: 0,
    isInconsistent: false,
    isRepairing: false,
    barrier: null,
  };
}

/** Changes of the shards that no snapshot holds. */
function countUnsavedChanges({ index, changesSinceSnapshot, compactionsAtSnapshot }: IndexEntry): number {
  return changesSinceSnapshot + index.statistics().compactions - compactionsAtSnapshot;
}

/** The vectors that a collection was made with lie where those of the first builds do. */
function folderName(collectionId: string, generation: number): string {
  return generation === 0 ? collectionId : `${collectionId}.${generation}`;
}

function modelChangeInProgress(): AppError {
  return new AppError('unavailable', 'The collection changes its model just now; try again in a moment.', {
    retryAfterMs: 250,
  });
}

function repairInProgress(): AppError {
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

function indexBusy(cause: IndexError): AppError {
  return new AppError('unavailable', 'The index takes no more rows just now; try again in a moment.', {
    retryAfterMs: busyRetryMs,
    cause,
  });
}

function serverClosing(): AppError {
  return new AppError('unavailable', 'The server is shutting down; try again in a moment.', {
    retryAfterMs: 2_000,
  });
}

/** The entries in their order, `stagingMax` at a time. */
async function* inBatches<T>(entries: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T[], void, void> {
  let group: T[] = [];
  for await (const entry of entries) {
    group.push(entry);
    if (group.length < stagingMax) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
