import { BoundedCache } from '../core/bounded-cache.ts';
import type { Embeddings } from '../models/model.ts';
import { type EmbeddingBatch, flushAfter, flushOnImmediate, QueryBatcher } from './query-batcher.ts';

/** How long a query of `latency_mode: high` may wait for company. */
const batchWaitMs = 8;
/** Memory of a kept vector beside its numbers and its text. */
const cacheEntryOverheadBytes = 300;

export interface QueryEmbedderOptions {
  /** The model in this thread. */
  readonly inline: { embedSync(texts: readonly string[], inputType: 'query'): Embeddings };
  /** Longest text that runs in this thread, in UTF-16 units. */
  readonly inlineUnitsMax: number;
  /** Id of that model. */
  readonly inlineModel: string;
  /** Any model, where it runs; the inline one gives the same vectors, bit for bit. */
  readonly embedInPool: (texts: readonly string[], model: string) => Promise<EmbeddingBatch>;
  /** How many runs of a model fit beside each other; null: its service brings texts together itself. */
  readonly runsMax?: (model: string) => number | null;
  /** Memory for recent vectors. */
  readonly bytesMax: number;
}

export interface QueryText {
  /** Id of the model of the collection. */
  readonly model: string;
  readonly collectionId: string;
  readonly text: string;
  /** The query lets others ride with it, even if it has to wait for them. */
  readonly shared: boolean;
}

/**
 * Vectors of queries. The way to a worker and back costs several times as much as a small model takes for a short
 * text, and so does waiting for others or looking for a vector of before: that runs right here, at once. Whatever could
 * keep this thread busy goes to the pool, and recent vectors of the pool are kept under collection and text: whether
 * somebody else asked the same cannot be told from how long an answer takes.
 */
export class QueryEmbedder {
  readonly #inlineUnitsMax: number;
  readonly #embedInPool: QueryEmbedderOptions['embedInPool'];
  readonly #inlineModel: string;
  readonly #inline: QueryEmbedderOptions['inline'];
  /** By model. */
  readonly #batchers = new Map<string, QueryBatcher>();
  readonly #queues = new Map<string, QueryBatcher>();
  readonly #runsMax: NonNullable<QueryEmbedderOptions['runsMax']>;
  readonly #cache: BoundedCache<Float32Array>;

  constructor({ inline, inlineModel, inlineUnitsMax, embedInPool, runsMax, bytesMax }: QueryEmbedderOptions) {
    this.#runsMax = runsMax ?? (() => null);
    this.#inlineModel = inlineModel;
    this.#inlineUnitsMax = inlineUnitsMax;
    this.#embedInPool = embedInPool;
    this.#inline = inline;
    this.#cache = new BoundedCache(bytesMax);
  }

  /** Estimated memory of the kept vectors. */
  get bytes(): number {
    return this.#cache.cost;
  }

  /** The vector of a query; nobody changes it. Throws or rejects as the model or its pool do. */
  embed(query: QueryText): Float32Array | Promise<Float32Array> {
    const { model, text } = query;
    if (model === this.#inlineModel && text.length <= this.#inlineUnitsMax)
      return this.#inline.embedSync([text], 'query').vectors;
    const key = `${query.collectionId} ${query.model} ${query.text}`;
    return this.#cache.get(key) ?? this.#run(key, query);
  }

  async #run(key: string, query: QueryText): Promise<Float32Array> {
    const vector = await this.#vectorOf(query);
    this.#cache.set(key, vector, vector.byteLength + 2 * key.length + cacheEntryOverheadBytes);
    return vector;
  }

  async #vectorOf({ text, shared, model }: QueryText): Promise<Float32Array> {
    if (shared) return this.#batcherOf(model).embed(text);
    const runsMax = model === this.#inlineModel ? null : this.#runsMax(model);
    if (runsMax !== null) return this.#queueOf(model, runsMax).embed(text);
    return (await this.#embedInPool([text], model)).vectors;
  }

  /** Who finds a thread free goes at once; who does not goes with all the others that wait. */
  #queueOf(model: string, runsMax: number): QueryBatcher {
    const known = this.#queues.get(model);
    if (known !== undefined) return known;
    const batcher = new QueryBatcher((texts) => this.#embedInPool(texts, model), flushOnImmediate, runsMax);
    this.#queues.set(model, batcher);
    return batcher;
  }

  #batcherOf(model: string): QueryBatcher {
    const known = this.#batchers.get(model);
    if (known !== undefined) return known;
    const batcher = new QueryBatcher((texts) => this.#embedInPool(texts, model), flushAfter(batchWaitMs));
    this.#batchers.set(model, batcher);
    return batcher;
  }
}
