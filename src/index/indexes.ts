import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { assertDefined } from '../core/assert.ts';
import { uuidPattern } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { ChangeLog, ChangeLogEntry, LiveVersions } from '../storage/changes.ts';
import { type Collection, type Collections, getGeneration, type VectorSet } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { IndexBlock } from '../storage/index-blocks.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { VersionRecord, Versions } from '../storage/versions.ts';
import { CollectionIndex, type IndexChange, IndexError } from './collection-index.ts';
import { ReplacementIndex } from './replacement-index.ts';
import { shardOf } from './shard-of.ts';

export interface IndexesOptions {
  /** Folder with one snapshot folder per collection. */
  readonly folder: string;
  readonly sequence: Sequence;
  readonly changes: ChangeLog;
  readonly live: LiveVersions;
  readonly collections: Collections;
  readonly versions: Versions;
  readonly contents: Contents;
  /** Notified of versions that search no longer finds. */
  readonly reader: Pick<VersionReader, 'evict' | 'evictCollection'>;
  /** Milliseconds that replaced shards stay open, for queries that began before the replacement. */
  readonly retireMs: number;
  readonly logger: Logger;
}

/** Effect of a change, for undoing it when its write fails. */
export interface UndoRecord {
  readonly shard: number;
  readonly added: number | null;
  readonly removed: number | null;
}

/** Fields of a version that staging needs besides its rows. */
export type StagedVersion = Pick<
  VersionRecord,
  'collectionId' | 'version' | 'documentId' | 'path' | 'metadata'
>;

interface IndexEntry {
  readonly index: CollectionIndex;
  /** Generation of the collection's vectors in this index. */
  readonly generation: number;
  /** Staged versions that a change may add. */
  readonly staged: Set<number>;
  /** Index that is to replace this one; every change is recorded in it. */
  replacement: ReplacementIndex | null;
  /** The replacement is on disk: log entries from that point on must be kept. */
  retainsLog: boolean;
  /** Number of changes since the last snapshot. */
  changesSinceSnapshot: number;
  /** Number of compactions completed when the last snapshot began. */
  compactionsAtSnapshot: number;
  /** Changes visible in the shards whose writes are in flight; none of these promises rejects. */
  readonly pendingWrites: Set<Promise<void>>;
  /** Number of changes being undone after a failed write; no snapshot may be taken while it is above 0. */
  undoCount: number;
  /** A change could not be undone: the shards are wrong until reopened, and no snapshot may be taken. */
  isInconsistent: boolean;
  /** The index file is damaged and the index is being reopened. */
  isRepairing: boolean;
  /** Set while an exclusive operation waits for in-flight changes; new changes wait for it. */
  barrier: Promise<void> | null;
}

/** A replaced index, kept for queries that began before the replacement. */
interface RetiredIndex {
  readonly generation: number;
  readonly index: CollectionIndex;
  readonly dropped: Promise<void>;
}

/** Number of log changes trimmed per write. */
const trimChangesMax = 10_000;
/** Number of documents restaged concurrently. */
const stagingMax = 16;
/** Maximum number of attempts to undo a change, and milliseconds between them. */
const undoAttemptsMax = 20;
const undoRetryMs = 500;
/** Milliseconds that running searches may continue before damaged shards are closed. */
const searchGraceMs = 250;
/**
 * `retryAfterMs` of the error when the engine is too busy to stage rows, and delay between internal attempts.
 */
const busyRetryMs = 1_000;
const busyWaitMs = 50;

/**
 * The shards of every collection, kept consistent with the live versions in the store. At start they are
 * loaded from snapshots and the change log is replayed; shards with a missing or damaged snapshot are rebuilt
 * from the store.
 *
 * A snapshot never contains a change that the store could still lose, and never covers an undone change that
 * the store could still keep: it waits for the writes of all visible changes and for a writable store. Its
 * content is fixed in the turn of the event loop in which it begins.
 */
export class Indexes {
  readonly #options: IndexesOptions;
  readonly #entries = new Map<string, IndexEntry>();
  readonly #opening = new Map<string, Promise<void>>();
  readonly #dropping = new Map<string, Promise<void>>();
  readonly #repairing = new Map<string, Promise<void>>();
  readonly #retired = new Map<string, RetiredIndex>();
  /** Folder names of replacement indexes that are being opened. */
  readonly #creating = new Set<string>();
  #snapshotting: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #closing: Promise<void> | null = null;

  constructor(options: IndexesOptions) {
    this.#options = options;
  }

  /**
   * Returns the open shards of a collection, by default the current ones. A caller with a query vector passes
   * the `generation` the vector belongs to. Errors: 503 while the shards are loading or being repaired, 404
   * if the collection was just deleted.
   */
  get(collectionId: string, generation?: number): CollectionIndex {
    const entry = this.#entries.get(collectionId);
    if (entry?.isRepairing === true) throw repairInProgress();
    if (entry !== undefined && (generation === undefined || entry.generation === generation))
      return entry.index;
    // The store names the replacement shortly before it is promoted, and queries may have begun before that.
    const otherIndexes = [entry?.replacement, this.#retired.get(collectionId)];
    for (const other of otherIndexes) if (other && other.generation === generation) return other.index;
    if (this.#options.collections.findById(collectionId) === undefined) {
      throw new AppError('not_found', 'The collection was deleted.');
    }
    throw new AppError('unavailable', 'The collection is still loading. Try again in a moment.', {
      retryAfterMs: 1_000,
    });
  }

  has(collectionId: string): boolean {
    return this.#entries.has(collectionId);
  }

  /**
   * Loads a collection, or creates its empty shards. Afterwards the index contains exactly the live versions
   * of the store.
   */
  async open(collection: Collection): Promise<void> {
    if (this.#closing !== null) throw serverClosing();
    const opening = this.#open(collection).finally(() => this.#opening.delete(collection.collectionId));
    this.#opening.set(collection.collectionId, opening);
    await opening;
  }

  /**
   * Stages the rows of a version in its shard, invisible until a change adds it. Waits while the shard is
   * busy, for example with a compaction, until `signal` aborts. `block`: the rows; null to read them from the
   * store.
   */
  async stage(staged: StagedVersion, block: IndexBlock | null, signal?: AbortSignal): Promise<void> {
    const index = this.get(staged.collectionId);
    const entry = assertDefined(this.#entries.get(staged.collectionId), 'open shards have an index entry');
    const rows =
      block ?? (await this.#options.contents.blocks.readBlock(staged.documentId, entry.generation));
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
   * Switches the versions that search sees, immediately and atomically. In the same turn of the event loop
   * the caller must hand the write to the store and pass the promise of the write to `trackWrite`.
   */
  commit(collectionId: string, change: IndexChange): void {
    const entry = this.#entries.get(collectionId);
    if (entry === undefined) return;
    if (entry.isRepairing) throw repairInProgress();
    // The version was staged in shards that have been replaced since.
    if (change.add !== undefined && !entry.staged.has(change.add)) throw modelChangeInProgress();
    commitTo(entry.index, change);
    if (change.add !== undefined) entry.staged.delete(change.add);
    entry.changesSinceSnapshot += 1;
    entry.replacement?.recordChange(change);
    if (change.remove !== undefined) this.#options.reader.evict(collectionId, change.remove);
  }

  /**
   * Settles as the write of a change does. If the write failed, the index matches the store again by then,
   * unless the undo failed too.
   */
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
        // The store does not have this change, so the replacement must not keep it.
        entry.replacement?.recordChange(this.#reverse(undo));
      }
      entry.undoCount -= 1;
      throw error;
    } finally {
      entry.pendingWrites.delete(settled);
    }
  }

  /**
   * Removes a collection immediately and deletes its files in the background. Running searches end by
   * themselves.
   */
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
        this.#options.logger.warn(fields, 'deleting snapshots failed, will retry at the next start');
      })
      .finally(() => this.#dropping.delete(collectionId));
    this.#dropping.set(collectionId, dropping);
  }

  /** Deletes the snapshots of deleted collections, left by a crash. Returns their number. */
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
   * Writes a snapshot of every collection with at least `changesMin` changes since its last one. A compaction
   * counts as a change, too: compacted files are smaller, and their vectors use no memory once on disk. A
   * failed snapshot does not prevent the others; the promise then rejects with the first failure.
   */
  snapshot(changesMin = 1): Promise<void> {
    const all = this.#snapshotting.then(() => this.#snapshotAll(changesMin));
    // The caller handles a failure; the next snapshot runs regardless.
    this.#snapshotting = all.catch(() => {});
    return all;
  }

  /**
   * Opens empty shards for a set of vectors that is to replace the current one. Every change not yet visible
   * in the store is recorded in the replacement. The caller must pass it to `promote`, or to
   * `discardReplacement`.
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
      // These writes began before the replacement recorded changes: afterwards they are in the store, or
      // undone.
      await Promise.all(entry.pendingWrites);
      return replacement;
    } finally {
      this.#creating.delete(name);
    }
  }

  /**
   * Writes a replacement to disk after it has caught up. `catchUp` runs while no change begins and returns
   * whether it finished. Returns false when the call must be retried.
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
   * Replaces the current index by the replacement in one step; `write` records the switch in the store. The
   * old index is dropped once no query can need it. Returns false, with nothing changed, when the call must
   * be retried.
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
      // Skipped when the collection, and its shards with it, was deleted during the write.
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

  /** Drops a replacement that is no longer needed. Does nothing when it was promoted. */
  async discardReplacement(replacement: ReplacementIndex): Promise<void> {
    const entry = this.#entries.get(replacement.collectionId);
    if (entry?.replacement !== replacement) return;
    entry.replacement = null;
    entry.retainsLog = false;
    await replacement.index.drop();
  }

  /** Resolves when the most recently replaced shards have been dropped. */
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

  /** Writes unsaved changes and closes all indexes. Idempotent. */
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
      // The change log has these changes: the next start only takes longer.
      this.#options.logger.warn({ error: String(error) }, 'snapshot at shutdown failed');
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

  /** `previous`: the entry with damaged shards, whose replacement the new entry takes over. */
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
      if (replayed + rebuilt > 0) this.#options.logger.info(fields, 'collection index recovered');
      // Log entries left by an interrupted snapshot are trimmed with the next snapshot.
      const changesSinceSnapshot = replayed + rebuilt + ((await this.#hasLog(collectionId)) ? 1 : 0);
      // Read in the same turn of the event loop in which the new entry starts to receive changes.
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

  /** Makes queries and changes use this entry from now on. */
  #install(collectionId: string, entry: IndexEntry): void {
    entry.index.onDamaged = (error) => this.#beginRepair(collectionId, entry, error);
    this.#entries.set(collectionId, entry);
  }

  #beginRepair(collectionId: string, entry: IndexEntry, error: IndexError): void {
    // Ignores searches of shards that were replaced or reopened: these are not the current shards.
    if (this.#entries.get(collectionId) !== entry) return;
    if (this.#repairing.has(collectionId) || this.#closing !== null) return;
    const directory = join(this.#options.folder, folderName(collectionId, entry.generation));
    this.#options.logger.error(
      { collectionId, directory, error: error.message },
      'shard snapshot truncated or unreadable, reopening the collection',
    );
    const repairing = this.#repair(collectionId, entry).finally(() => this.#repairing.delete(collectionId));
    this.#repairing.set(collectionId, repairing);
  }

  /** Reopens the shards, which rebuilds those with damaged files. Queries get 503 meanwhile. */
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
        logger.error(
          { collectionId, error: String(error) },
          'reopening a damaged collection failed, will retry',
        );
        await this.#pauseRepair();
      }
    }
  }

  /** Makes one attempt; returns null when the current shards are not the damaged ones. */
  async #reopen(collectionId: string, current: IndexEntry, damaged: IndexEntry): Promise<true | null> {
    const { collections, changes } = this.#options;
    const { signal } = this.#stop;
    if (current !== damaged) return null;
    damaged.isRepairing = true;
    await changes.writeBarrier(collectionId);
    // Grace period for searches that began before.
    await wait(searchGraceMs, undefined, { signal }).catch(() => {});
    await damaged.index.close();
    const collection = collections.findById(collectionId);
    if (collection !== undefined && !signal.aborted) await this.#open(collection, damaged);
    return true;
  }

  /** Lets other work run before the next attempt, in particular an undo that the repair waits for. */
  async #pauseRepair(): Promise<void> {
    await wait(undoRetryMs, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  async #hasLog(collectionId: string): Promise<boolean> {
    for await (const _ of this.#options.changes.readAfter(collectionId, -1)) return true;
    return false;
  }

  /** Fills the shards that had no usable snapshot. Returns the number of documents. */
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

  /** Applies the changes missing from the loaded shards, in sequence order. Returns their number. */
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
    // A version removed by a later change is not restored first; its content may be deleted already.
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

  /** Stages live versions. Returns the entries that could be staged; the others are logged. */
  async #stageAll(
    loading: LoadingIndex,
    entries: readonly { readonly shard: number; readonly version: number }[],
  ) {
    if (this.#stop.signal.aborted) throw serverClosing();
    const staged = await Promise.all(entries.map(({ version }) => this.#stageWhenReady(loading, version)));
    return entries.filter(({ version }, i) => {
      if (staged[i] !== true) {
        const { collectionId } = loading;
        this.#options.logger.error({ collectionId, version }, 'live version without content');
      }
      return staged[i];
    });
  }

  /**
   * Stages a version and waits while the shard is busy, for example with its compaction. Returns false when
   * the store has no rows for it.
   */
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
          record === undefined ? undefined : await contents.blocks.readBlock(record.documentId, generation);
        if (record === undefined || block === undefined) return false;
        await this.#stage(index, record, block);
        return true;
      } catch (error) {
        if (!(error instanceof AppError) || error.options.retryAfterMs === undefined) throw error;
        await wait(error.options.retryAfterMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
    }
  }

  /**
   * Retries while the shard is busy. A waiting document keeps its indexing slot, so that later documents
   * wait, too.
   */
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
      // Closed while the server is running: the index was replaced, and a retry finds the replacement.
      const isTransient = error instanceof IndexError && (isBusy(error) || error.code === 'closed');
      throw isTransient ? indexBusy(error) : error;
    }
  }

  /**
   * Undoes a change whose write failed, so that the index matches the store again. Returns false when that
   * was not possible: the shards then stay wrong until they are reopened from a store without the change.
   */
  async #undo(collectionId: string, entry: IndexEntry, undo: UndoRecord): Promise<boolean> {
    for (let attempt = 1; attempt <= undoAttemptsMax && !this.#stop.signal.aborted; attempt += 1) {
      if (this.#entries.get(collectionId) !== entry) return false;
      try {
        if (undo.removed !== null) await this.#restage(collectionId, undo.removed);
        this.commit(collectionId, this.#reverse(undo));
        return true;
      } catch (error) {
        // The collection was deleted meanwhile: no search uses these shards.
        if (this.#entries.get(collectionId) !== entry) return false;
        const fields = { collectionId, attempt, error: String(error) };
        this.#options.logger.error(fields, 'undoing a failed change failed, will retry');
        await wait(undoRetryMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
    }
    return false;
  }

  /** Returns the inverse of a change. */
  #reverse({ shard, added, removed }: UndoRecord): IndexChange {
    return {
      sequence: this.#options.sequence.next(),
      shard,
      ...(removed === null ? {} : { add: removed }),
      ...(added === null ? {} : { remove: added }),
    };
  }

  /**
   * Runs `work` while no change of the collection is in flight or begins. Returns null while a change is
   * being undone, and also while the shards are inconsistent or being repaired, unless `isRepair` is set: the
   * work then reopens them.
   */
  async #quiesce<T>(entry: IndexEntry, work: () => Promise<T>, isRepair = false): Promise<T | null> {
    let open = () => {};
    entry.barrier = new Promise((resolve) => {
      open = resolve;
    });
    try {
      while (entry.pendingWrites.size > 0) await Promise.all(entry.pendingWrites);
      // The shards show a change that the store does not have; the caller retries after the undo.
      if (entry.undoCount > 0) return null;
      return isRepair || !(entry.isInconsistent || entry.isRepairing) ? await work() : null;
    } finally {
      entry.barrier = null;
      open();
    }
  }

  /** Same as `#quiesce`, serialized with snapshots. Returns null also when the collection is gone. */
  #runExclusive<T>(
    collectionId: string,
    work: (entry: IndexEntry) => Promise<T | null>,
    isRepair = false,
  ): Promise<T | null> {
    const run = this.#snapshotting.then(() => {
      const entry = this.#entries.get(collectionId);
      return entry === undefined ? null : this.#quiesce(entry, () => work(entry), isRepair);
    });
    // The caller handles a failure; the next snapshot runs regardless.
    this.#snapshotting = run.then(
      () => {},
      () => {},
    );
    return run;
  }

  /**
   * Drops replaced shards after the maximum duration of a query. If the server closes first, the next start
   * drops them.
   */
  async #dropLater(collectionId: string, index: CollectionIndex): Promise<void> {
    const options = { signal: this.#stop.signal, ref: false };
    await wait(this.#options.retireMs, undefined, options).catch(() => {});
    // The collection may have been deleted with its shards meanwhile.
    if (this.#stop.signal.aborted || this.#retired.get(collectionId)?.index !== index) return;
    this.#retired.delete(collectionId);
    try {
      await index.drop();
    } catch (error) {
      const fields = { collectionId, error: String(error) };
      this.#options.logger.warn(fields, 'deleting retired snapshots failed, will retry at the next start');
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
    await this.stage(assertDefined(record, 'a version that was live has a record'), null);
  }

  async #snapshotAll(changesMin: number): Promise<void> {
    const failures: unknown[] = [];
    for (const [collectionId, entry] of this.#entries) {
      // Closed shards have nothing to write; the change log has their changes.
      if (entry.isRepairing || entry.retainsLog || countUnsavedChanges(entry) < changesMin) continue;
      try {
        await this.#snapshot(collectionId, entry);
      } catch (error) {
        // A collection deleted meanwhile needs no snapshot.
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
      // Read before the snapshot begins: a compaction that ends at the same time is written twice rather than
      // never.
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
    // All log entries precede `covered`. The sequences of the shards cannot be used: a shard that is empty
    // again has recorded no change.
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

/** Returns the number of changes that no snapshot contains. */
function countUnsavedChanges({ index, changesSinceSnapshot, compactionsAtSnapshot }: IndexEntry): number {
  return changesSinceSnapshot + index.statistics().compactions - compactionsAtSnapshot;
}

/**
 * Returns the folder name of an index. Generation 0, the initial vectors of a collection, has no suffix, as
 * in the first builds.
 */
function folderName(collectionId: string, generation: number): string {
  return generation === 0 ? collectionId : `${collectionId}.${generation}`;
}

function modelChangeInProgress(): AppError {
  return new AppError('unavailable', 'The model of the collection is being changed. Try again in a moment.', {
    retryAfterMs: 250,
  });
}

function repairInProgress(): AppError {
  return new AppError('unavailable', 'The collection is being repaired. Try again in a moment.', {
    retryAfterMs: 1_000,
  });
}

/** Commits a change. Errors: 503 if the shards cannot take a change now; the write is then not begun. */
function commitTo(index: CollectionIndex, change: IndexChange): void {
  try {
    index.commit(change);
  } catch (error) {
    if (!(error instanceof IndexError) || !transientCodes.has(error.code)) throw error;
    throw new AppError('unavailable', 'The collection cannot be changed at the moment. Try again shortly.', {
      retryAfterMs: 1_000,
      cause: error,
    });
  }
}

/** Error codes of transient conditions. */
const transientCodes: ReadonlySet<IndexError['code']> = new Set(['busy', 'closed', 'memory', 'io']);

function isBusy(error: unknown): boolean {
  return error instanceof IndexError && error.code === 'busy';
}

function indexBusy(cause: IndexError): AppError {
  return new AppError('unavailable', 'The index is busy. Try again in a moment.', {
    retryAfterMs: busyRetryMs,
    cause,
  });
}

function serverClosing(): AppError {
  return new AppError('unavailable', 'The server is shutting down. Try again in a moment.', {
    retryAfterMs: 2_000,
  });
}

/** Yields the entries in order, in batches of `stagingMax`. */
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
