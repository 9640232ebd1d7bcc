import { assert } from '../core/assert.ts';
import { FairQueue } from '../core/async/fair-queue.ts';
import { SharedBudget } from './shared-budget.ts';
import type { Timer } from './timer.ts';

export interface SlowCallQueueOptions {
  readonly timer: Timer;
  /** Maximum number of concurrent slow calls; the model pools prefer fast work. */
  readonly runningMax: number;
  /** Maximum charged bytes of all waiting calls, a proxy for the memory that their requests hold. */
  readonly waitingBytesMax: number;
}

export interface SlowCall {
  readonly organizationId: string;
  readonly chargedBytes: number;
  /** Milliseconds until the bucket has refilled, before which the call must not start. */
  readonly notBeforeMs: number;
  /** Milliseconds after which the call is rejected. */
  readonly waitMsMax: number;
  readonly signal: AbortSignal;
}

/**
 * `started`: run now and call `release` once. `full`: the organization has its share of waiting bytes already.
 * `late`: no slot became free in time.
 */
export type SlowCallOutcome =
  | { readonly outcome: 'started'; readonly release: () => void }
  | { readonly outcome: 'full' | 'late' };

interface Waiter {
  readonly start: () => void;
}

/**
 * Queue of slow model calls. A call waits until its bucket has refilled, then for one of a few slots, which
 * are assigned round-robin among organizations.
 */
export class SlowCallQueue {
  readonly #options: SlowCallQueueOptions;
  readonly #queue = new FairQueue<Waiter>();
  #running = 0;
  readonly #waitingBytes: SharedBudget;
  #waitingCalls = 0;

  constructor(options: SlowCallQueueOptions) {
    assert(options.runningMax > 0, 'runningMax is positive');
    this.#options = options;
    this.#waitingBytes = new SharedBudget(options.waitingBytesMax);
  }

  /** Number of waiting slow calls. */
  get depth(): number {
    return this.#waitingCalls;
  }

  get running(): number {
    return this.#running;
  }

  /** Resolves with the outcome of the wait. The promise rejects with the reason of the signal on abort. */
  async acquire(call: SlowCall): Promise<SlowCallOutcome> {
    call.signal.throwIfAborted();
    const mayStart = call.notBeforeMs <= 0 && this.#running < this.#options.runningMax;
    if (mayStart) return this.#start();
    const { organizationId, chargedBytes } = call;
    if (!this.#waitingBytes.tryAcquire(organizationId, chargedBytes)) return { outcome: 'full' };
    this.#waitingCalls += 1;
    try {
      return await this.#wait(call);
    } finally {
      this.#waitingBytes.release(organizationId, chargedBytes);
      this.#waitingCalls -= 1;
    }
  }

  #wait(call: SlowCall): Promise<SlowCallOutcome> {
    const { timer } = this.#options;
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        this.#queue.delete(call.organizationId, waiter);
        stopBefore();
        stopAfter();
        call.signal.removeEventListener('abort', aborted);
        finish();
      };
      const waiter: Waiter = { start: () => settle(() => resolve(this.#start())) };
      const aborted = (): void => settle(() => reject(call.signal.reason));
      const ready = (): void => {
        this.#queue.add(call.organizationId, waiter);
        this.#startNext();
      };
      let stopBefore = (): void => {};
      const stopAfter = timer.after(call.waitMsMax, () => settle(() => resolve({ outcome: 'late' })));
      call.signal.addEventListener('abort', aborted, { once: true });
      if (call.notBeforeMs > 0) stopBefore = timer.after(call.notBeforeMs, ready);
      else ready();
    });
  }

  #start(): SlowCallOutcome {
    this.#running += 1;
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      this.#running -= 1;
      this.#startNext();
    };
    return { outcome: 'started', release };
  }

  #startNext(): void {
    while (this.#running < this.#options.runningMax) {
      const next = this.#queue.take();
      if (next === null) return;
      next.start();
    }
  }
}
