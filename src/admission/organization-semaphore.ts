import { AppError } from '../core/app-error.ts';
import { FairSemaphore, type OverloadObserver } from '../core/async/fair-semaphore.ts';

export interface OrganizationSemaphoreOptions {
  /** Maximum number of concurrent tasks. */
  readonly permits: number;
  /** Maximum number of waiting tasks per organization; more are rejected. */
  readonly waitingMax: number;
  /** Plural noun for the tasks in error messages, such as `queries`. */
  readonly noun: string;
  readonly overload?: OverloadObserver;
  /** Maximum number of concurrent tasks while an organization is overloaded. Default: `permits`. */
  readonly permitsInOverload?: number;
}

/**
 * Creates a semaphore that organizations share fairly. Errors: `rate_limited`; `unavailable` for a canceled
 * caller.
 */
export function createOrganizationSemaphore({
  permits,
  waitingMax,
  noun,
  overload,
  permitsInOverload = permits,
}: OrganizationSemaphoreOptions): FairSemaphore {
  const queueFull = () =>
    new AppError(
      'rate_limited',
      `Your organization sends ${noun} faster than they are answered, or has more than ${waitingMax} waiting. Wait for replies before you send more.`,
      { retryAfterMs: 1_000, headers: { 'x-quarry-limit': `waiting-${noun.replaceAll(' ', '-')}` } },
    );
  const canceled = () =>
    new AppError('unavailable', 'The call was canceled while it was queued.', { retryAfterMs: 1_000 });
  const errors = { queueFull, canceled };
  return new FairSemaphore({
    permits,
    permitsInOverload,
    waitingMaxPerKey: waitingMax,
    errors,
    ...(overload === undefined ? {} : { overload }),
  });
}
