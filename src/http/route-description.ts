import type { OperationName } from '../auth/authorize.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT';

/** Operation as API clients name it: `documents/add-document`, `api/organizations/get-info`. */
export function apiOperationPath(path: string): string {
  return path.replace(/^\//, '');
}

/** Description of a route for the router, the request pipeline and the documentation. */
export interface RouteDescription {
  readonly method: HttpMethod;
  /** Path pattern in find-my-way syntax. */
  readonly path: string;
  readonly operation: OperationName;
  /** Whether the route is served under `/v1` and at the root; other routes only at the root. */
  readonly isVersioned: boolean;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Error statuses that this operation adds to the common ones, with their causes. */
  readonly errorResponses: Readonly<Partial<Record<number, string>>>;
}
