import { AppError } from '../core/app-error.ts';
import { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { limits } from '../core/limits.ts';

/** The semaphore supports cancellation; a password check is too short for that to pay off. */
const neverCanceled = { isCanceled: false, onCanceled: () => {} };

/**
 * Queue for the hashing of passwords. One password is hashed at a time, because a hash costs 19 MiB and 30 ms
 * of a core. Client addresses are served round robin.
 */
export class PasswordQueue {
  readonly #semaphore = new FairSemaphore({
    permits: 1,
    waitingMaxPerKey: limits.passwordsWaitingMax,
    errors: { queueFull: tooManyChecksError, canceled: tooManyChecksError },
  });

  /** Errors: 429 while too many calls of this client wait. */
  async run<Result>(clientKey: string, work: () => Promise<Result>): Promise<Result> {
    await this.#semaphore.acquire(clientKey, neverCanceled);
    try {
      return await work();
    } finally {
      this.#semaphore.release();
    }
  }
}

function tooManyChecksError(): AppError {
  return new AppError(
    'rate_limited',
    'Too many sign-in attempts from your address are in progress. Try again shortly.',
    { retryAfterMs: 1_000 },
  );
}
