import { FairQueue } from './fair-queue.ts';

/** Reports that a waiting caller has left; `CancellationToken` implements it. */
export interface CancellationSource {
  readonly isCanceled: boolean;
  /** Calls `listener` once when `isCanceled` becomes true, immediately if it already is. */
  onCanceled(listener: () => void): void;
}

/** Reports which keys send faster than they are served; `OverloadDetector` implements it. */
export interface OverloadObserver {
  /** Whether a key was overloaded within the last second. */
  readonly isOverloaded: boolean;
  /** Counts an arriving request. Returns whether its key is overloaded. */
  recordRequest(key: string): boolean;
  /** Counts the rejection of a request counted by `recordRequest`. */
  recordRejection(key: string): void;
}

export interface FairSemaphoreOptions {
  readonly permits: number;
  /** Permits while a key is overloaded, at most `permits`. Default: `permits`. */
  readonly permitsInOverload?: number;
  /** Maximum number of waiting callers per key; further callers are rejected. */
  readonly waitingMaxPerKey: number;
  /** Default: no key is overloaded. */
  readonly overload?: OverloadObserver;
  readonly errors: {
    /** Error for a caller that exceeds `waitingMaxPerKey`. */
    readonly queueFull: () => Error;
    /** Error for a caller that is canceled while it waits. */
    readonly canceled: () => Error;
  };
}

interface Waiter {
  readonly start: () => void;
  readonly reject: () => void;
}

/**
 * A semaphore with round robin between keys (organizations). A caller gets a free permit at once; otherwise
 * the keys take turns, so that a thousand queries of one organization delay a query of another by no more
 * than the running queries. For an overloaded key only the newest caller waits, and the previous one is
 * rejected: a started call has hardly waited, a rejected call fails fast, and the key still uses its turns.
 *
 * Custom code for the reason given at `FairQueue`, and because `acquire` returns null
 * when the caller did not wait, so that a query recomputes its deadline only after a wait.
 */
export class FairSemaphore {
  readonly #options: FairSemaphoreOptions;
  readonly #queue = new FairQueue<Waiter>();
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
   * Returns null when the caller has its permit at once, else a promise of it. Each permit must be released
   * with exactly one `release`. Throws `queueFull` or `canceled`; rejects with `canceled` when the caller is
   * canceled while it waits, and with `queueFull` when a newer caller of an overloaded key replaces it.
   */
  acquire(key: string, cancellation: CancellationSource): Promise<void> | null {
    const { waitingMaxPerKey, overload, errors } = this.#options;
    const isOverloaded = overload?.recordRequest(key) === true;
    if (this.#running < this.#permits) {
      this.#running += 1;
      return null;
    }
    if (cancellation.isCanceled) throw errors.canceled();
    if (isOverloaded) this.#rejectWaiting(key);
    else if (this.#queue.sizeOf(key) >= waitingMaxPerKey) throw this.#rejectionError(key);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { start: resolve, reject: () => reject(this.#rejectionError(key)) };
      this.#queue.add(key, waiter);
      cancellation.onCanceled(() => {
        if (this.#queue.delete(key, waiter)) reject(errors.canceled());
      });
    });
  }

  /** Passes the permit to the longest waiting caller of the next key. */
  release(): void {
    this.#running -= 1;
    while (this.#running < this.#permits) {
      const next = this.#queue.take();
      if (next === null) return;
      this.#running += 1;
      next.start();
    }
  }

  get #permits(): number {
    const { permits, permitsInOverload = permits, overload } = this.#options;
    return overload?.isOverloaded === true ? permitsInOverload : permits;
  }

  #rejectWaiting(key: string): void {
    for (;;) {
      const waiter = this.#queue.takeFrom(key);
      if (waiter === null) return;
      waiter.reject();
    }
  }

  #rejectionError(key: string): Error {
    const { overload, errors } = this.#options;
    overload?.recordRejection(key);
    return errors.queueFull();
  }
}
