import { BoundedCache } from '../core/bounded-cache.ts';
import type { Embeddings } from '../models/model.ts';
import { type EmbeddingBatch, flushAfter, flushOnImmediate, QueryBatcher } from './query-batcher.ts';

/** Milliseconds that a query of `latency_mode: high` may wait for a batch. */
const batchWaitMs = 8;
/** Memory of a cached vector besides its numbers and its text. */
const cacheEntryOverheadBytes = 300;

export interface QueryEmbedderOptions {
  /** The model that runs in this thread. */
  readonly inline: { embedSync(texts: readonly string[], inputType: 'query'): Embeddings };
  /** Maximum length of a text that runs in this thread, in UTF-16 units. */
  readonly inlineUnitsMax: number;
  /** Id of that model. */
  readonly inlineModel: string;
  /** Runs any model in its pool or service; for the inline model the vectors are identical, bit for bit. */
  readonly embedInPool: (texts: readonly string[], model: string) => Promise<EmbeddingBatch>;
  /** Maximum number of concurrent runs of a model; null: its service batches texts itself. */
  readonly runsMax?: (model: string) => number | null;
  /** Maximum memory of cached vectors. */
  readonly bytesMax: number;
}

export interface QueryText {
  /** Id of the model of the collection. */
  readonly model: string;
  readonly collectionId: string;
  readonly text: string;
  /** Whether the query may wait to share a model run with others. */
  readonly shared: boolean;
}

/**
 * Embeds queries. A round trip to a worker costs several times as much as a small model takes for a short
 * text, and so does waiting for a batch or a cache lookup: such texts run in this thread, at once. Other
 * work, which could block this thread, goes to the pool. Vectors from the pool are cached by collection and
 * text, so that latency does not reveal whether another collection received the same query.
 */
export class QueryEmbedder {
  readonly #inlineUnitsMax: number;
  readonly #embedInPool: QueryEmbedderOptions['embedInPool'];
  readonly #inlineModel: string;
  readonly #inline: QueryEmbedderOptions['inline'];
  /** Batchers by model. */
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

  /** Estimated memory of the cached vectors. */
  get bytes(): number {
    return this.#cache.cost;
  }

  /** Returns the vector of a query; it must not be modified. Rejects as the model or its pool does. */
  async embed(query: QueryText): Promise<Float32Array> {
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

  /** Runs a query at once when a thread is free, else in a batch with all waiting ones. */
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
