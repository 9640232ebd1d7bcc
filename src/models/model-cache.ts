const checkIntervalMs = 5_000;

interface ModelCacheEntry<Model, T> {
  readonly model: Model;
  readonly opening: Promise<T>;
  /** Number of running `use` calls. */
  users: number;
}

export interface ModelCacheOptions<Model, T> {
  readonly open: (model: Model) => Promise<T>;
  /** Unique key of a model. */
  readonly keyOf: (model: Model) => string;
  /** Whether the model is removed, so that no further request can use it. */
  readonly isRemoved: (model: Model) => Promise<boolean>;
}

/** Models opened by a thread, each opened once. A failed open is retried by the next caller. */
export class ModelCache<Model, T extends { close(): Promise<void> }> {
  readonly #options: ModelCacheOptions<Model, T>;
  readonly #entries = new Map<string, ModelCacheEntry<Model, T>>();

  constructor(options: ModelCacheOptions<Model, T>) {
    this.#options = options;
  }

  /** Runs `work` with the open model, which stays open at least until `work` settles. */
  async use<Result>(model: Model, work: (entry: T) => Promise<Result>): Promise<Result> {
    const key = this.#options.keyOf(model);
    const entry = this.#entries.get(key) ?? this.#open(key, model);
    entry.users += 1;
    try {
      return await work(await entry.opening);
    } finally {
      entry.users -= 1;
    }
  }

  /**
   * Checks for removed models periodically for the lifetime of the thread. A failure to close a model
   * terminates the thread.
   */
  startChecking(): void {
    setInterval(() => void this.closeRemoved(), checkIntervalMs).unref();
  }

  /** Closes removed models that are not in use; those in use are closed by a later check. */
  async closeRemoved(): Promise<void> {
    for (const [key, opened] of this.#entries) {
      const isRemoved = await this.#options.isRemoved(opened.model);
      if (!isRemoved || opened.users > 0 || this.#entries.get(key) !== opened) continue;
      // Deleted before the first await: a later caller opens the model again, or learns that it is removed.
      this.#entries.delete(key);
      await (await opened.opening).close();
    }
  }

  #open(key: string, model: Model): ModelCacheEntry<Model, T> {
    const opening = this.#options.open(model).catch((error: unknown) => {
      this.#entries.delete(key);
      throw error;
    });
    const opened = { model, opening, users: 0 };
    this.#entries.set(key, opened);
    return opened;
  }
}
