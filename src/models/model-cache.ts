const checkIntervalMs = 5_000;

interface ModelCacheEntry<Model, T> {
  readonly model: Model;
  readonly opening: Promise<T>;
  /** Runs that have it in hand. */
  users: number;
}

export interface ModelCacheOptions<Model, T> {
  readonly open: (model: Model) => Promise<T>;
  /** What tells one model from all others. */
  readonly keyOf: (model: Model) => string;
  /** Whether nobody can ask for a model any more. */
  readonly isRemoved: (model: Model) => Promise<boolean>;
}

/** The models that a thread has opened, each once. What failed to open is tried again by the next caller. */
export class ModelCache<Model, T extends { close(): Promise<void> }> {
  readonly #options: ModelCacheOptions<Model, T>;
  readonly #entries = new Map<string, ModelCacheEntry<Model, T>>();

  constructor(options: ModelCacheOptions<Model, T>) {
    this.#options = options;
  }

  /** Hands `work` the open model, which stays open at least as long as that runs. */
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

  /** Looks every now and then, as long as the thread lives. Where closing fails, the thread does. */
  startChecking(): void {
    setInterval(() => void this.closeRemoved(), checkIntervalMs).unref();
  }

  /** Closes what is gone and not in use; what is in use goes the next time. */
  async closeRemoved(): Promise<void> {
    for (const [key, opened] of this.#entries) {
      const isRemoved = await this.#options.isRemoved(opened.model);
      if (!isRemoved || opened.users > 0 || this.#entries.get(key) !== opened) continue;
      // In the same turn: whoever comes now opens it anew, or learns that it is gone.
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
