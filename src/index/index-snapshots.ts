import { Mutex } from '../core/async/mutex.ts';
import type { Logger } from '../core/logger.ts';
import type { ChangeLog } from '../storage/changes.ts';
import type { Sequence } from '../storage/sequence.ts';
import type { IndexEntry } from './index-entry.ts';
import type { OpenIndexes } from './open-indexes.ts';

export interface IndexSnapshotsOptions {
  readonly openIndexes: Pick<OpenIndexes, 'list' | 'find' | 'isCurrent'>;
  readonly changes: Pick<ChangeLog, 'writeBarrier' | 'trim'>;
  readonly sequence: Pick<Sequence, 'next'>;
  readonly logger: Logger;
}

/** Number of log changes trimmed per write. */
const trimChangesMax = 10_000;

/**
 * Writes the shards to disk and trims the change log up to there.
 *
 * A snapshot never contains a change that the store could still lose, and never covers an undone change that
 * the store could still keep: it waits for the writes of all visible changes and for a writable store. Its
 * content is fixed in the turn of the event loop in which it begins.
 */
export class IndexSnapshots {
  readonly #options: IndexSnapshotsOptions;
  readonly #mutex = new Mutex();

  constructor(options: IndexSnapshotsOptions) {
    this.#options = options;
  }

  /**
   * Writes a snapshot of every collection that changed since its last one, or only of those whose snapshot is due. A
   * compaction counts as a change, too: compacted files are smaller, and their vectors use no memory once on disk. A
   * failed snapshot does not prevent the others; the promise then rejects with the first failure.
   */
  write(which: 'changed' | 'due'): Promise<void> {
    return this.#mutex.run(() => this.#writeAll(which));
  }

  /**
   * Same as `IndexEntry.quiesce`, and no snapshot is written meanwhile. Returns null also when the collection
   * is gone.
   */
  runExclusive<T>(
    collectionId: string,
    work: (entry: IndexEntry) => Promise<T | null>,
    isRepair = false,
  ): Promise<T | null> {
    return this.#mutex.run(async () => {
      const entry = this.#options.openIndexes.find(collectionId);
      return entry === undefined ? null : entry.quiesce(() => work(entry), isRepair);
    });
  }

  async #writeAll(which: 'changed' | 'due'): Promise<void> {
    const { openIndexes } = this.#options;
    const failures: unknown[] = [];
    for (const entry of openIndexes.list()) {
      // Closed shards have nothing to write; the change log has their changes.
      if (entry.isRepairing || entry.retainsLog) continue;
      if (which === 'due' ? !entry.isSnapshotDue : entry.unsavedChanges === 0) continue;
      try {
        await this.#write(entry);
      } catch (error) {
        // A collection deleted meanwhile needs no snapshot.
        if (openIndexes.isCurrent(entry)) failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #write(entry: IndexEntry): Promise<void> {
    const { changes, sequence, logger } = this.#options;
    const { collectionId, index } = entry;
    const snapshot = await entry.quiesce(async () => {
      await changes.writeBarrier(collectionId);
      return {
        changed: entry.changesSinceSnapshot,
        added: entry.rowsSinceSnapshot,
        // Read before the snapshot begins: a compaction that ends at the same time is written twice rather
        // than never.
        compactions: index.statistics().compactions,
        covered: sequence.next(),
        writing: index.snapshot(),
      };
    });
    if (snapshot === null) return;
    const { changed, added, compactions, covered, writing } = snapshot;
    const { bytes } = await writing;
    logger.debug({ collectionId, covered, bytes }, 'collection index snapshot written');
    // All log entries precede `covered`. The sequences of the shards cannot be used: a shard that is empty
    // again has recorded no change.
    while ((await changes.trim(collectionId, covered, trimChangesMax)) === trimChangesMax);
    entry.changesSinceSnapshot -= changed;
    entry.rowsSinceSnapshot -= added;
    entry.compactionsAtSnapshot = compactions;
  }
}
