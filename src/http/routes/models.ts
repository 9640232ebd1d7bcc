import * as checks from '../../schemas/checks.ts';
import * as models from '../../schemas/models.ts';
import { renderWithList } from '../../services/rendered-json.ts';
import { organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

export const modelErrors = {
  404: 'The model does not exist. The detail lists the available models.',
  413: 'The charged bytes of the call exceed the limit of one call.',
  429: 'A rate limit is exceeded. The detail names the limit; `retry-after` gives the waiting time.',
} as const;

export const modelRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'get-model-list',
    access: 'read',
    path: '/models/get-model-list',
    summary: 'List the models',
    description:
      'Lists the names of embedding models and rerankers that requests can use: built-in models and models added by the operator. With `include_details`, also returns their kind, source, dimensions, latency and collections. The body may be empty.',
    request: models.GetModelListRequest,
    reply: models.GetModelListResponse,
    example: {},
    serve: (services, call, request) => services.models.getModelList(call, request),
  }),
  organizationRoute({
    operation: 'embed',
    access: 'read',
    path: '/models/embed',
    summary: 'Embed texts',
    description:
      'Converts texts to vectors of unit length, in the same order. The vector of a query is close to the vectors of documents that answer it. Vectors can be shortened to their first dimensions. The reply header `x-quarry-model` names the model as `name@version`.',
    request: models.EmbedRequest,
    bodyKind: 'model',
    reply: models.EmbedResponse,
    example: { model: 'zembed-1', input_type: 'query', input: 'How long do refunds take?', dimensions: 640 },
    errorResponses: modelErrors,
    serve: async (services, call, request) =>
      renderWithList('results', await services.models.embed(call, request), call.yieldToEventLoop),
  }),
  organizationRoute({
    operation: 'rerank',
    access: 'read',
    path: '/models/rerank',
    summary: 'Rerank texts by relevance',
    description:
      'Scores each text against a query from 0 to 1 and returns the scores in descending order. The reply header `x-quarry-model` names the model as `name@version`.',
    request: models.RerankRequest,
    bodyKind: 'model',
    reply: models.RerankResponse,
    example: {
      model: 'zerank-2',
      query: 'How long do refunds take?',
      documents: ['Refunds are paid within 14 days.', 'Our office is in Oslo.'],
    },
    errorResponses: modelErrors,
    check: (request) => {
      if (typeof request.top_n === 'number') checks.checkTopN(request.top_n);
    },
    serve: async (services, call, request) =>
      renderWithList('results', await services.models.rerank(call, request), call.yieldToEventLoop),
  }),
];
