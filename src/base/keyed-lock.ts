/**
 * One at a time per key, in the order of arrival; different keys never wait for each other. Holds what must be read,
 * decided and written as one step, for example everything about one path.
 */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `work` when everything that came earlier under `key` has ended, and answers what it answers. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(key, tail);
    try {
      return await result;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  /** Resolves when everything that has come until now has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#tails.values());
  }

  /** Keys that somebody holds or waits for. */
  get size(): number {
    return this.#tails.size;
  }
}
