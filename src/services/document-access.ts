import { AppError } from '../core/app-error.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { pathNotFound, type VisibilityCheck } from '../ingest/document-writer.ts';
import { checkMetadataTypes } from '../schemas/metadata-schema.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { Collection, Collections } from '../storage/collections.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import { isExpired } from '../storage/expirations.ts';
import { canAccessDocument } from './access-filter.ts';
import type { ServiceCall } from './call.ts';
import { findCollection } from './collections.ts';

/** Access of a caller to the documents of one collection. */

export type DocumentCall = ServiceCall<OrganizationPrincipal>;

/** Target collection and its caller. */
export interface CollectionAccess {
  readonly collection: Collection;
  readonly principal: OrganizationPrincipal;
  /** Documents that have expired, or that the caller may not read, are treated as nonexistent. */
  readonly isVisible: VisibilityCheck;
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** Errors: 404 for a collection that does not exist or that the caller may not read. */
export function accessCollection(
  collections: Collections,
  { principal, yieldToEventLoop, now }: DocumentCall,
  name: string,
): CollectionAccess {
  const collection = findCollection(collections, principal, name);
  return {
    collection,
    principal,
    isVisible: (record) => !isExpired(record, now()) && canAccessDocument(principal, record),
    yieldToEventLoop,
  };
}

/** Errors: 404 for a document that does not exist or that the caller may not read. */
export function findDocument(
  documents: Documents,
  { collection, isVisible }: CollectionAccess,
  path: string,
): DocumentRecord {
  const record = documents.get(collection.collectionId, path);
  if (record === undefined || !isVisible(record)) throw pathNotFound(collection, path);
  return record;
}

/** Errors: 403 for a document that its writer would not be allowed to read. */
export function checkWriteAccess(
  { principal }: CollectionAccess,
  metadata: DocumentRecord['metadata'],
): void {
  if (canAccessDocument(principal, { metadata })) return;
  throw new AppError(
    'forbidden',
    'The metadata does not match the filter of this API key. The key can write only documents that it can read.',
  );
}

/** Errors: those of `checkWriteAccess`; 400 for a value whose type is not that of the schema of the collection. */
export function checkWritableMetadata(access: CollectionAccess, metadata: DocumentRecord['metadata']): void {
  checkWriteAccess(access, metadata);
  checkMetadataTypes(access.collection.metadataSchema, metadata);
}
