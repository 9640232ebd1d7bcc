import * as checks from '../../schemas/checks.ts';
import * as status from '../../schemas/status.ts';
import { collectionNotFound, organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

export const statusRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'get-status',
    access: 'read',
    path: '/status/get-status',
    summary: 'Count documents by status',
    description:
      'Returns the number of documents that are being processed, are indexed or have failed, in one collection or in all.',
    request: status.StatusRequest,
    reply: status.StatusResponse,
    example: { collection_name: 'handbook' },
    errorResponses: { 404: collectionNotFound },
    check: (request) => {
      if (typeof request.collection_name === 'string') checks.checkCollectionName(request.collection_name);
    },
    serve: (services, call, request) => services.status.getStatus(call, request),
  }),
];
