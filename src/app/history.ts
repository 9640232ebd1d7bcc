import { join } from 'node:path';
import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import { queryLimits } from '../core/query-limits.ts';
import { Sealer } from '../core/sealer.ts';
import { CollectionIndex } from '../index/collection-index.ts';
import { createHistoryTrimTask } from '../ingest/history-trim.ts';
import type { MaintenanceTask } from '../ingest/maintenance.ts';
import { PastSearch } from '../search/past-search.ts';
import { Moments } from '../services/moments.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import type { ErasureClock } from '../storage/erasure-clock.ts';
import { deriveSecrets } from '../storage/installation-secrets.ts';
import { clock, random } from './runtime.ts';
import type { Storage } from './storage.ts';

/** Components of the history of collections. */

export function createPastSearch(
  { indexPath }: Pick<DataDirectory, 'indexPath'>,
  { history, versions, contents }: Pick<Storage, 'history' | 'versions' | 'contents'>,
): PastSearch {
  return new PastSearch({
    history,
    versions,
    contents,
    clock,
    // An index of up to 64 MiB of vectors: one at a time.
    semaphore: createOrganizationSemaphore({
      permits: 1,
      waitingMax: queryLimits.pastQueriesWaitingMax,
      noun: 'past queries',
    }),
    createIndex: (dimensions) => {
      // A folder of a crash is deleted at the next start, like that of a deleted collection.
      const collectionId = random.uuid();
      return CollectionIndex.open({
        collectionId,
        dimensions,
        shards: 1,
        directory: join(indexPath, collectionId),
      });
    },
  });
}

export function createMoments({ secrets }: Pick<DataDirectory, 'secrets'>): Moments {
  return new Moments(new Sealer(deriveSecrets(secrets, 'history'), random));
}

export function createHistoryTask(storage: Storage, erasure: ErasureClock): MaintenanceTask {
  return createHistoryTrimTask({ ...storage, now: () => erasure.now() });
}
