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
  #waiting: Waiting[] = [];
  #callOff: (() => void) | null = null;

  constructor(embed: (texts: readonly string[]) => Promise<EmbeddedBatch>, wait: Wait) {
    this.#embed = embed;
    this.#wait = wait;
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
