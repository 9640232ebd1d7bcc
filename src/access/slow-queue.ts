import { assert } from '../base/assert.ts';
import type { Timer } from './timer.ts';
import { TurnQueue } from './turn-queue.ts';

export interface SlowQueueOptions {
  readonly timer: Timer;
  /** Slow calls that may run at the same time; the model pools let fast work pass them. */
  readonly runningMax: number;
  /** Charged bytes that may wait; they stand for the memory which the waiting requests hold. */
  readonly waitingBytesMax: number;
}

export interface SlowTicket {
  readonly organizationId: string;
  readonly chargedBytes: number;
  /** Not before this many milliseconds: the bucket is short until then. */
  readonly notBeforeMs: number;
  /** Not after this many milliseconds. */
  readonly waitMsMax: number;
  readonly signal: AbortSignal;
}

/** `started`: run now and call `leave` once. `crowded`: too much waits already. `late`: no turn came in time. */
export type SlowTurn =
  | { readonly outcome: 'started'; readonly leave: () => void }
  | { readonly outcome: 'crowded' | 'late' };

interface Waiting {
  readonly start: () => void;
}

/**
 * Where slow model calls wait: for their bucket first, then for one of a few places, for which organisations take turns
 * and the calls of each go in order of readiness.
 */
export class SlowQueue {
  readonly #options: SlowQueueOptions;
  readonly #ready = new TurnQueue<Waiting>();
  #running = 0;
  #waitingBytes = 0;
  #waitingCalls = 0;

  constructor(options: SlowQueueOptions) {
    assert(options.runningMax > 0, 'a slow queue lets at least one call run');
    this.#options = options;
  }

  /** Slow calls that wait now. */
  get depth(): number {
    return this.#waitingCalls;
  }

  get running(): number {
    return this.#running;
  }

  /** Resolves when it is this call's turn or when there is none for it. Rejects with the signal's reason on abort. */
  async enter(ticket: SlowTicket): Promise<SlowTurn> {
    ticket.signal.throwIfAborted();
    const mayStart = ticket.notBeforeMs <= 0 && this.#running < this.#options.runningMax;
    if (mayStart) return this.#started();
    if (this.#waitingBytes + ticket.chargedBytes > this.#options.waitingBytesMax)
      return { outcome: 'crowded' };
    this.#waitingBytes += ticket.chargedBytes;
    this.#waitingCalls += 1;
    try {
      return await this.#wait(ticket);
    } finally {
      this.#waitingBytes -= ticket.chargedBytes;
      this.#waitingCalls -= 1;
    }
  }

  #wait(ticket: SlowTicket): Promise<SlowTurn> {
    const { timer } = this.#options;
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        this.#ready.delete(ticket.organizationId, waiting);
        stopBefore();
        stopAfter();
        ticket.signal.removeEventListener('abort', aborted);
        finish();
      };
      const waiting: Waiting = { start: () => settle(() => resolve(this.#started())) };
      const aborted = (): void => settle(() => reject(ticket.signal.reason));
      const ready = (): void => {
        this.#ready.add(ticket.organizationId, waiting);
        this.#startNext();
      };
      let stopBefore = (): void => {};
      const stopAfter = timer.after(ticket.waitMsMax, () => settle(() => resolve({ outcome: 'late' })));
      ticket.signal.addEventListener('abort', aborted, { once: true });
      if (ticket.notBeforeMs > 0) stopBefore = timer.after(ticket.notBeforeMs, ready);
      else ready();
    });
  }

  #started(): SlowTurn {
    this.#running += 1;
    let left = false;
    const leave = (): void => {
      if (left) return;
      left = true;
      this.#running -= 1;
      this.#startNext();
    };
    return { outcome: 'started', leave };
  }

  #startNext(): void {
    while (this.#running < this.#options.runningMax) {
      const next = this.#ready.take();
      if (next === null) return;
      next.start();
    }
  }
}
