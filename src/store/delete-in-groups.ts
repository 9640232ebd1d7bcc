import { limits } from '../base/limits.ts';
import type { Operation, Store } from './store.ts';

/** Writes the deletions that `next` finds, a bounded group at a time, until it finds no more or `signal` aborts. */
export async function deleteInGroups(
  store: Store,
  next: (limit: number) => Promise<readonly Operation[]>,
  signal?: AbortSignal,
): Promise<void> {
  while (signal?.aborted !== true) {
    const deletions = await next(limits.sweepOperationsMax);
    if (deletions.length === 0) return;
    await store.write(deletions, { mayUseReserve: true });
  }
}
