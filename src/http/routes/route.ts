import type { BodyKind } from '../../admission/body-limits.ts';
import type { TSchema } from '../../schemas/typebox.ts';
import type { ServiceCall, ServiceReply } from '../../services/call.ts';
import type { EventStream } from '../../services/event-stream.ts';
import type { Services } from '../services.ts';
import type { AccountRoute } from './account-route.ts';
import type { RouteDescription } from './route-description.ts';

/** Limits that the checks need besides the request. */
export interface CheckBounds {
  /** Maximum bytes of metadata as compact JSON; an organization may have a higher limit than the default. */
  readonly metadataBytesMax: () => number;
}

export interface JsonRoute extends RouteDescription {
  readonly kind: 'json';
  readonly request: TSchema;
  /** Limits of the body. */
  readonly bodyKind: BodyKind;
  readonly reply: TSchema;
  /** Success statuses, the usual one first. */
  readonly successStatuses: readonly number[];
  /** A valid request body, for the documentation. */
  readonly example: unknown;
  /**
   * Fields that may also be in the query string, where they override the body. Parameters of the path are
   * fields of the request, too, and override both. A GET request has no body.
   */
  readonly queryFields: readonly string[];
  /** Rules that fail with 400. `request` matches the schema. */
  readonly check: (request: unknown, bounds: CheckBounds) => void;
  readonly serve: (services: Services, call: ServiceCall, request: unknown) => Promise<ServiceReply<unknown>>;
  /**
   * Replies to GET requests that accept `text/event-stream`, and to other requests with `stream: true`; null: the
   * operation has no event stream.
   */
  readonly openStream: OpenStream | null;
}

/** `isAllowed`: whether the caller may still call the operation. */
type OpenStream = (
  services: Services,
  call: ServiceCall,
  request: unknown,
  isAllowed: () => boolean,
) => Promise<EventStream>;

/** Document upload as the raw body (`put`) or a form part (`multipart`); it streams to the service. */
export interface UploadRoute extends RouteDescription {
  readonly kind: 'put' | 'multipart';
}

/** Download authorized only by the token in its URL. */
export interface TokenRoute extends RouteDescription {
  readonly kind: 'file' | 'image';
}

/** Messages of the Model Context Protocol. */
export interface McpRoute extends RouteDescription {
  readonly kind: 'mcp';
  /** A valid message, for the documentation. */
  readonly example: object;
}

/** The dashboard and the pages about the server itself. */
export interface PageRoute extends RouteDescription {
  readonly kind: 'page';
  readonly page:
    | ('home' | 'dashboard-entry' | 'dashboard' | 'asset')
    | ('healthz' | 'readyz' | 'metrics' | 'openapi' | 'account-openapi' | 'docs' | 'documentation');
}

/**
 * The check that a browser sends before a request of a page of another site. Not in the table of routes: it exists for
 * each operation that such a page may call.
 */
export interface PreflightRoute extends RouteDescription {
  readonly kind: 'preflight';
}

export type Route = JsonRoute | UploadRoute | TokenRoute | McpRoute | PageRoute | AccountRoute;
