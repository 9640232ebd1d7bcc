import type { RootSpan } from '../tracing/tracer.ts';

/** Returns the span of documents that are indexed together. */
export function describeBatch(
  { organizationId, collectionId }: { readonly organizationId: string; readonly collectionId: string },
  { documents, indexed }: { readonly documents: number; readonly indexed: number },
): RootSpan {
  return {
    name: 'ingest batch',
    kind: 'internal',
    isError: false,
    attributes: {
      'quarry.organization_id': organizationId,
      'quarry.collection_id': collectionId,
      'quarry.documents': documents,
      'quarry.documents_indexed': indexed,
    },
  };
}
