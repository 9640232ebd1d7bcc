import { AppError } from '../core/app-error.ts';
import { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { Logger } from '../core/logger.ts';
import { queryLimits } from '../core/query-limits.ts';
import { Vocabularies } from '../search/vocabularies.ts';
import type { ResourceStack } from './resource-stack.ts';
import { backgroundScheduler, clock } from './runtime.ts';
import type { Storage } from './storage.ts';

/** Opens the vocabularies of collections, which are built when a query is completed. */
export function openVocabularies(
  { indexes, versions, contents }: Storage,
  resources: ResourceStack,
  logger: Logger,
): Vocabularies {
  const vocabularies = new Vocabularies({
    getIndex: (collectionId, generation) => indexes.get(collectionId, generation),
    versions,
    contents,
    clock,
    backgroundScheduler,
    semaphore: createBuildSemaphore(),
    onError: (error, collectionId) =>
      logger.warn({ collectionId, error: String(error) }, 'vocabulary not refreshed'),
  });
  resources.add(() => vocabularies.close());
  return vocabularies;
}

function createBuildSemaphore(): FairSemaphore {
  const { vocabularyBuildsWaitingMax } = queryLimits;
  return new FairSemaphore({
    permits: 1,
    waitingMaxPerKey: vocabularyBuildsWaitingMax,
    errors: {
      queueFull: () =>
        new AppError(
          'rate_limited',
          `Suggestions of more than ${vocabularyBuildsWaitingMax} collections of your organization are being prepared. Try again shortly.`,
          { retryAfterMs: 1_000, headers: { 'x-quarry-limit': 'waiting-vocabularies' } },
        ),
      canceled: () => new AppError('unavailable', 'The call was canceled while it was queued.'),
    },
  });
}
