import { BoundedCache } from '../base/bounded-cache.ts';
import type { Embedder } from '../models/model.ts';
import { type EmbeddedBatch, forMilliseconds, forThisTurn, QueryBatcher } from './query-batcher.ts';

/** How long a query of `latency_mode: high` may wait for company. */
const sharedWaitMs = 8;
/** Memory of a kept vector beside its numbers and its text. */
const keptBytes = 300;

export interface QueryEmbedderOptions {
  /** The model in this thread. */
  readonly inline: Pick<Embedder, 'embed' | 'dimensions'>;
  /** Longest text that runs in this thread, in UTF-16 units. */
  readonly inlineUnitsMax: number;
  /** The same model in its pool: the same vectors, bit for bit. */
  readonly pooled: (texts: readonly string[]) => Promise<EmbeddedBatch>;
  /** Memory for recent vectors. */
  readonly bytesMax: number;
}

export interface QueryText {
  readonly collectionId: string;
  readonly text: string;
  /** The query lets others ride with it, even if it has to wait for them. */
  readonly shared: boolean;
}

/**
 * Vectors of queries. The way to a worker and back costs several times as much as a small model takes for a short
 * text, so that runs right here, those that arrive together in one run; whatever could keep this thread busy goes to
 * the pool. Recent vectors are kept under collection and text: whether somebody else asked the same cannot be told
 * from how long an answer takes.
 */
export class QueryEmbedder {
  readonly #inlineUnitsMax: number;
  readonly #pooled: QueryEmbedderOptions['pooled'];
  readonly #inline: QueryBatcher;
  readonly #shared: QueryBatcher;
  readonly #recent: BoundedCache<Float32Array>;

  constructor({ inline, inlineUnitsMax, pooled, bytesMax }: QueryEmbedderOptions) {
    this.#inlineUnitsMax = inlineUnitsMax;
    this.#pooled = pooled;
    this.#inline = new QueryBatcher(async (texts) => {
      const { vectors } = await inline.embed(texts, 'query');
      return { vectors, dimensions: inline.dimensions };
    }, forThisTurn);
    this.#shared = new QueryBatcher(pooled, forMilliseconds(sharedWaitMs));
    this.#recent = new BoundedCache(bytesMax);
  }

  /** Estimated memory of the kept vectors. */
  get bytes(): number {
    return this.#recent.cost;
  }

  /** The vector of a query; nobody changes it. Rejects as the model or its pool do. */
  embed(query: QueryText): Float32Array | Promise<Float32Array> {
    const key = `${query.collectionId} ${query.text}`;
    return this.#recent.get(key) ?? this.#run(key, query);
  }

  async #run(key: string, { text, shared }: QueryText): Promise<Float32Array> {
    const vector = await this.#vectorOf(text, shared);
    this.#recent.set(key, vector, vector.byteLength + 2 * key.length + keptBytes);
    return vector;
  }

  async #vectorOf(text: string, shared: boolean): Promise<Float32Array> {
    if (text.length <= this.#inlineUnitsMax) return this.#inline.embed(text);
    if (shared) return this.#shared.embed(text);
    return (await this.#pooled([text])).vectors;
  }
}
