import { signal } from '@preact/signals';
import type * as wire from '../../../src/schemas/queries.ts';
import { parseFilter } from '../../../src/search/filter.ts';
import { now } from '../browser/clock.ts';
import { parseJson } from '../format/parse-json.ts';
import { topDocuments, topPages, topSnippets } from '../server/retrieval.ts';
import { organizationId } from '../server/session.ts';
import { defaultQuery, type PlaygroundQuery, type ResultKind } from './playground-settings.ts';

/** The playground's query and its last results. Both persist while other pages are shown. */

export const playgroundQuery = signal<PlaygroundQuery>(defaultQuery);

/** Value for "no reranker", which disables the server's default. No reranker has this name. */
export const noReranker = '-';

export function updateQuery(changes: Partial<PlaygroundQuery>): void {
  playgroundQuery.value = { ...playgroundQuery.peek(), ...changes };
}

/**
 * Returns the error in the filter, as the server would report it, or null. Uses the server's own validation.
 */
export function findFilterError(filter: string): string | null {
  if (filter.trim() === '') return null;
  const { value, error } = parseJson(filter);
  if (error !== null) return error;
  try {
    parseFilter(value);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export type PlaygroundRequest = (wire.TopSnippetsRequest | wire.TopPagesRequest | wire.TopDocumentsRequest) &
  Readonly<Record<string, unknown>>;

/** Builds the request body. Fields with default values are omitted. */
export function buildRequest(collection: string, input: PlaygroundQuery): PlaygroundRequest {
  const { kind, query, k, filter, reranker, latency, isPrecise } = input;
  return {
    collection_name: collection,
    query,
    k,
    ...(filter.trim() === '' ? {} : { filter: parseJson(filter).value }),
    ...(reranker === '' ? {} : { reranker: reranker === noReranker ? null : reranker }),
    ...(latency === 'low' ? {} : { latency_mode: latency }),
    ...(kind === 'snippets' && isPrecise ? { precise_responses: true } : {}),
    ...(kind === 'pages' ? { include_content: true } : {}),
    ...(kind === 'documents' ? { include_metadata: true } : {}),
  };
}

interface PlaygroundReplyBase {
  /** Unique number of the reply. */
  readonly number: number;
  readonly organizationId: string;
  readonly collection: string;
  /** Milliseconds from the click to the reply. */
  readonly ms: number;
  readonly warnings: readonly string[];
  readonly explanation: wire.QueryExplanation | undefined;
}

export type PlaygroundReply = PlaygroundReplyBase &
  (
    | { readonly kind: 'snippets'; readonly results: readonly wire.SnippetResponse[] }
    | { readonly kind: 'pages'; readonly results: readonly wire.PageRetrievalResponse[] }
    | { readonly kind: 'documents'; readonly results: readonly wire.DocumentRetrievalResponse[] }
  );

const lastReply = signal<PlaygroundReply | null>(null);
let replyCount = 0;

/** The last reply, if it belongs to this collection and organization. */
export function replyFor(collection: string | null): PlaygroundReply | null {
  const found = lastReply.value;
  return found?.collection === collection && found.organizationId === organizationId() ? found : null;
}

/** Runs the query and stores the reply. Errors: `ApiError`. */
export async function runQuery(collection: string): Promise<void> {
  const input = playgroundQuery.peek();
  const request = { ...buildRequest(collection, input), explain: true };
  const scope = { organizationId: organizationId(), collection };
  const startedAt = now();
  const found = await fetchResults(input.kind, request);
  replyCount += 1;
  lastReply.value = { ...found, ...scope, number: replyCount, ms: now() - startedAt };
}

type WithoutCallFields<Each> = Each extends PlaygroundReply
  ? Omit<Each, 'number' | 'organizationId' | 'collection' | 'ms'>
  : never;
type PlaygroundResults = WithoutCallFields<PlaygroundReply>;

async function fetchResults(kind: ResultKind, request: PlaygroundRequest): Promise<PlaygroundResults> {
  switch (kind) {
    case 'snippets': {
      const { results, warnings = [], explain } = await topSnippets(request as wire.TopSnippetsRequest);
      return { kind, results, warnings, explanation: explain };
    }
    case 'pages': {
      const { results, warnings = [], explain } = await topPages(request as wire.TopPagesRequest);
      return { kind, results, warnings, explanation: explain };
    }
    case 'documents': {
      const { results, warnings = [], explain } = await topDocuments(request as wire.TopDocumentsRequest);
      return { kind, results, warnings, explanation: explain };
    }
  }
}
