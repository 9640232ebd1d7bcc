import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../core/logger.ts';
import type { ChangeLog } from '../storage/changes.ts';
import type { Collections } from '../storage/collections.ts';
import type { CollectionIndex, IndexError } from './collection-index.ts';
import type { IndexEntry } from './index-entry.ts';
import { formatFolderName } from './index-folder.ts';
import type { IndexLoader } from './index-loader.ts';
import type { IndexSnapshots } from './index-snapshots.ts';
import type { OpenIndexes } from './open-indexes.ts';

export interface IndexRepairsOptions {
  /** Folder with one snapshot folder per index. */
  readonly folder: string;
  readonly openIndexes: Pick<OpenIndexes, 'find' | 'isCurrent' | 'set' | 'remove'>;
  readonly loader: IndexLoader;
  readonly snapshots: Pick<IndexSnapshots, 'runExclusive'>;
  readonly changes: Pick<ChangeLog, 'writeBarrier'>;
  readonly collections: Pick<Collections, 'findById'>;
  readonly logger: Logger;
  /** Aborts when the server closes. */
  readonly stop: AbortSignal;
}

/** An open index whose file was truncated or became unreadable. */
export interface DamagedIndex {
  readonly collectionId: string;
  readonly index: CollectionIndex;
  readonly error: IndexError;
}

/** Milliseconds that running searches may continue before damaged shards are closed. */
const searchGraceMs = 250;
/** Milliseconds between attempts. */
const retryMs = 500;

/**
 * Reopens an index whose files were truncated or became unreadable, which rebuilds the damaged shards from
 * the store. Queries get 503 meanwhile.
 */
export class IndexRepairs {
  readonly #options: IndexRepairsOptions;
  readonly #repairing = new Map<string, Promise<void>>();

  constructor(options: IndexRepairsOptions) {
    this.#options = options;
  }

  /** Begins a repair. Does nothing when the index was replaced or reopened, or is being repaired. */
  begin({ collectionId, index, error }: DamagedIndex): void {
    const { openIndexes, folder, logger, stop } = this.#options;
    const entry = openIndexes.find(collectionId);
    if (entry?.index !== index) return;
    if (this.#repairing.has(collectionId) || stop.aborted) return;
    const directory = join(folder, formatFolderName(entry));
    logger.error(
      { collectionId, directory, error: error.message },
      'shard snapshot truncated or unreadable, reopening the collection',
    );
    const repairing = this.#repair(entry).finally(() => this.#repairing.delete(collectionId));
    this.#repairing.set(collectionId, repairing);
  }

  /** Resolves when no repair is running. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#repairing.values());
  }

  async #repair(damaged: IndexEntry): Promise<void> {
    const { openIndexes, snapshots, collections, logger, stop } = this.#options;
    const { collectionId } = damaged;
    const reopen = (current: IndexEntry) => this.#reopen(current, damaged);
    while (!stop.aborted && openIndexes.isCurrent(damaged)) {
      try {
        const done = await snapshots.runExclusive(collectionId, reopen, true);
        if (collections.findById(collectionId) === undefined) openIndexes.remove(collectionId);
        else if (done === null) await this.#pause();
      } catch (error) {
        const fields = { collectionId, error: String(error) };
        logger.error(fields, 'reopening a damaged collection failed, will retry');
        await this.#pause();
      }
    }
  }

  /** Makes one attempt; returns null when the current shards are not the damaged ones. */
  async #reopen(current: IndexEntry, damaged: IndexEntry): Promise<true | null> {
    const { openIndexes, loader, changes, collections, stop } = this.#options;
    const { collectionId } = damaged;
    if (current !== damaged) return null;
    damaged.isRepairing = true;
    await changes.writeBarrier(collectionId);
    // Grace period for searches that began before.
    await wait(searchGraceMs, undefined, { signal: stop }).catch(() => {});
    await damaged.index.close();
    const collection = collections.findById(collectionId);
    if (collection === undefined || stop.aborted) return true;
    const entry = await loader.load(collection);
    // Read in the same turn of the event loop in which the new entry starts to receive changes.
    entry.replacement = damaged.replacement;
    entry.retainsLog = damaged.retainsLog;
    openIndexes.set(entry);
    return true;
  }

  /** Lets other work run before the next attempt, in particular an undo that the repair waits for. */
  async #pause(): Promise<void> {
    await wait(retryMs, undefined, { signal: this.#options.stop }).catch(() => {});
  }
}
