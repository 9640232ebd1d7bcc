import { Mutex } from '../core/async/mutex.ts';
import type { TargetLock } from './target-lock.ts';

/**
 * Lock of a target for one process: operations that only add objects share it, and pruning runs alone. The lock
 * of the target is held only while an operation runs.
 */
export class SharedTargetLock {
  readonly #acquire: (operation: string) => Promise<TargetLock>;
  readonly #starts = new Mutex();
  readonly #onIdle = new Set<() => void>();
  #lock: TargetLock | null = null;
  #users = 0;

  constructor(acquire: (operation: string) => Promise<TargetLock>) {
    this.#acquire = acquire;
  }

  async share<Result>(operation: string, work: (lock: TargetLock) => Promise<Result>): Promise<Result> {
    const lock = await this.#starts.run(async () => {
      this.#lock ??= await this.#acquire(operation);
      this.#users += 1;
      return this.#lock;
    });
    try {
      return await work(lock);
    } finally {
      this.#users -= 1;
      if (this.#users === 0) {
        this.#lock = null;
        await lock.release();
        for (const resume of this.#onIdle) resume();
        this.#onIdle.clear();
      }
    }
  }

  runAlone<Result>(operation: string, work: (lock: TargetLock) => Promise<Result>): Promise<Result> {
    return this.#starts.run(async () => {
      if (this.#users > 0) await new Promise<void>((resolve) => this.#onIdle.add(resolve));
      const lock = await this.#acquire(operation);
      try {
        return await work(lock);
      } finally {
        await lock.release();
      }
    });
  }
}
