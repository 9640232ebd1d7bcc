import { hasFairShare } from '../core/async/fair-share.ts';

/** Bounds the requests that wait for indexing (`wait: true`), with fair shares among organizations. */
export class WaitLimiter {
  readonly #capacity: number;
  readonly #waiting = new Map<string, number>();
  #used = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Returns false without a share: the request is then answered at once, with the current status. */
  tryAcquire(organizationId: string): boolean {
    const held = this.#waiting.get(organizationId) ?? 0;
    const holders = this.#waiting.size + (held === 0 ? 1 : 0);
    if (!hasFairShare({ held, used: this.#used, capacity: this.#capacity, holders })) return false;
    this.#waiting.set(organizationId, held + 1);
    this.#used += 1;
    return true;
  }

  release(organizationId: string): void {
    const left = (this.#waiting.get(organizationId) ?? 1) - 1;
    this.#used -= 1;
    if (left === 0) this.#waiting.delete(organizationId);
    else this.#waiting.set(organizationId, left);
  }
}
