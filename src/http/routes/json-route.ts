import { assert } from '../../core/assert.ts';
import * as checks from '../../schemas/checks.ts';
import type { Static, TSchema } from '../../schemas/typebox.ts';
import type { AdministratorCall } from '../../services/admin.ts';
import type { ServiceCall, ServiceReply } from '../../services/call.ts';
import type { EventStream } from '../../services/event-stream.ts';
import type { RenderedJson } from '../../services/rendered-json.ts';
import type { OrganizationCall, Services } from '../services.ts';
import type { CheckBounds, JsonRoute } from './route.ts';
import type { OperationDescription, RouteDescription } from './route-description.ts';

interface JsonRouteOptions<Q extends TSchema, R extends TSchema> extends OperationDescription<Q, R> {
  /** See `OperationAccess`. */
  readonly scope?: RouteDescription['scope'];
  /** Default: POST. */
  readonly method?: 'GET' | 'POST';
  /** Default: true. */
  readonly isVersioned?: boolean;
  /** Default: the first segment of the path. */
  readonly tag?: string;
  readonly errorFormat?: RouteDescription['errorFormat'];
  readonly successStatuses?: readonly number[];
  readonly queryFields?: readonly string[];
  readonly check?: (request: Static<Q>, bounds: CheckBounds) => void;
  readonly openStream?: (
    services: Services,
    call: OrganizationCall,
    request: Static<Q>,
    isAllowed: () => boolean,
  ) => Promise<EventStream>;
}

interface OrganizationAccess {
  readonly access: 'read' | 'write';
}

type ServedRouteOptions<Q extends TSchema, R extends TSchema, C> = JsonRouteOptions<Q, R> & {
  readonly serve: (
    services: Services,
    call: C,
    request: Static<Q>,
  ) => Promise<Static<R> | RenderedJson<Static<R>>>;
};
type StatusRouteOptions<Q extends TSchema, R extends TSchema> = JsonRouteOptions<Q, R> &
  OrganizationAccess & {
    readonly serve: (
      services: Services,
      call: OrganizationCall,
      request: Static<Q>,
    ) => Promise<ServiceReply<Static<R>>>;
  };

/**
 * Erases the types of one operation. The request pipeline passes `check` and `serve` only requests that match
 * the schema.
 */
function createJsonRoute<Q extends TSchema, R extends TSchema>(
  options: JsonRouteOptions<Q, R> & Pick<RouteDescription, 'access'>,
  serve: (services: Services, call: ServiceCall, request: Static<Q>) => Promise<ServiceReply<unknown>>,
): JsonRoute {
  // `/models/embed` is tagged `models`; so are the paths of one segment, which are compatible with clients of
  // other services.
  const [, group = '', rest] = options.path.split('/');
  const { openStream } = options;
  return {
    kind: 'json',
    method: options.method ?? 'POST',
    isVersioned: options.isVersioned ?? true,
    tag: options.tag ?? (rest === undefined ? 'models' : group),
    errorFormat: options.errorFormat,
    path: options.path,
    operation: options.operation,
    access: options.access,
    scope: options.scope,
    summary: options.summary,
    description: options.description,
    request: options.request,
    bodyKind: options.bodyKind ?? (options.access === 'administrator' ? 'account' : 'query'),
    reply: options.reply,
    example: options.example,
    successStatuses: options.successStatuses ?? [200],
    errorResponses: options.errorResponses ?? {},
    queryFields: options.queryFields ?? [],
    check: (request, bounds) => options.check?.(request as Static<Q>, bounds),
    serve: (services, call, request) => serve(services, call, request as Static<Q>),
    openStream:
      openStream === undefined
        ? null
        : (services, call, request, isAllowed) =>
            openStream(services, toOrganizationCall(call), request as Static<Q>, isAllowed),
  };
}

/** Builds a route for organizations with one success status. */
export function organizationRoute<Q extends TSchema, R extends TSchema>(
  options: ServedRouteOptions<Q, R, OrganizationCall> & OrganizationAccess,
): JsonRoute {
  const successStatus = options.successStatuses?.[0] ?? 200;
  return createJsonRoute(options, async (services, call, request) => ({
    status: successStatus,
    body: await options.serve(services, toOrganizationCall(call), request),
  }));
}

/** Builds a route for organizations whose service chooses the success status. */
export function organizationStatusRoute<Q extends TSchema, R extends TSchema>(
  options: StatusRouteOptions<Q, R>,
): JsonRoute {
  return createJsonRoute(options, (services, call, request) =>
    options.serve(services, toOrganizationCall(call), request),
  );
}

/** Builds a route for the administrator. */
export function administratorRoute<Q extends TSchema, R extends TSchema>(
  options: ServedRouteOptions<Q, R, AdministratorCall>,
): JsonRoute {
  const successStatus = options.successStatuses?.[0] ?? 200;
  return createJsonRoute({ ...options, access: 'administrator' }, async (services, call, request) => ({
    status: successStatus,
    body: await options.serve(services, toAdministratorCall(call), request),
  }));
}

/** Narrows the call; the request pipeline has already authorized the caller. */
export function toOrganizationCall(call: ServiceCall): OrganizationCall {
  assert(
    call.principal.kind === 'organization',
    'the access of the route lets only organizations call this operation',
  );
  return call as OrganizationCall;
}

function toAdministratorCall(call: ServiceCall): AdministratorCall {
  assert(
    call.principal.kind === 'administrator',
    'the access of the route lets only the administrator call this operation',
  );
  return call as AdministratorCall;
}

export const collectionNotFound = 'The collection does not exist.';
export const documentNotFound = 'The collection or the document does not exist.';
export const organizationNotFound = 'The organization does not exist.';

export function checkCollection(request: { readonly collection_name: string }): void {
  checks.checkCollectionName(request.collection_name);
}

export function checkDocument(request: { readonly collection_name: string; readonly path: string }): void {
  checkCollection(request);
  checks.checkPath(request.path);
}
