import * as changes from '../../schemas/changes.ts';
import * as checks from '../../schemas/checks.ts';
import { organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

const errorResponses = {
  410: 'The changes after the cursor are no longer kept. Request a new cursor and list the documents again.',
};

export const changeRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'get-changes',
    access: 'read',
    path: '/changes/get-changes',
    summary: 'Read the changes of documents and collections',
    description:
      'Returns the changes after a cursor, in the order in which they were made. Changes are recorded from the first call of an organization and kept for 7 days, at most 100,000. A restricted key gets the changes of its collections and of documents that match its filter.',
    request: changes.GetChangesRequest,
    reply: changes.GetChangesResponse,
    example: { limit: 100, wait_seconds: 0 },
    errorResponses,
    check: checks.checkGetChanges,
    serve: (services, call, request) => services.changeFeed.getChanges(call, request),
  }),
  organizationRoute({
    operation: 'stream-changes',
    access: 'read',
    method: 'GET',
    path: '/changes',
    tag: 'changes',
    summary: 'Follow the changes of documents and collections',
    description:
      'Same as `get-changes`, with the fields in the query string. With `accept: text/event-stream`, the reply is a stream of server-sent events: the name of an event is the type of the change, its data is the change, and its id is the cursor. A client that reconnects sends the cursor as `last-event-id`.',
    request: changes.GetChangesRequest,
    reply: changes.GetChangesResponse,
    queryFields: ['after', 'limit', 'wait_seconds'],
    example: { limit: 100, wait_seconds: 0 },
    errorResponses,
    check: checks.checkGetChanges,
    serve: (services, call, request) => services.changeFeed.getChanges(call, request),
    openStream: (services, call, request, isAllowed) =>
      services.changeFeed.streamChanges(call, request, isAllowed),
  }),
];
