import type { Caller } from '../base/caller.ts';

/** Whose turn it is when more is asked than can run; `access/fair-turns`. */
export interface Turns {
  /** Null: at once. Rejects when the caller leaves. Errors: `rate_limited` when too many of the organisation wait. */
  enter(organizationId: string, caller: Caller): Promise<void> | null;
  /** Ends a turn, once. */
  leave(): void;
}
