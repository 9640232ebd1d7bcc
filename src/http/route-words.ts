import type { Operation } from '../access/authorise.ts';

export type Method = 'GET' | 'POST' | 'PUT';

/** An operation as clients of the API call it: `documents/add-document`, `api/organizations/get-info`. */
export function apiName(path: string): string {
  return path.replace(/^\//, '');
}

/** What every route says of itself, to the router, to the corridor and to people. */
export interface RouteWords {
  readonly method: Method;
  /** In the syntax of find-my-way. */
  readonly path: string;
  readonly operation: Operation;
  /** Served under `/v1` and at the root; others at the root only. */
  readonly versioned: boolean;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Refusals that this operation adds to the common ones, and when. */
  readonly refusals: Readonly<Partial<Record<number, string>>>;
}
