const lookEveryMs = 5_000;

interface Opened<Model, T> {
  readonly model: Model;
  readonly opening: Promise<T>;
  /** Runs that have it in hand. */
  users: number;
}

export interface OpenModelsOptions<Model, T> {
  readonly open: (model: Model) => Promise<T>;
  /** What tells one model from all others. */
  readonly keyOf: (model: Model) => string;
  /** Whether nobody can ask for a model any more. */
  readonly isGone: (model: Model) => Promise<boolean>;
}

/** The models that a thread has opened, each once. What failed to open is tried again by the next caller. */
export class OpenModels<Model, T extends { close(): Promise<void> }> {
  readonly #options: OpenModelsOptions<Model, T>;
  readonly #opened = new Map<string, Opened<Model, T>>();

  constructor(options: OpenModelsOptions<Model, T>) {
    this.#options = options;
  }

  /** Hands `work` the open model, which stays open at least as long as that runs. */
  async use<Result>(model: Model, work: (opened: T) => Promise<Result>): Promise<Result> {
    const key = this.#options.keyOf(model);
    const opened = this.#opened.get(key) ?? this.#open(key, model);
    opened.users += 1;
    try {
      return await work(await opened.opening);
    } finally {
      opened.users -= 1;
    }
  }

  /** Looks every now and then, as long as the thread lives. Where closing fails, the thread does. */
  watch(): void {
    setInterval(() => void this.closeGone(), lookEveryMs).unref();
  }

  /** Closes what is gone and not in use; what is in use goes the next time. */
  async closeGone(): Promise<void> {
    for (const [key, opened] of this.#opened) {
      const isGone = await this.#options.isGone(opened.model);
      if (!isGone || opened.users > 0 || this.#opened.get(key) !== opened) continue;
      // In the same turn: whoever comes now opens it anew, or learns that it is gone.
      this.#opened.delete(key);
      await (await opened.opening).close();
    }
  }

  #open(key: string, model: Model): Opened<Model, T> {
    const opening = this.#options.open(model).catch((error: unknown) => {
      this.#opened.delete(key);
      throw error;
    });
    const opened = { model, opening, users: 0 };
    this.#opened.set(key, opened);
    return opened;
  }
}
