import type { ChangeType } from '../schemas/changes.ts';
import type { ChangeFeeds } from '../storage/change-feeds.ts';
import type { Collection } from '../storage/collections.ts';
import type { WriteOperation } from '../storage/store.ts';

/**
 * Returns the operation that records a change of a collection, to be included in the write of the change. `at`:
 * milliseconds since the epoch.
 */
export function appendCollectionChange(
  feeds: Pick<ChangeFeeds, 'append'>,
  type: ChangeType,
  { collectionId, organizationId, name }: Pick<Collection, 'collectionId' | 'organizationId' | 'name'>,
  { at, previousName }: { readonly at: number; readonly previousName?: string },
): WriteOperation {
  return feeds.append(organizationId, () => ({
    type,
    at,
    collectionId,
    collection: name,
    ...(previousName === undefined ? {} : { previousCollection: previousName }),
  }));
}
