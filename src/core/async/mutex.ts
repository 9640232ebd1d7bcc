import { Mutex as Lock } from 'async-mutex';

/** Runs one task at a time, in order of arrival. A failed task does not block the next one. */
export class Mutex {
  readonly #lock = new Lock();

  /** Resolves or rejects as `task` does. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#lock.runExclusive(task);
  }
}

interface Entry {
  readonly lock: Lock;
  /** Number of running and waiting tasks. */
  tasks: number;
}

/**
 * One mutex per key; different keys never wait for each other. Makes a read, a decision and a write one
 * atomic step, for example for everything about one path. A key without tasks uses no memory.
 */
export class KeyedMutex {
  readonly #entries = new Map<string, Entry>();

  /** Runs `task` after every earlier task of `key`. Resolves or rejects as `task` does. */
  async run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const entry = this.#entries.get(key) ?? { lock: new Lock(), tasks: 0 };
    this.#entries.set(key, entry);
    entry.tasks += 1;
    try {
      return await entry.lock.runExclusive(task);
    } finally {
      entry.tasks -= 1;
      if (entry.tasks === 0) this.#entries.delete(key);
    }
  }

  /** Resolves when every task added before this call has ended. */
  async idle(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ lock }) => lock.runExclusive(() => undefined)));
  }

  /** Number of keys with a running or waiting task. */
  get size(): number {
    return this.#entries.size;
  }
}
