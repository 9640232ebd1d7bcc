import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { StoredChange } from '../storage/change-feeds.ts';
import type { Collections } from '../storage/collections.ts';
import { canAccessCollection, canAccessDocument } from './access-filter.ts';

/**
 * Returns a change as the caller may see it; null if it may not. Its type can differ: a document whose metadata no
 * longer matches the filter of a key is reported as deleted, a collection that is renamed to a name of the key as created.
 */
export function toVisibleChange(
  principal: OrganizationPrincipal,
  collections: Pick<Collections, 'findById'>,
  change: StoredChange,
): StoredChange | null {
  if (principal.restriction === undefined) return change;
  if (change.type === 'collection.renamed') return toVisibleRename(principal, change);
  // Both the name at that time and the current one must be allowed: a rename gives no access to the other changes.
  const current = collections.findById(change.collectionId)?.name ?? change.collection;
  if (!canAccessCollection(principal, change.collection) || !canAccessCollection(principal, current))
    return null;
  return change.path === undefined ? change : toVisibleDocumentChange(principal, change);
}

function toVisibleRename(principal: OrganizationPrincipal, change: StoredChange): StoredChange | null {
  const { previousCollection = change.collection, ...rest } = change;
  const isVisible = canAccessCollection(principal, change.collection);
  const wasVisible = canAccessCollection(principal, previousCollection);
  if (isVisible && wasVisible) return change;
  if (isVisible) return { ...rest, type: 'collection.created' };
  return wasVisible ? { ...rest, collection: previousCollection, type: 'collection.deleted' } : null;
}

function toVisibleDocumentChange(
  principal: OrganizationPrincipal,
  change: StoredChange,
): StoredChange | null {
  const { metadata = {}, previousMetadata } = change;
  const isVisible = canAccessDocument(principal, { metadata });
  const wasVisible =
    previousMetadata === undefined ? isVisible : canAccessDocument(principal, { metadata: previousMetadata });
  if (isVisible === wasVisible) return isVisible ? change : null;
  return { ...change, type: isVisible ? 'document.added' : 'document.deleted' };
}
