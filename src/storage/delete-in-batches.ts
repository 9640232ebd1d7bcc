import { limits } from '../core/limits.ts';
import type { Store, WriteOperation } from './store.ts';

/** Writes the deletions returned by `nextBatch` in bounded batches, until it returns none or `signal` aborts. */
export async function deleteInBatches(
  store: Store,
  nextBatch: (limit: number) => Promise<readonly WriteOperation[]>,
  signal?: AbortSignal,
): Promise<void> {
  while (signal?.aborted !== true) {
    const deletions = await nextBatch(limits.sweepOperationsMax);
    if (deletions.length === 0) return;
    await store.write(deletions, { mayUseReserve: true });
  }
}
