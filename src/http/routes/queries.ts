import { limits } from '../../core/limits.ts';
import * as checks from '../../schemas/checks.ts';
import * as queries from '../../schemas/queries.ts';
import { checkCommonFields, checkHighlights, checkPageRectangles } from '../../schemas/query-checks.ts';
import { checkSuggest, SuggestRequest, SuggestResponse } from '../../schemas/suggestions.ts';
import { checkCollection, collectionNotFound, organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

const queryErrors = { 404: 'The collection or the reranker does not exist.' } as const;

export const queryRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'top-documents',
    access: 'read',
    path: '/queries/top-documents',
    summary: 'Find documents',
    description:
      'Returns the most relevant documents for a query, each once. With `null` as the query, lists the documents that match the filter.',
    request: queries.TopDocumentsRequest,
    reply: queries.TopDocumentsResponse,
    example: {
      collection_name: 'handbook',
      query: 'How long do refunds take?',
      k: 10,
      include_metadata: true,
    },
    errorResponses: queryErrors,
    check: (request) => {
      checkCommonFields(request, limits.topDocumentsMax);
      checks.checkQueryControls({ weights: request.weights ?? null, min_score: request.min_score ?? null });
    },
    serve: (services, call, request) => services.queries.topDocuments(call, request),
  }),
  organizationRoute({
    operation: 'top-pages',
    access: 'read',
    path: '/queries/top-pages',
    summary: 'Find pages',
    description: 'Returns the most relevant pages for a query, and each of their documents once.',
    request: queries.TopPagesRequest,
    reply: queries.TopPagesResponse,
    example: { collection_name: 'handbook', query: 'How long do refunds take?', k: 5, include_content: true },
    errorResponses: queryErrors,
    check: (request) => {
      checkCommonFields(request, limits.topPagesMax);
      checks.checkQueryControls(request);
      checkHighlights({ ...request, include_content: request.include_content ?? false });
      checkPageRectangles(request);
    },
    serve: (services, call, request) => services.queries.topPages(call, request),
  }),
  organizationRoute({
    operation: 'top-snippets',
    access: 'read',
    path: '/queries/top-snippets',
    summary: 'Find snippets',
    description:
      'Returns the most relevant snippets for a query, each with its exact position in the text of its document, and each of their documents once.',
    request: queries.TopSnippetsRequest,
    reply: queries.TopSnippetsResponse,
    example: {
      collection_name: 'handbook',
      query: 'How long do refunds take?',
      k: 5,
      filter: { 'list:topics': { $in: ['refunds'] } },
      precise_responses: true,
    },
    errorResponses: queryErrors,
    check: (request) => {
      checkCommonFields(request, limits.topSnippetsMax);
      checks.checkQueryControls(request);
      checkHighlights(request);
    },
    serve: (services, call, request) => services.queries.topSnippets(call, request),
  }),
  organizationRoute({
    operation: 'suggest',
    access: 'read',
    path: '/queries/suggest',
    summary: 'Complete a query',
    description:
      'Completes the last word of a query, and the whole query, with words and titles of the documents that the key may read. Does not count as a query.',
    request: SuggestRequest,
    reply: SuggestResponse,
    example: { collection_name: 'handbook', query: 'refund po', limit: 5 },
    errorResponses: {
      404: collectionNotFound,
      429: 'Suggestions of too many collections are being prepared.',
    },
    check: (request) => {
      checkCollection(request);
      checkSuggest(request);
    },
    serve: (services, call, request) => services.suggestions.suggest(call, request),
  }),
];
