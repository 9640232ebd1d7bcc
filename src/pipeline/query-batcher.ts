const batchQueriesMax = 64;

export interface EmbeddedBatch {
  /** One row per text, `dimensions` wide. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
}

interface Waiting {
  readonly text: string;
  readonly resolve: (vector: Float32Array) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls `flush` a little later, and answers how to call that off. */
export type Wait = (flush: () => void) => () => void;

/** Until everything is read that arrived together: nobody waits for company that is not there yet. */
export const forThisTurn: Wait = (flush) => {
  const immediate = setImmediate(flush);
  return () => clearImmediate(immediate);
};

/** Each waits a little longer, and more of them ride together. */
export const forMilliseconds =
  (ms: number): Wait =>
  (flush) => {
    const timer = setTimeout(flush, ms);
    return () => clearTimeout(timer);
  };

/** Collects queries for a moment and embeds them in one model run. */
export class QueryBatcher {
  readonly #embed: (texts: readonly string[]) => Promise<EmbeddedBatch>;
  readonly #wait: Wait;
  readonly #runsMax: number;
  #running = 0;
  #waiting: Waiting[] = [];
  #callOff: (() => void) | null = null;

  /**
   * `runsMax`: while so many runs are under way the others wait, and share the next ones. Each run takes its share of
   * them and no more: what it leaves is there for the next run that ends, while the answers of this one are on their way.
   */
  constructor(
    embed: (texts: readonly string[]) => Promise<EmbeddedBatch>,
    wait: Wait,
    runsMax = Number.POSITIVE_INFINITY,
  ) {
    this.#embed = embed;
    this.#wait = wait;
    this.#runsMax = runsMax;
  }

  /** The vector of one query text. Rejects as the model run does. */
  embed(text: string): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      if (this.#waiting.length >= batchQueriesMax) this.#flush();
      else this.#callOff ??= this.#wait(() => this.#flush());
    });
  }

  #flush(): void {
    this.#callOff?.();
    this.#callOff = null;
    const share = Number.isFinite(this.#runsMax)
      ? Math.ceil(this.#waiting.length / this.#runsMax)
      : this.#waiting.length;
    while (this.#waiting.length > 0 && this.#running < this.#runsMax)
      this.#start(this.#waiting.splice(0, Math.min(share, batchQueriesMax)));
  }

  #start(batch: readonly Waiting[]): void {
    this.#running += 1;
    void this.#run(batch).finally(() => {
      this.#running -= 1;
      if (this.#waiting.length > 0 && this.#callOff === null) this.#flush();
    });
  }

  /** Never rejects. */
  async #run(batch: readonly Waiting[]): Promise<void> {
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
