import { FairQueue } from './fair-queue.ts';

/** Tells that a waiting caller has left; `Caller` is one. */
export interface Cancellation {
  readonly gone: boolean;
  /** Calls `listener` once when `gone` becomes true, at once when it already is. */
  onGone(listener: () => void): void;
}

export interface FairSemaphoreOptions {
  readonly permits: number;
  /** Callers of one key that may wait at a time; more are refused. */
  readonly waitingMaxPerKey: number;
  readonly errors: {
    /** Of a caller that finds too many of its key waiting. */
    readonly queueFull: () => Error;
    /** Of a caller that left while it waited. */
    readonly cancelled: () => Error;
  };
}

interface Waiting {
  readonly start: () => void;
}

/**
 * A semaphore with round robin between keys (organizations). A caller that finds a free permit gets it at once; else the
 * keys take turns, so that a thousand queries of one organization delay a query of another by no more than what runs
 * already. Ours for the reason that `FairQueue` gives, and because a free permit costs no promise here.
 */
export class FairSemaphore {
  readonly #options: FairSemaphoreOptions;
  readonly #queue = new FairQueue<Waiting>();
  #running = 0;

  constructor(options: FairSemaphoreOptions) {
    if (options.permits < 1) throw new RangeError('a semaphore has at least one permit');
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Null when the caller has its permit at once, else a promise of it. Every permit is given back with one `release`.
   * Throws `queueFull` or `cancelled`; rejects with `cancelled` when the caller leaves while it waits.
   */
  acquire(key: string, caller: Cancellation): Promise<void> | null {
    const { permits, waitingMaxPerKey, errors } = this.#options;
    if (this.#running < permits) {
      this.#running += 1;
      return null;
    }
    if (caller.gone) throw errors.cancelled();
    if (this.#queue.sizeOf(key) >= waitingMaxPerKey) throw errors.queueFull();
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { start: resolve };
      this.#queue.add(key, waiting);
      caller.onGone(() => {
        if (this.#queue.delete(key, waiting)) reject(errors.cancelled());
      });
    });
  }

  /** The permit goes to the longest waiting caller of the next key. */
  release(): void {
    const next = this.#queue.take();
    if (next === null) this.#running -= 1;
    else next.start();
  }
}
