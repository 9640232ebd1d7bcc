import type { BodyKind } from '../../admission/body-limits.ts';
import type { OperationAccess } from '../../auth/authorize.ts';
import type { Static, TSchema } from '../../schemas/typebox.ts';

export type ErrorFormat = 'openai' | 'cohere';
export type HttpMethod = 'GET' | 'POST' | 'PUT';

/** Operation as API clients name it: `documents/add-document`, `api/organizations/get-info`. */
export function apiOperationPath(path: string): string {
  return path.replace(/^\//, '');
}

/** Description of an operation with its schemas, as the tables of routes give it. */
export interface OperationDescription<Q extends TSchema, R extends TSchema>
  extends Pick<RouteDescription, 'path' | 'summary' | 'description'> {
  readonly operation: string;
  readonly request: Q;
  /** For operations with larger bodies than others. Default: small bodies. */
  readonly bodyKind?: Extract<BodyKind, 'document' | 'model' | 'key'>;
  readonly reply: R;
  readonly example: Static<Q>;
  readonly errorResponses?: RouteDescription['errorResponses'];
}

/** Description of a route for the router, the request pipeline and the documentation. */
export interface RouteDescription extends OperationAccess {
  readonly method: HttpMethod;
  /** Path pattern in find-my-way syntax. */
  readonly path: string;
  /** Whether the route is served under `/v1` and at the root; other routes only at the root. */
  readonly isVersioned: boolean;
  readonly tag: string;
  /** Other service whose clients read its fields of errors in addition to `detail`; absent: none. */
  readonly errorFormat?: ErrorFormat | undefined;
  readonly summary: string;
  readonly description: string;
  /** Error statuses that this operation adds to the common ones, with their causes. */
  readonly errorResponses: Readonly<Partial<Record<number, string>>>;
}
