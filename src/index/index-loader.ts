import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import type { Logger } from '../core/logger.ts';
import { shuttingDownError } from '../core/shutting-down-error.ts';
import type { ChangeLog, ChangeLogEntry, LiveVersions } from '../storage/changes.ts';
import { type Collection, getGeneration } from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { Versions } from '../storage/versions.ts';
import { CollectionIndex } from './collection-index.ts';
import { IndexEntry } from './index-entry.ts';
import { formatFolderName, type IndexGeneration } from './index-folder.ts';
import type { DamagedIndex } from './index-repairs.ts';
import type { ShardVersion } from './replacement-index.ts';
import { stageVersion } from './stage-version.ts';

export interface IndexLoaderOptions {
  /** Folder with one snapshot folder per index. */
  readonly folder: string;
  readonly sequence: Pick<Sequence, 'next'>;
  readonly changes: Pick<ChangeLog, 'readAfter'>;
  readonly live: Pick<LiveVersions, 'list'>;
  readonly versions: Pick<Versions, 'get'>;
  readonly contents: Pick<Contents, 'blocks'>;
  readonly onDamaged: (damaged: DamagedIndex) => void;
  readonly logger: Logger;
  /** Aborts when the server closes. */
  readonly stop: AbortSignal;
}

interface LoadingIndex extends IndexGeneration {
  readonly index: CollectionIndex;
}

/** Number of documents restaged concurrently. */
const stagingMax = 16;

/**
 * Brings the index of a collection to the state of the store: loads the snapshots of its shards, replays the
 * change log, and rebuilds shards with a missing or damaged snapshot from the store.
 */
export class IndexLoader {
  readonly #options: IndexLoaderOptions;

  constructor(options: IndexLoaderOptions) {
    this.#options = options;
  }

  /** The index contains exactly the live versions of the store, if no change is made meanwhile. */
  async load(collection: Collection): Promise<IndexEntry> {
    const { collectionId, dimensions, shards } = collection;
    const generation = getGeneration(collection);
    const name = formatFolderName({ collectionId, generation });
    const directory = join(this.#options.folder, name);
    const index = await CollectionIndex.open({
      collectionId: name,
      dimensions,
      shards,
      directory,
      onDamaged: (error, damaged) => this.#options.onDamaged({ collectionId, index: damaged, error }),
    });
    try {
      const loading = { collectionId, generation, index };
      const loadedRows = index.statistics().rows;
      const replayed = await this.#replay(loading);
      const rebuilt = await this.#rebuild(loading);
      const fields = { collectionId, replayed, rebuilt };
      if (replayed + rebuilt > 0) this.#options.logger.info(fields, 'collection index recovered');
      // Log entries left by an interrupted snapshot are trimmed with the next snapshot.
      const changesSinceSnapshot = replayed + rebuilt + ((await this.#hasLog(collectionId)) ? 1 : 0);
      // A compaction meanwhile may have removed more rows than were added.
      const rowsSinceSnapshot = Math.max(0, index.statistics().rows - loadedRows);
      return new IndexEntry({ ...loading, changesSinceSnapshot, rowsSinceSnapshot });
    } catch (error) {
      await index.close();
      throw error;
    }
  }

  async #hasLog(collectionId: string): Promise<boolean> {
    for await (const _ of this.#options.changes.readAfter(collectionId, -1)) return true;
    return false;
  }

  /** Applies the changes missing from the loaded shards, in sequence order. Returns their number. */
  async #replay(loading: LoadingIndex): Promise<number> {
    const { index } = loading;
    const missedChanges = await this.#listMissedChanges(loading);
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

  async #listMissedChanges({ collectionId, index }: LoadingIndex): Promise<ChangeLogEntry[]> {
    const missedChanges: ChangeLogEntry[] = [];
    const loaded = index.shards.filter(({ state }) => state === 'loaded');
    if (loaded.length === 0) return missedChanges;
    const sequenceByShard = new Map(loaded.map(({ shard, sequence }) => [shard, sequence]));
    const after = Math.min(...sequenceByShard.values());
    for await (const change of this.#options.changes.readAfter(collectionId, after)) {
      const sequence = sequenceByShard.get(change.shard);
      if (sequence !== undefined && change.sequence > sequence) missedChanges.push(change);
    }
    return missedChanges;
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

  /** Stages live versions. Returns those that could be staged; the others are logged. */
  async #stageAll(loading: LoadingIndex, live: readonly ShardVersion[]): Promise<ShardVersion[]> {
    if (this.#options.stop.aborted) throw shuttingDownError();
    const staged = await Promise.all(live.map(({ version }) => this.#stageWhenReady(loading, version)));
    return live.filter(({ version }, i) => {
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
    const { versions, contents, stop } = this.#options;
    for (;;) {
      if (stop.aborted) throw shuttingDownError();
      try {
        const record = versions.get(collectionId, version);
        const block =
          record === undefined ? undefined : await contents.blocks.readBlock(record.documentId, generation);
        if (record === undefined || block === undefined) return false;
        await stageVersion(index, record, block);
        return true;
      } catch (error) {
        if (!(error instanceof AppError) || error.options.retryAfterMs === undefined) throw error;
        await wait(error.options.retryAfterMs, undefined, { signal: stop }).catch(() => {});
      }
    }
  }
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
