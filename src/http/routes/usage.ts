import * as checks from '../../schemas/checks.ts';
import * as usage from '../../schemas/usage.ts';
import { EmptyRequest } from '../../schemas/wire.ts';
import { collectionNotFound, organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

const usageExample: usage.UsageRequest = {
  start_time: 1_790_000_000,
  end_time: 1_790_086_400,
  aggregation_window: 'hourly',
};

function checkUsage(request: usage.UsageRequest): void {
  checks.checkUsageTimes(request.start_time, request.end_time);
  for (const name of request.collection_names ?? []) checks.checkCollectionName(name);
}

const filteredKeyUsage = 'The key has a metadata filter and cannot read counts of whole collections.';
const restrictedKeyUsage = 'The key is restricted and cannot read the model usage of the organization.';

export const usageRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'usage-documents',
    access: 'read',
    scope: 'collection',
    path: '/usage/documents',
    summary: 'Document usage over time',
    description:
      'Returns one row per time window, collection and event (added, deleted, parsed, indexed). Files of `parse-document` count as `parsed` in the collection `00000000-0000-0000-0000-000000000000`.',
    request: usage.UsageRequest,
    reply: usage.DocumentUsageList,
    example: usageExample,
    errorResponses: { 403: filteredKeyUsage, 404: collectionNotFound },
    check: checkUsage,
    serve: (services, call, request) => services.usage.documents(call, request),
  }),
  organizationRoute({
    operation: 'usage-queries',
    access: 'read',
    scope: 'collection',
    path: '/usage/queries',
    summary: 'Query usage over time',
    description:
      'Returns one row per time window, collection and query type; with `include_times`, also the percentiles of their times.',
    request: usage.UsageRequest,
    reply: usage.QueryUsageList,
    example: usageExample,
    errorResponses: { 403: filteredKeyUsage, 404: collectionNotFound },
    check: checkUsage,
    serve: (services, call, request) => services.usage.queries(call, request),
  }),
  organizationRoute({
    operation: 'usage-reranker',
    access: 'read',
    scope: 'organization',
    path: '/usage/models/reranker',
    summary: 'Reranker usage over time',
    description: 'Returns one row per time window and model; collections are ignored.',
    request: usage.UsageRequest,
    reply: usage.RerankUsageList,
    example: usageExample,
    errorResponses: { 403: restrictedKeyUsage },
    check: checkUsage,
    serve: (services, call, request) => services.usage.reranker(call, request),
  }),
  organizationRoute({
    operation: 'usage-embed',
    access: 'read',
    scope: 'organization',
    path: '/usage/models/embed',
    summary: 'Embedding usage over time',
    description: 'Returns one row per time window and model; collections are ignored.',
    request: usage.UsageRequest,
    reply: usage.EmbedUsageList,
    example: usageExample,
    errorResponses: { 403: restrictedKeyUsage },
    check: checkUsage,
    serve: (services, call, request) => services.usage.embed(call, request),
  }),
  organizationRoute({
    operation: 'usage-models-counters',
    access: 'read',
    scope: 'organization',
    path: '/usage/models/counters',
    summary: 'Model usage totals',
    description: 'Returns model counters in total and for the current billing cycle. The body may be empty.',
    request: EmptyRequest,
    reply: usage.ModelsUsageCountersResponse,
    example: {},
    errorResponses: { 403: restrictedKeyUsage },
    serve: (services, call) => services.usage.modelsCounters(call),
  }),
  organizationRoute({
    operation: 'usage-counters',
    access: 'read',
    scope: 'collection',
    path: '/usage/counters',
    summary: 'Document and query usage totals',
    description:
      'Returns document and query counters in total and for the current billing cycle. The body may be empty.',
    request: EmptyRequest,
    reply: usage.UsageCountersResponse,
    example: {},
    errorResponses: { 403: filteredKeyUsage },
    serve: (services, call) => services.usage.counters(call),
  }),
];
