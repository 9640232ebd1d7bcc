import { FairQueue } from './fair-queue.ts';

/** Tells that a waiting caller has left; `Caller` is one. */
export interface CancellationSource {
  readonly isCanceled: boolean;
  /** Calls `listener` once when `gone` becomes true, at once when it already is. */
  onCanceled(listener: () => void): void;
}

/** Tells which keys send faster than they are served; `OverloadDetector` is one. */
export interface OverloadObserver {
  /** Counts a request that arrived. Whether its key is overloaded. */
  recordRequest(key: string): boolean;
  /** Counts the refusal of a request that had arrived. */
  recordRejection(key: string): void;
}

export interface FairSemaphoreOptions {
  readonly permits: number;
  /** Callers of one key that may wait at a time; more are refused. */
  readonly waitingMaxPerKey: number;
  /** Without one, no key is overloaded. */
  readonly overload?: OverloadObserver;
  readonly errors: {
    /** Of a caller that finds too many of its key waiting. */
    readonly queueFull: () => Error;
    /** Of a caller that left while it waited. */
    readonly canceled: () => Error;
  };
}

interface Waiter {
  readonly start: () => void;
  readonly reject: () => void;
}

/**
 * A semaphore with round robin between keys (organizations). A caller that finds a free permit gets it at once; else the
 * keys take turns, so that a thousand queries of one organization delay a query of another by no more than what runs
 * already. Of an overloaded key only the newest caller waits, and the one before it is refused: what starts has hardly
 * waited, what is refused learns it at once, and the key uses its turns all the same.
 *
 * Ours for the reason that `FairQueue` gives, and because a free permit costs no promise here.
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
   * Null when the caller has its permit at once, else a promise of it. Every permit is given back with one `release`.
   * Throws `queueFull` or `cancelled`; rejects with `cancelled` when the caller leaves while it waits.
   */
  acquire(key: string, cancellation: CancellationSource): Promise<void> | null {
    const { permits, waitingMaxPerKey, overload, errors } = this.#options;
    const isOverloaded = overload?.recordRequest(key) === true;
    if (this.#running < permits) {
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

  /** The permit goes to the longest waiting caller of the next key. */
  release(): void {
    const next = this.#queue.take();
    if (next === null) this.#running -= 1;
    else next.start();
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
