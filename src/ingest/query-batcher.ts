const batchQueriesMax = 64;

export interface EmbeddingBatch {
  /** One row of `dimensions` floats per text. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
}

interface QueuedQuery {
  readonly text: string;
  readonly resolve: (vector: Float32Array) => void;
  readonly reject: (error: unknown) => void;
}

/** Schedules a call of `flush` and returns a function that cancels it. */
export type ScheduleFlush = (flush: () => void) => () => void;

/**
 * Flushes after all input that arrived together is read: no query waits for others that have not arrived yet.
 */
export const flushOnImmediate: ScheduleFlush = (flush) => {
  const immediate = setImmediate(flush);
  return () => clearImmediate(immediate);
};

/** Flushes after a delay: each query waits a little longer, but larger batches share a model run. */
export const flushAfter =
  (ms: number): ScheduleFlush =>
  (flush) => {
    const timer = setTimeout(flush, ms);
    return () => clearTimeout(timer);
  };

/** Collects queries for a short time and embeds them in one model run. */
export class QueryBatcher {
  readonly #embed: (texts: readonly string[]) => Promise<EmbeddingBatch>;
  readonly #scheduleFlush: ScheduleFlush;
  readonly #runsMax: number;
  #running = 0;
  #queue: QueuedQuery[] = [];
  #cancelFlush: (() => void) | null = null;

  /**
   * `runsMax`: while this many runs are in progress, other queries wait and share the next runs. Each run
   * takes only its share of the waiting queries: the rest is available to the next run that ends, while the
   * results of this one are being delivered.
   */
  constructor(
    embed: (texts: readonly string[]) => Promise<EmbeddingBatch>,
    scheduleFlush: ScheduleFlush,
    runsMax = Number.POSITIVE_INFINITY,
  ) {
    this.#embed = embed;
    this.#scheduleFlush = scheduleFlush;
    this.#runsMax = runsMax;
  }

  /** Returns the vector of one query text. Rejects as the model run does. */
  embed(text: string): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ text, resolve, reject });
      if (this.#queue.length >= batchQueriesMax) this.#flush();
      else this.#cancelFlush ??= this.#scheduleFlush(() => this.#flush());
    });
  }

  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = null;
    const share = Number.isFinite(this.#runsMax)
      ? Math.ceil(this.#queue.length / this.#runsMax)
      : this.#queue.length;
    while (this.#queue.length > 0 && this.#running < this.#runsMax)
      this.#start(this.#queue.splice(0, Math.min(share, batchQueriesMax)));
  }

  #start(batch: readonly QueuedQuery[]): void {
    this.#running += 1;
    void this.#run(batch).finally(() => {
      this.#running -= 1;
      if (this.#queue.length > 0 && this.#cancelFlush === null) this.#flush();
    });
  }

  /** Never rejects. */
  async #run(batch: readonly QueuedQuery[]): Promise<void> {
    try {
      const { vectors, dimensions } = await this.#embed(batch.map((entry) => entry.text));
      batch.forEach((entry, i) => {
        entry.resolve(vectors.slice(i * dimensions, (i + 1) * dimensions));
      });
    } catch (error) {
      // A query must not fail because of the others in its batch.
      if (batch.length > 1 && this.#runsMax < Number.POSITIVE_INFINITY)
        for (const entry of batch) await this.#run([entry]);
      else for (const entry of batch) entry.reject(error);
    }
  }
}
