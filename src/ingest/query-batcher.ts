const batchQueriesMax = 64;

export interface EmbeddingBatch {
  /** One row per text, `dimensions` wide. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
}

interface QueuedQuery {
  readonly text: string;
  readonly resolve: (vector: Float32Array) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls `flush` a little later, and answers how to call that off. */
export type ScheduleFlush = (flush: () => void) => () => void;

/** Until everything is read that arrived together: nobody waits for company that is not there yet. */
export const flushOnImmediate: ScheduleFlush = (flush) => {
  const immediate = setImmediate(flush);
  return () => clearImmediate(immediate);
};

/** Each waits a little longer, and more of them ride together. */
export const flushAfter =
  (ms: number): ScheduleFlush =>
  (flush) => {
    const timer = setTimeout(flush, ms);
    return () => clearTimeout(timer);
  };

/** Collects queries for a moment and embeds them in one model run. */
export class QueryBatcher {
  readonly #embed: (texts: readonly string[]) => Promise<EmbeddingBatch>;
  readonly #scheduleFlush: ScheduleFlush;
  readonly #runsMax: number;
  #running = 0;
  #queue: QueuedQuery[] = [];
  #cancelFlush: (() => void) | null = null;

  /**
   * `runsMax`: while so many runs are under way the others wait, and share the next ones. Each run takes its share of
   * them and no more: what it leaves is there for the next run that ends, while the answers of this one are on their way.
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

  /** The vector of one query text. Rejects as the model run does. */
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
      // Company that somebody had to keep must not be anybody's trouble.
      if (batch.length > 1 && this.#runsMax < Number.POSITIVE_INFINITY)
        for (const entry of batch) await this.#run([entry]);
      else for (const entry of batch) entry.reject(error);
    }
  }
}
