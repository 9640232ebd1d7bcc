import * as checks from '../../schemas/checks.ts';
import * as cohere from '../../schemas/cohere.ts';
import * as openai from '../../schemas/openai.ts';
import { EmptyRequest } from '../../schemas/wire.ts';
import { joinQuery } from '../../services/openai.ts';
import { renderWithList } from '../../services/rendered-json.ts';
import { collectionNotFound, organizationRoute } from './json-route.ts';
import { modelErrors } from './models.ts';
import type { Route } from './route.ts';

/** Operations in the formats of OpenAI, Cohere, Jina and Voyage; see `docs/guides/other-clients.md`. */
export const otherClientRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'embeddings',
    access: 'read',
    path: '/embeddings',
    errorFormat: 'openai',
    summary: 'Embed texts (OpenAI format)',
    description: 'Like `/models/embed`, in the request and reply format of OpenAI, Jina and Voyage clients.',
    request: openai.OpenAiEmbeddingsRequest,
    bodyKind: 'model',
    reply: openai.OpenAiEmbeddingsResponse,
    example: { model: 'zembed-1', input: ['Refunds are paid within 14 days.'] },
    errorResponses: modelErrors,
    serve: async (services, call, request) =>
      renderWithList('data', await services.openAi.openAiEmbeddings(call, request), call.yieldToEventLoop),
  }),
  organizationRoute({
    operation: 'list-openai-models',
    access: 'read',
    method: 'GET',
    path: '/models',
    errorFormat: 'openai',
    summary: 'List the models (OpenAI format)',
    description: 'Lists the names of all embedding models and rerankers.',
    request: EmptyRequest,
    reply: openai.OpenAiModelList,
    example: {},
    serve: (services) => services.openAi.listOpenAiModels(),
  }),
  organizationRoute({
    operation: 'get-openai-model',
    access: 'read',
    method: 'GET',
    path: '/models/:model',
    errorFormat: 'openai',
    summary: 'Describe a model (OpenAI format)',
    description: 'Returns the model if the server has it.',
    request: openai.OpenAiModelRequest,
    reply: openai.OpenAiModel,
    example: { model: 'zembed-1' },
    errorResponses: { 404: modelErrors[404] },
    serve: (services, _call, { model }) => services.openAi.getOpenAiModel(model),
  }),
  organizationRoute({
    operation: 'search-vector-store',
    access: 'read',
    path: '/vector_stores/:vector_store_id/search',
    tag: 'queries',
    errorFormat: 'openai',
    summary: 'Find snippets (OpenAI format)',
    description:
      'Like `/queries/top-snippets`, in the request and reply format of vector stores of OpenAI. The ID of a vector store is the name of a collection.',
    request: openai.VectorStoreSearchRequest,
    reply: openai.VectorStoreSearchResponse,
    example: {
      vector_store_id: 'handbook',
      query: 'How long do refunds take?',
      filters: { type: 'eq', key: 'author', value: 'Ada' },
    },
    errorResponses: { 404: collectionNotFound },
    check: ({ vector_store_id, query, max_num_results, ranking_options }) => {
      checks.checkCollectionName(vector_store_id);
      checks.checkQuery(joinQuery(query));
      if (typeof max_num_results === 'number') checks.checkVectorStoreResults(max_num_results);
      checks.checkQueryControls({ min_score: ranking_options?.score_threshold ?? null });
    },
    serve: (services, call, request) => services.openAi.searchVectorStore(call, request),
  }),
  organizationRoute({
    operation: 'cohere-rerank',
    access: 'read',
    path: '/rerank',
    errorFormat: 'cohere',
    summary: 'Rerank texts (Cohere format)',
    description: 'Like `/models/rerank`, in the request and reply format of Cohere, Jina and Voyage clients.',
    request: cohere.CohereRerankRequest,
    bodyKind: 'model',
    reply: cohere.CohereRerankResponse,
    example: {
      model: 'zerank-2',
      query: 'refunds',
      documents: ['Refunds take 14 days.', { text: 'Oslo' }],
      top_n: 1,
    },
    errorResponses: modelErrors,
    check: ({ top_n, top_k, rank_fields }) => {
      if (typeof top_n === 'number') checks.checkTopN(top_n);
      if (typeof top_k === 'number') checks.checkTopN(top_k, 'top_k');
      if (Array.isArray(rank_fields)) checks.checkRankFields(rank_fields);
    },
    serve: async (services, call, request) =>
      renderWithList('results', await services.cohere.cohereRerank(call, request), call.yieldToEventLoop),
  }),
  organizationRoute({
    operation: 'cohere-rerank-v2',
    access: 'read',
    path: '/v2/rerank',
    isVersioned: false,
    tag: 'models',
    errorFormat: 'cohere',
    summary: 'Rerank texts (Cohere format, version 2)',
    description: 'Like `/models/rerank`, in the request and reply format of version 2 of Cohere.',
    request: cohere.CohereRerankV2Request,
    bodyKind: 'model',
    reply: cohere.CohereRerankV2Response,
    example: { model: 'zerank-2', query: 'refunds', documents: ['Refunds take 14 days.', 'Oslo'], top_n: 1 },
    errorResponses: modelErrors,
    check: ({ top_n }) => {
      if (typeof top_n === 'number') checks.checkTopN(top_n);
    },
    serve: async (services, call, request) =>
      renderWithList('results', await services.cohere.cohereRerankV2(call, request), call.yieldToEventLoop),
  }),
  organizationRoute({
    operation: 'cohere-embed',
    access: 'read',
    path: '/v2/embed',
    isVersioned: false,
    tag: 'models',
    errorFormat: 'cohere',
    summary: 'Embed texts (Cohere format, version 2)',
    description: 'Like `/models/embed`, in the request and reply format of version 2 of Cohere.',
    request: cohere.CohereEmbedRequest,
    bodyKind: 'model',
    reply: cohere.CohereEmbedResponse,
    example: {
      model: 'zembed-1',
      input_type: 'search_document',
      texts: ['Refunds are paid within 14 days.'],
      embedding_types: ['float'],
    },
    errorResponses: modelErrors,
    serve: (services, call, request) => services.cohere.cohereEmbed(call, request),
  }),
];
