import type { QueriesApi } from './generated/operations.ts';
import type { DocumentMetadataJson, SnippetResponse, TopSnippetsRequest } from './generated/schemas.ts';
import type { CallOptions } from './transport.ts';

/** A snippet with the metadata of its document. */
export interface FoundSnippet extends SnippetResponse {
  /** The same for the same text of a document: collection, path, and range. */
  readonly id: string;
  readonly collection_name: string;
  readonly metadata: DocumentMetadataJson;
}

/** Finds snippets, best first, each with the metadata of its document. For retrievers of frameworks. */
export async function findSnippets(
  client: { readonly queries: QueriesApi },
  request: TopSnippetsRequest,
  options?: CallOptions,
): Promise<FoundSnippet[]> {
  const { results, document_results } = await client.queries.topSnippets(
    { ...request, include_document_metadata: true },
    options,
  );
  const keyOf = (found: { collection_name?: string | undefined; path: string }) =>
    JSON.stringify([found.collection_name ?? request.collection_name, found.path]);
  const metadata = new Map(document_results.map((document) => [keyOf(document), document.metadata]));
  return results.map((snippet) => {
    const { collection_name = request.collection_name, path, start_index, end_index } = snippet;
    return {
      ...snippet,
      id: `${collection_name}/${path}#${start_index}-${end_index}`,
      collection_name,
      metadata: metadata.get(keyOf(snippet)) ?? {},
    };
  });
}
