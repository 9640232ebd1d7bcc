import type { ChangeType } from '../schemas/changes.ts';
import type { ChangeFeeds } from '../storage/change-feeds.ts';
import type { Collection } from '../storage/collections.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import type { WriteOperation } from '../storage/store.ts';

interface DocumentChange {
  readonly collection: Collection;
  /** The document after the change, or before its deletion. */
  readonly record: DocumentRecord;
  /** The document that it replaces. */
  readonly previous?: DocumentRecord | undefined;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Returns the operation that records a change of a document, to be included in the write of the change. */
export function appendDocumentChange(
  feeds: Pick<ChangeFeeds, 'append'>,
  type: ChangeType,
  { collection, record, previous, at }: DocumentChange,
): WriteOperation {
  return feeds.append(collection.organizationId, () => ({
    type,
    at,
    collectionId: collection.collectionId,
    collection: collection.name,
    path: record.path,
    documentId: record.documentId,
    metadata: record.metadata,
    ...(previous === undefined ? {} : { previousMetadata: previous.metadata }),
    ...(type === 'document.failed' && record.error !== null
      ? { error: { code: record.error.code, message: record.error.message } }
      : {}),
  }));
}
