import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { assertDefined } from '../core/assert.ts';
import type { Logger } from '../core/logger.ts';
import type { ChangeLogEntry } from '../storage/changes.ts';
import type { Contents } from '../storage/content.ts';
import type { IndexBlock } from '../storage/index-blocks.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { Versions } from '../storage/versions.ts';
import { type CollectionIndex, IndexError } from './collection-index.ts';
import type { IndexEntry } from './index-entry.ts';
import type { OpenIndexes } from './open-indexes.ts';
import { shardOf } from './shard-of.ts';
import { isShardBusy, type StagedVersion, stageVersion } from './stage-version.ts';
import { modelChangeInProgress, repairInProgress } from './unavailable-errors.ts';

export interface IndexChangesOptions {
  readonly openIndexes: Pick<OpenIndexes, 'get' | 'find' | 'isCurrent'>;
  readonly versions: Pick<Versions, 'get'>;
  readonly contents: Pick<Contents, 'blocks'>;
  readonly sequence: Pick<Sequence, 'next'>;
  /** Notified of versions that search no longer finds. */
  readonly reader: Pick<VersionReader, 'evict'>;
  readonly logger: Logger;
  /** Aborts when the server closes. */
  readonly stop: AbortSignal;
}

/** Effect of a change, for undoing it when its write fails. */
export interface UndoRecord {
  readonly shard: number;
  readonly added: number | null;
  readonly removed: number | null;
}

/** Maximum number of attempts to undo a change, and milliseconds between them. */
const undoAttemptsMax = 20;
const undoRetryMs = 500;
/** Milliseconds between attempts to stage a version while its shard is busy. */
const busyWaitMs = 50;
/** Error codes of transient conditions. */
const transientCodes: ReadonlySet<IndexError['code']> = new Set(['busy', 'closed', 'memory', 'io']);

/** Changes the versions that search sees, and undoes a change when its write to the store fails. */
export class IndexChanges {
  readonly #options: IndexChangesOptions;

  constructor(options: IndexChangesOptions) {
    this.#options = options;
  }

  /**
   * Stages the rows of a version in its shard, invisible until a change adds it. Waits while the shard is
   * busy, for example with a compaction, until `signal` aborts. `block`: the rows; null to read them from the
   * store.
   */
  async stage(staged: StagedVersion, block: IndexBlock | null, signal?: AbortSignal): Promise<void> {
    const { openIndexes, contents } = this.#options;
    const index = openIndexes.get(staged.collectionId);
    const entry = assertDefined(openIndexes.find(staged.collectionId), 'open shards have an index entry');
    const rows = block ?? (await contents.blocks.readBlock(staged.documentId, entry.generation));
    if (rows === undefined || (rows.generation ?? 0) !== entry.generation) throw modelChangeInProgress();
    await this.#retryWhileBusy(() => stageVersion(index, staged, rows), signal);
    entry.staged.set(staged.version, rows.rowCount);
  }

  unstage({ collectionId, path, version }: StagedVersion): void {
    const entry = this.#options.openIndexes.find(collectionId);
    entry?.staged.delete(version);
    if (entry?.isRepairing !== true) entry?.index.discard(shardOf(path, entry.index.shards.length), version);
  }

  /** Resolves when a change may be made. */
  async waitUntilReady(collectionId: string): Promise<void> {
    for (;;) {
      const barrier = this.#options.openIndexes.find(collectionId)?.barrier ?? null;
      if (barrier === null) return;
      await barrier;
    }
  }

  /**
   * Switches the versions that search sees, immediately and atomically. In the same turn of the event loop
   * the caller must hand the write to the store and pass the promise of the write to `trackWrite`.
   */
  commit(collectionId: string, change: ChangeLogEntry): void {
    const { openIndexes, reader } = this.#options;
    const entry = openIndexes.find(collectionId);
    if (entry === undefined) return;
    if (entry.isRepairing) throw repairInProgress();
    // The version was staged in shards that have been replaced since.
    if (change.add !== undefined && !entry.staged.has(change.add)) throw modelChangeInProgress();
    commitTo(entry.index, change);
    entry.changesSinceSnapshot += 1;
    if (change.add !== undefined) {
      entry.rowsSinceSnapshot += entry.staged.get(change.add) ?? 0;
      entry.staged.delete(change.add);
    }
    entry.replacement?.recordChange(change);
    if (change.remove !== undefined) reader.evict(collectionId, change.remove);
  }

  /**
   * Settles as the write of a change does. If the write failed, the index matches the store again by then,
   * unless the undo failed too.
   */
  async trackWrite(collectionId: string, undo: UndoRecord, written: Promise<void>): Promise<void> {
    const entry = this.#options.openIndexes.find(collectionId);
    if (entry === undefined) return written;
    const settled = written.catch(() => {});
    entry.pendingWrites.add(settled);
    try {
      await written;
    } catch (error) {
      entry.undoCount += 1;
      entry.pendingWrites.delete(settled);
      if (!(await this.#undo(entry, undo))) {
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
   * Retries while the shard is busy. A waiting document keeps its indexing slot, so that later documents
   * wait, too.
   */
  async #retryWhileBusy(stage: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    const { stop } = this.#options;
    for (;;) {
      try {
        await stage();
        return;
      } catch (error) {
        if (!isShardBusy(error) || stop.aborted) throw error;
      }
      const ended = signal === undefined ? stop : AbortSignal.any([stop, signal]);
      await wait(busyWaitMs, undefined, { signal: ended }).catch(() => {});
      signal?.throwIfAborted();
    }
  }

  /**
   * Undoes a change whose write failed, so that the index matches the store again. Returns false when that
   * was not possible: the shards then stay inconsistent until they are reopened from a store without the
   * change.
   */
  async #undo(entry: IndexEntry, undo: UndoRecord): Promise<boolean> {
    const { openIndexes, logger, stop } = this.#options;
    const { collectionId } = entry;
    for (let attempt = 1; attempt <= undoAttemptsMax && !stop.aborted; attempt += 1) {
      if (!openIndexes.isCurrent(entry)) return false;
      try {
        if (undo.removed !== null) await this.#restage(collectionId, undo.removed);
        this.commit(collectionId, this.#reverse(undo));
        return true;
      } catch (error) {
        // The collection was deleted meanwhile: no search uses these shards.
        if (!openIndexes.isCurrent(entry)) return false;
        const fields = { collectionId, attempt, error: String(error) };
        logger.error(fields, 'undoing a failed change failed, will retry');
        await wait(undoRetryMs, undefined, { signal: stop }).catch(() => {});
      }
    }
    return false;
  }

  async #restage(collectionId: string, version: number): Promise<void> {
    const record = this.#options.versions.get(collectionId, version);
    await this.stage(assertDefined(record, 'a version that was live has a record'), null);
  }

  /** Returns the inverse of a change. */
  #reverse({ shard, added, removed }: UndoRecord): ChangeLogEntry {
    return {
      sequence: this.#options.sequence.next(),
      shard,
      ...(removed === null ? {} : { add: removed }),
      ...(added === null ? {} : { remove: added }),
    };
  }
}

/** Commits a change. Errors: 503 if the shards cannot take a change now; the write is then not begun. */
function commitTo(index: CollectionIndex, change: ChangeLogEntry): void {
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
