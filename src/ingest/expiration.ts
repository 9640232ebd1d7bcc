import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Collections } from '../storage/collections.ts';
import type { Documents } from '../storage/documents.ts';
import { deleteExpiration, type Expiration, listExpired } from '../storage/expirations.ts';
import type { Store } from '../storage/store.ts';
import type { DocumentWriter } from './document-writer.ts';
import type { MaintenanceTask } from './maintenance.ts';

export interface ExpirationOptions {
  readonly store: Store;
  readonly collections: Pick<Collections, 'findById'>;
  readonly documents: Pick<Documents, 'get'>;
  readonly writer: Pick<DocumentWriter, 'remove'>;
  /** Time for the deletion of data, in milliseconds since the epoch; follows a clock that jumps ahead in steps. */
  readonly now: () => Promise<number>;
  readonly logger: Logger;
}

/** Milliseconds between two runs. Expired documents are hidden at once and need no more than storage. */
const intervalMs = 5_000;

/** Returns the task that deletes expired documents. */
export function createExpirationTask(options: ExpirationOptions): MaintenanceTask {
  return {
    name: 'expired documents',
    intervalMs,
    run: async (signal) => {
      const deleted = await deleteExpired(options, signal);
      if (deleted > 0) options.logger.info({ documents: deleted }, 'expired documents deleted');
    },
  };
}

/** Deletes all documents that have expired; stops after the current batch when `signal` aborts. */
async function deleteExpired(options: ExpirationOptions, signal: AbortSignal): Promise<number> {
  const now = await options.now();
  let deleted = 0;
  for (;;) {
    const expired = await listExpired(options.store, now, limits.expirationBatchMax);
    for (const [collectionId, paths] of groupByCollection(expired))
      deleted += await deleteOf(options, collectionId, { paths, now });
    const stale = expired.filter((entry) => isStale(options, entry));
    if (stale.length > 0) await options.store.write(stale.map(deleteExpiration), { mayUseReserve: true });
    if (expired.length < limits.expirationBatchMax || signal.aborted) return deleted;
  }
}

async function deleteOf(
  { collections, writer }: ExpirationOptions,
  collectionId: string,
  { paths, now }: { readonly paths: readonly string[]; readonly now: number },
): Promise<number> {
  const collection = collections.findById(collectionId);
  if (collection === undefined) return 0;
  const isVisible = ({ expiresAt }: { readonly expiresAt?: number }) =>
    expiresAt !== undefined && expiresAt <= now;
  return (await writer.remove(collection, paths, { isVisible, erasesHistory: true })).length;
}

/** Whether no document has this expiry time: its collection was deleted. */
function isStale({ documents }: ExpirationOptions, { collectionId, path, expiresAt }: Expiration): boolean {
  return documents.get(collectionId, path)?.expiresAt !== expiresAt;
}

function groupByCollection(expired: readonly Expiration[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { collectionId, path } of expired) {
    const paths = groups.get(collectionId) ?? [];
    paths.push(path);
    groups.set(collectionId, paths);
  }
  return groups;
}
