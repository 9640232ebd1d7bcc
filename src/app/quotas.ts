import type { OrganizationDirectory } from '../accounts/organization-directory.ts';
import { ModelAdmission } from '../admission/model-admission.ts';
import { PersistedBuckets } from '../admission/persisted-buckets.ts';
import { Quotas } from '../admission/quotas.ts';
import { RateLimiter } from '../admission/rate-limiter.ts';
import { systemTimer } from '../admission/timer.ts';
import type { Logger } from '../core/logger.ts';
import type { Pipeline } from './pipeline.ts';
import { clock } from './runtime.ts';
import type { Storage } from './storage.ts';

/** Quotas of organizations. */

/** Reads the storage usage of an organization in the form of replies. */
export function createStorageUsageReader(quotas: Quotas, { ingest }: Pick<Pipeline, 'ingest'>) {
  return async (organizationId: string) => ({
    ...(await quotas.storageUsage(organizationId)),
    ingest_documents: ingest.countPendingOf(organizationId),
  });
}

/** Constructs the quotas; their buckets are restored after a restart. */
export function buildQuotas(
  { store, collections, counts, history }: Storage,
  { ingest }: Pick<Pipeline, 'ingest'>,
  { organizations, logger }: { readonly organizations: OrganizationDirectory; readonly logger: Logger },
) {
  const persistedBuckets = new PersistedBuckets({ store, clock, logger });
  const limiter = new RateLimiter(clock, persistedBuckets);
  persistedBuckets.start((organizationId, limit) => limiter.balance(organizationId, limit));
  const limitsOf = (organizationId: string) => organizations.limitsOf(organizationId);
  const quotas = new Quotas({
    limitsOf,
    limiter,
    collectionsOf: async (organizationId) =>
      (await collections.list(organizationId)).map(({ collectionId }) => collectionId),
    storageUsageIn: (collectionId) => {
      const { documents, storedBytes } = counts.get(collectionId);
      return {
        documents: Object.values(documents).reduce((sum, each) => sum + each, 0),
        bytes: storedBytes + history.countBytes(collectionId),
      };
    },
    ingestingDocuments: (organizationId) => ingest.countPendingOf(organizationId),
  });
  const modelAdmission = new ModelAdmission({ limitsOf, limiter, clock, timer: systemTimer });
  const deleteLimits = async (organizationId: string): Promise<void> => {
    limiter.delete(organizationId);
    await store.write(await persistedBuckets.deleteAllOperations(organizationId), { mayUseReserve: true });
  };
  return { persistedBuckets, quotas, modelAdmission, deleteLimits };
}
