import { Mutex as Lock } from 'async-mutex';

/** Runs one task at a time, in order of arrival. A failed task does not block the next one. */
export class Mutex {
  readonly #lock = new Lock();

  /** Resolves or rejects as `task` does. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#lock.runExclusive(task);
  }
}

/**
 * One mutex per key; different keys never wait for each other. Makes a read, a decision and a write one
 * atomic step, for example for everything about one path. A key without tasks uses no memory.
 *
 * Not async-mutex: a task here can lock several keys, and does so in one step, so that tasks never wait for
 * each other in a circle.
 */
export class KeyedMutex {
  /** Per key with tasks: settles when all of them have ended; never rejects. */
  readonly #ends = new Map<string, Promise<void>>();

  /**
   * Runs `task` after every earlier task of `key`, and never within this call: the caller can register the
   * returned promise first. Resolves or rejects as `task` does.
   */
  run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    return this.runAll([key], task);
  }

  /** Same after every earlier task of any of these keys; later tasks of each key wait for this one. */
  runAll<Result>(keys: readonly string[], task: () => Promise<Result>): Promise<Result> {
    const before = keys.flatMap((key) => this.#ends.get(key) ?? []);
    const running = Promise.all(before).then(task);
    const end: Promise<void> = running.then(
      () => this.#release(keys, end),
      () => this.#release(keys, end),
    );
    for (const key of keys) this.#ends.set(key, end);
    return running;
  }

  /** Resolves when every task added before this call has ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#ends.values());
  }

  /** Number of keys with a running or waiting task. */
  get size(): number {
    return this.#ends.size;
  }

  #release(keys: readonly string[], end: Promise<void>): void {
    for (const key of keys) if (this.#ends.get(key) === end) this.#ends.delete(key);
  }
}
