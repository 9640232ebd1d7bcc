import type { OperationName } from '../auth/authorize.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT';

/** An operation as clients of the API call it: `documents/add-document`, `api/organizations/get-info`. */
export function apiOperationPath(path: string): string {
  return path.replace(/^\//, '');
}

/** What every route says of itself, to the router, to the corridor and to people. */
export interface RouteDescription {
  readonly method: HttpMethod;
  /** In the syntax of find-my-way. */
  readonly path: string;
  readonly operation: OperationName;
  /** Served under `/v1` and at the root; others at the root only. */
  readonly isVersioned: boolean;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Refusals that this operation adds to the common ones, and when. */
  readonly errorResponses: Readonly<Partial<Record<number, string>>>;
}
