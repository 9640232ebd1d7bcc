import type { OrganisationDirectory } from '../accounts/organisation-directory.ts';
import { ModelAdmission } from '../admission/model-admission.ts';
import { PersistedBuckets } from '../admission/persisted-buckets.ts';
import { Quotas } from '../admission/quotas.ts';
import { RateLimiter } from '../admission/rate-limiter.ts';
import { systemTimer } from '../admission/timer.ts';
import type { Logger } from '../base/logger.ts';
import { clock } from './given.ts';
import type { Pipeline } from './pipeline.ts';
import type { Storage } from './storage.ts';

/** What each organisation may use. */

/** What an organisation stores, as replies show it. */
export function storageOf(quotas: Quotas, { ingest }: Pick<Pipeline, 'ingest'>) {
  return async (organizationId: string) => ({
    ...(await quotas.stored(organizationId)),
    ingest_documents: ingest.depthOf(organizationId),
  });
}

/** What the limits of organisations leave them, over restarts. */
export function buildQuotas(
  { store, collections, counts }: Storage,
  { ingest }: Pick<Pipeline, 'ingest'>,
  { organisations, logger }: { readonly organisations: OrganisationDirectory; readonly logger: Logger },
) {
  const kept = new PersistedBuckets({ store, clock, logger });
  const limiter = new RateLimiter(clock, kept);
  kept.start((organizationId, limit) => limiter.balance(organizationId, limit));
  const limitsOf = (organizationId: string) => organisations.limitsOf(organizationId);
  const quotas = new Quotas({
    limitsOf,
    limiter,
    collectionsOf: async (organizationId) =>
      (await collections.list(organizationId)).map(({ collectionId }) => collectionId),
    storedIn: (collectionId) => {
      const { documents, storedBytes } = counts.get(collectionId);
      return { documents: Object.values(documents).reduce((sum, each) => sum + each, 0), bytes: storedBytes };
    },
    ingesting: (organizationId) => ingest.depthOf(organizationId),
  });
  const gate = new ModelAdmission({ limitsOf, limiter, clock, timer: systemTimer });
  const forget = async (organizationId: string): Promise<void> => {
    limiter.forget(organizationId);
    await store.write(await kept.endAll(organizationId), { mayUseReserve: true });
  };
  return { kept, quotas, gate, forget };
}
