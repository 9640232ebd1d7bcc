import { AppError } from '../base/app-error.ts';
import { FairSemaphore, type OverloadObserver } from '../core/async/fair-semaphore.ts';

export interface OrganizationSemaphoreOptions {
  /** Tasks that run at a time. */
  readonly permits: number;
  /** Tasks of one organization that wait at a time; more are refused. */
  readonly waitingMax: number;
  /** Plural noun for the tasks, as refusals show it: `queries`. */
  readonly what: string;
  readonly overload?: OverloadObserver;
}

/** A semaphore that organizations share fairly. Errors: `rate_limited`, and `unavailable` for a caller that left. */
export function organizationSemaphore({
  permits,
  waitingMax,
  what,
  overload,
}: OrganizationSemaphoreOptions): FairSemaphore {
  const queueFull = () =>
    new AppError(
      'rate_limited',
      `Your organization sends ${what} faster than they are answered, or more than ${waitingMax} at a time: wait for replies before you send more.`,
      { retryAfterMs: 1_000, headers: { 'x-quarry-limit': `waiting-${what.replaceAll(' ', '-')}` } },
    );
  const cancelled = () =>
    new AppError('unavailable', 'The call ended while it waited for its turn.', { retryAfterMs: 1_000 });
  const errors = { queueFull, cancelled };
  return new FairSemaphore({
    ...{ permits, waitingMaxPerKey: waitingMax, errors },
    ...(overload === undefined ? {} : { overload }),
  });
}
