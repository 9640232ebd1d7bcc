export interface SemaphoreOptions {
  readonly permits: number;
  /** Permits reserved for callers of high priority. At least one permit remains for the others. */
  readonly reservedPermits?: number;
}

export interface AcquireOptions {
  /** `high` goes before `normal`; within one priority, callers are served in order of arrival. */
  readonly priority?: 'high' | 'normal';
  readonly signal?: AbortSignal;
}

/**
 * Bounds the number of concurrent tasks. Custom code, because async-mutex has neither an abort signal for one
 * waiting task nor reserved permits, and p-queue reserves nothing for urgent tasks. A permit that long
 * document work can never take keeps a query from waiting for all of that work.
 */
export class Semaphore {
  readonly #permits: number;
  readonly #normalPermits: number;
  readonly #high = new Set<() => void>();
  readonly #normal = new Set<() => void>();
  #acquired = 0;

  constructor({ permits, reservedPermits = 0 }: SemaphoreOptions) {
    if (permits < 1) throw new RangeError('a semaphore has at least one permit');
    this.#permits = permits;
    this.#normalPermits = Math.max(1, permits - reservedPermits);
  }

  /**
   * Resolves with a permit; return it with `release`. Rejects with the reason of the signal when the signal
   * aborts first.
   */
  acquire({ priority = 'normal', signal }: AcquireOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      const queue = priority === 'high' ? this.#high : this.#normal;
      const abort = () => {
        queue.delete(start);
        reject(signal?.reason);
      };
      const start = () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      signal?.addEventListener('abort', abort, { once: true });
      queue.add(start);
      this.#startWaiting();
    });
  }

  /** Returns one permit and passes it to a waiting caller if there is one. */
  release(): void {
    this.#acquired -= 1;
    this.#startWaiting();
  }

  /** Runs `task` with a permit. Resolves or rejects as `task` does; rejects when `signal` aborts while it waits. */
  async run<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    await this.acquire(signal === undefined ? {} : { signal });
    try {
      return await task();
    } finally {
      this.release();
    }
  }

  #startWaiting(): void {
    for (;;) {
      const queue = this.#high.size > 0 ? this.#high : this.#normal;
      const permits = queue === this.#high ? this.#permits : this.#normalPermits;
      const [start] = queue;
      if (start === undefined || this.#acquired >= permits) return;
      queue.delete(start);
      this.#acquired += 1;
      start();
    }
  }
}
