import type { Collections } from '../storage/collections.ts';
import { ExpectationFailedError } from '../storage/store.ts';
import type { VersionHistory } from '../storage/version-history.ts';
import type { MaintenanceTask } from './maintenance.ts';

export interface HistoryTrimOptions {
  readonly collections: Pick<Collections, 'findById'>;
  readonly history: Pick<VersionHistory, 'listCollections' | 'trim'>;
  /** Time for the deletion of data, in milliseconds since the epoch; follows a clock that jumps ahead in steps. */
  readonly now: () => Promise<number>;
}

/** Milliseconds between two runs: the longest time for which versions are kept beyond `history_days`. */
const intervalMs = 15_000;
const dayMs = 86_400_000;

/** Returns the task that deletes versions that were kept long enough, and the history of collections that keep none. */
export function createHistoryTrimTask({ collections, history, now }: HistoryTrimOptions): MaintenanceTask {
  return {
    name: 'history',
    intervalMs,
    run: async (signal) => {
      const ids = await history.listCollections();
      if (ids.length === 0) return;
      const today = await now();
      for (const collectionId of ids) {
        if (signal.aborted) return;
        const collection = collections.findById(collectionId);
        // Deleted: the sweep deletes everything.
        if (collection === undefined) continue;
        const { historyDays } = collection;
        const atMin = historyDays === undefined ? null : today - historyDays * dayMs;
        try {
          await history.trim(collectionId, { atMin, signal });
        } catch (error) {
          // The history was started again or a document erased meanwhile: the next run continues.
          if (!(error instanceof ExpectationFailedError)) throw error;
        }
      }
    },
  };
}
