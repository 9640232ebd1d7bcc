/** How long a query may wait for company, and how many ride together. */
const batchWaitMs = 8;
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

/**
 * Collects the queries of `latency_mode: high` for a few milliseconds and embeds them in one model run: each waits
 * a little longer, and the server answers more of them.
 */
export class QueryBatcher {
  readonly #embed: (texts: readonly string[]) => Promise<EmbeddedBatch>;
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(embed: (texts: readonly string[]) => Promise<EmbeddedBatch>) {
    this.#embed = embed;
  }

  /** The vector of one query text. Rejects as the model run does. */
  embed(text: string): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      if (this.#waiting.length >= batchQueriesMax) this.#flush();
      else this.#timer ??= setTimeout(() => this.#flush(), batchWaitMs);
    });
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#embed(batch.map((entry) => entry.text)).then(
      ({ vectors, dimensions }) => {
        batch.forEach((entry, i) => {
          entry.resolve(vectors.slice(i * dimensions, (i + 1) * dimensions));
        });
      },
      (error: unknown) => {
        for (const entry of batch) entry.reject(error);
      },
    );
  }
}
