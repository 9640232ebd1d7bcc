import type { EventStream } from '../../services/event-stream.ts';
import type { Reply } from '../exchange.ts';
import { encodeEventStream } from '../server-sent-events.ts';
import { authenticate, authorize } from './authorization.ts';
import { ownerOf, type RequestContext } from './request-context.ts';

/** Whether the client asks for server-sent events: in a header, or in the field `stream` of a request with a body. */
export function asksForEventStream({ exchange }: RequestContext, request: unknown): boolean {
  if (exchange.method === 'GET') return /\btext\/event-stream\b/i.test(exchange.header('accept') ?? '');
  return (request as { readonly stream?: unknown }).stream === true;
}

/** Whether the credential is still valid and gives the same access as at the start of the request. */
export function isStillAllowed(context: RequestContext): boolean {
  const before = context.principal;
  const owner = ownerOf(context);
  try {
    authenticate(context);
    authorize(context);
  } catch {
    return false;
  }
  const { principal } = context;
  if (before?.kind !== 'organization' || principal?.kind !== 'organization') return false;
  const restrictions = [before, principal].map(({ restriction = null }) => JSON.stringify(restriction));
  return ownerOf(context) === owner && restrictions[0] === restrictions[1];
}

/** A stream without an end ends when the server stops, so that clients reconnect to the next one at once. */
export function eventStreamReply(context: RequestContext, stream: EventStream): Reply {
  const { components, deadline, serviceHeaders } = context;
  // The stream may never be opened, if the client disconnects before the reply.
  deadline.onCanceled(stream.close);
  if (!stream.isAwaitedAtStop) components.activeRequests.addStream(deadline);
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no', ...serviceHeaders },
    body: { size: null, open: () => encodeEventStream(stream.events) },
  };
}
