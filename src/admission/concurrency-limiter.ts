import { AppError } from '../core/app-error.ts';
import { hasFairShare } from '../core/async/fair-share.ts';

/**
 * Bounds concurrent requests. At the limit, organizations with few running requests still get more from a
 * small reserve, so that one organization cannot exclude the others.
 */
export class ConcurrencyLimiter {
  readonly #capacity: number;
  readonly #runningByOrganization = new Map<string, number>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Whether no caller can be admitted while `running` requests run. */
  isFull(running: number): boolean {
    return running > this.#capacity + this.#capacity / 8 + this.#runningByOrganization.size;
  }

  /**
   * `running`: number of running requests, without this one. Errors: `unavailable` (503) without a share for
   * the organization.
   */
  acquire(organizationId: string, running: number): void {
    const held = this.#runningByOrganization.get(organizationId) ?? 0;
    const holders = this.#runningByOrganization.size + (held === 0 ? 1 : 0);
    if (!hasFairShare({ held, used: running, capacity: this.#capacity, holders }))
      throw tooManyRequestsError();
    this.#runningByOrganization.set(organizationId, held + 1);
  }

  release(organizationId: string): void {
    const left = (this.#runningByOrganization.get(organizationId) ?? 1) - 1;
    if (left === 0) this.#runningByOrganization.delete(organizationId);
    else this.#runningByOrganization.set(organizationId, left);
  }
}

export function tooManyRequestsError(): AppError {
  return new AppError('unavailable', 'Too many concurrent requests. Try again shortly.');
}
