import { AppError } from '../core/app-error.ts';
import { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { Logger } from '../core/logger.ts';
import { queryLimits } from '../core/query-limits.ts';
import { Vocabularies } from '../search/vocabularies.ts';
import { VocabularyReader } from '../search/vocabulary-reader.ts';
import type { ResourceStack } from './resource-stack.ts';
import { backgroundScheduler, clock } from './runtime.ts';
import type { Storage } from './storage.ts';

/** Opens the vocabularies of collections, which are read when a query is completed. */
export function openVocabularies(
  { indexes, versions, contents }: Storage,
  resources: ResourceStack,
  logger: Logger,
): Vocabularies {
  const vocabularies = new Vocabularies({
    getIndex: (collectionId, generation) => indexes.get(collectionId, generation),
    reader: new VocabularyReader({ versions, contents, backgroundScheduler }),
    clock,
    sampleSemaphore: createSemaphore(),
    readingSemaphore: createSemaphore(),
    onError: (error, collectionId) =>
      logger.warn({ collectionId, error: String(error) }, 'reading a vocabulary failed'),
  });
  resources.add(() => vocabularies.close());
  return vocabularies;
}

function createSemaphore(): FairSemaphore {
  const { vocabulariesWaitingMax } = queryLimits;
  return new FairSemaphore({
    permits: 1,
    waitingMaxPerKey: vocabulariesWaitingMax,
    errors: {
      queueFull: () =>
        new AppError(
          'rate_limited',
          `Suggestions of more than ${vocabulariesWaitingMax} collections of your organization are being prepared. Try again shortly.`,
          { retryAfterMs: 1_000, headers: { 'x-quarry-limit': 'waiting-vocabularies' } },
        ),
      canceled: () => new AppError('unavailable', 'The call was canceled while it was queued.'),
    },
  });
}
