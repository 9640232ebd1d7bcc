import { signal } from '@preact/signals';
import type * as wire from '../../../src/schemas/queries.ts';
import { parseFilter } from '../../../src/search/filter.ts';
import { now } from '../browser/clock.ts';
import { topDocuments, topPages, topSnippets } from '../server/retrieval.ts';
import { organizationId } from '../server/session.ts';
import { parsedJson } from '../words/json.ts';

/** A question as the playground asks it, and what came back. Both stay while other pages are shown. */

export type Kind = 'snippets' | 'pages' | 'documents';

export interface Question {
  readonly kind: Kind;
  readonly query: string;
  readonly k: number;
  readonly filter: string;
  /** Empty for whatever the server uses by itself. */
  readonly reranker: string;
  readonly latency: 'low' | 'high';
  readonly isPrecise: boolean;
}

export const question = signal<Question>({
  kind: 'snippets',
  query: '',
  k: 10,
  filter: '',
  reranker: '',
  latency: 'low',
  isPrecise: false,
});

/** In the place of a reranker, none of which has such a name: none, whatever the server would use. */
export const noReranker = '-';

export const most: Readonly<Record<Kind, number>> = { snippets: 128, pages: 1_024, documents: 2_048 };

export function change(part: Partial<Question>): void {
  question.value = { ...question.peek(), ...part };
}

/** What is wrong with the filter, as the server would say it; null for nothing. The rules are the server's own. */
export function filterFault(filter: string): string | null {
  if (filter.trim() === '') return null;
  const { value, fault } = parsedJson(filter);
  if (fault !== null) return fault;
  try {
    parseFilter(value);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export type Request = (wire.TopSnippetsRequest | wire.TopPagesRequest | wire.TopDocumentsRequest) &
  Readonly<Record<string, unknown>>;

/** The body of the call: what is as it would be anyway is left out. */
export function requestOf(collection: string, asked: Question): Request {
  const { kind, query, k, filter, reranker, latency, isPrecise } = asked;
  return {
    collection_name: collection,
    query,
    k,
    ...(filter.trim() === '' ? {} : { filter: parsedJson(filter).value }),
    ...(reranker === '' ? {} : { reranker: reranker === noReranker ? null : reranker }),
    ...(latency === 'low' ? {} : { latency_mode: latency }),
    ...(kind === 'snippets' && isPrecise ? { precise_responses: true } : {}),
    ...(kind === 'pages' ? { include_content: true } : {}),
    ...(kind === 'documents' ? { include_metadata: true } : {}),
  };
}

interface Common {
  /** Another one for each answer. */
  readonly number: number;
  readonly organizationId: string;
  readonly collection: string;
  /** Milliseconds from the click to the answer. */
  readonly ms: number;
  readonly warnings: readonly string[];
  readonly explanation: wire.QueryExplanation | undefined;
}

export type Answer = Common &
  (
    | { readonly kind: 'snippets'; readonly results: readonly wire.SnippetResponse[] }
    | { readonly kind: 'pages'; readonly results: readonly wire.PageRetrievalResponse[] }
    | { readonly kind: 'documents'; readonly results: readonly wire.DocumentRetrievalResponse[] }
  );

const answer = signal<Answer | null>(null);
let answers = 0;

/** What the last question found, where it was put to this collection. */
export function answerOf(collection: string | null): Answer | null {
  const found = answer.value;
  return found?.collection === collection && found.organizationId === organizationId() ? found : null;
}

/** Asks, and keeps the answer. Errors: `CallError`. */
export async function ask(collection: string): Promise<void> {
  const asked = question.peek();
  const request = { ...requestOf(collection, asked), explain: true };
  const place = { organizationId: organizationId(), collection };
  const begun = now();
  const found = await askedFor(asked.kind, request);
  answers += 1;
  answer.value = { ...found, ...place, number: answers, ms: now() - begun };
}

type WithoutCall<Each> = Each extends Answer
  ? Omit<Each, 'number' | 'organizationId' | 'collection' | 'ms'>
  : never;
type Found = WithoutCall<Answer>;

async function askedFor(kind: Kind, request: Request): Promise<Found> {
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
