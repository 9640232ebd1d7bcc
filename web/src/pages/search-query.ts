import { signal } from '@preact/signals';
import type * as wire from '../../../src/schemas/queries.ts';
import { parseFilter } from '../../../src/search/filter.ts';
import { now } from '../browser/clock.ts';
import { parseJson } from '../format/parse-json.ts';
import { topDocuments, topPages, topSnippets } from '../server/retrieval.ts';
import { organizationId } from '../server/session.ts';
import { findOptionsError, toOptionFields } from './search-option-fields.ts';
import {
  type ComparedSettings,
  defaultQuery,
  hasSubject,
  type ResultKind,
  type SearchQuery,
} from './search-settings.ts';

/** The query of the search page and its last results. Both persist while other pages are shown. */

export const searchQuery = signal<SearchQuery>(defaultQuery);

/** Value for "no reranker", which disables the server's default. No reranker has this name. */
export const noReranker = '-';

export function updateQuery(changes: Partial<SearchQuery>): void {
  searchQuery.value = { ...searchQuery.peek(), ...changes };
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

/** Whether the query has no error that this page can see. */
export function isRunnable(query: SearchQuery): boolean {
  return hasSubject(query) && findFilterError(query.filter) === null && findOptionsError(query) === null;
}

export type SearchRequestBody = (wire.TopSnippetsRequest | wire.TopPagesRequest | wire.TopDocumentsRequest) &
  Readonly<Record<string, unknown>>;

/** Builds the request body. Fields with default values are omitted. */
export function buildRequest(collection: string, input: SearchQuery): SearchRequestBody {
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
    ...toOptionFields(kind, input),
  };
}

interface SearchReplyBase {
  /** Unique number of the reply. */
  readonly number: number;
  readonly organizationId: string;
  readonly collection: string;
  /** Milliseconds from the click to the reply. */
  readonly ms: number;
  readonly warnings: readonly string[];
  readonly explanation: wire.QueryExplanation | undefined;
  readonly settings: ComparedSettings;
  readonly request: SearchRequestBody;
  readonly facets: wire.TopSnippetsResponse['facets'];
  readonly groups: wire.TopSnippetsResponse['groups'];
}

export type SearchReplyBody = SearchReplyBase &
  (
    | { readonly kind: 'snippets'; readonly results: readonly wire.SnippetResponse[] }
    | { readonly kind: 'pages'; readonly results: readonly wire.PageRetrievalResponse[] }
    | { readonly kind: 'documents'; readonly results: readonly wire.DocumentRetrievalResponse[] }
  );

/** The reply, and the one of the second search if two are compared. */
export interface SearchReplies {
  readonly first: SearchReplyBody;
  readonly second: SearchReplyBody | null;
}

const lastReplies = signal<SearchReplies | null>(null);
let replyCount = 0;

/** The last replies, if they belong to this collection and organization. */
export function repliesFor(collection: string | null): SearchReplies | null {
  const found = lastReplies.value;
  return found?.first.collection === collection && found.first.organizationId === organizationId()
    ? found
    : null;
}

/** Runs the query, and then the one it is compared with, and stores the replies. Errors: `ApiError`. */
export async function runQuery(collection: string): Promise<void> {
  const input = searchQuery.peek();
  const first = await runOnce(collection, input);
  // One after the other: each would slow the other and change its times.
  const second = input.compared === null ? null : await runOnce(collection, { ...input, ...input.compared });
  lastReplies.value = { first, second };
}

async function runOnce(collection: string, input: SearchQuery): Promise<SearchReplyBody> {
  const request = { ...buildRequest(collection, input), explain: true };
  const scope = { organizationId: organizationId(), collection };
  const { reranker, latency, isPrecise } = input;
  const startedAt = now();
  const found = await fetchResults(input.kind, request);
  replyCount += 1;
  const settings = { reranker, latency, isPrecise };
  return { ...found, ...scope, settings, request, number: replyCount, ms: now() - startedAt };
}

type CallFields = 'number' | 'organizationId' | 'collection' | 'settings' | 'request' | 'ms';
type WithoutCallFields<Each> = Each extends SearchReplyBody ? Omit<Each, CallFields> : never;
type SearchReplyContent = WithoutCallFields<SearchReplyBody>;

async function fetchResults(kind: ResultKind, request: SearchRequestBody): Promise<SearchReplyContent> {
  switch (kind) {
    case 'snippets': {
      const reply = await topSnippets(request as wire.TopSnippetsRequest);
      return { kind, results: reply.results, ...commonParts(reply) };
    }
    case 'pages': {
      const reply = await topPages(request as wire.TopPagesRequest);
      return { kind, results: reply.results, ...commonParts(reply) };
    }
    case 'documents': {
      const reply = await topDocuments(request as wire.TopDocumentsRequest);
      return { kind, results: reply.results, ...commonParts(reply) };
    }
  }
}

type CommonParts = Pick<wire.TopSnippetsResponse, 'warnings' | 'facets' | 'groups' | 'explain'>;

function commonParts({ warnings = [], facets, groups, explain }: CommonParts) {
  return { warnings, facets, groups, explanation: explain };
}
