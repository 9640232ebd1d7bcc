import { setImmediate } from 'node:timers/promises';
import { assert } from '../core/assert.ts';
import { toUnitPrefix } from './dimensions.ts';
import { getField, invalidReplyError, parseVector, sortByIndex } from './embedding-reply.ts';
import type { Embeddings, InputType } from './model.ts';
import { type ModelProvider, rejectedTextError } from './model-provider.ts';
import { ProviderError } from './post-json.ts';
import type { TextFrames } from './service-presets.ts';
import type { VectorProjections } from './vector-projections.ts';

/**
 * Dialects of the request field that tells a provider whether a text is a query or a document, in addition to
 * a prefix.
 */
export const inputTypeFields = ['none', 'voyage', 'cohere', 'jina'] as const;
export type InputTypeField = (typeof inputTypeFields)[number];

/**
 * Vectors with fewer components: prefixes, for Matryoshka models; none, because prefixes of the model's vectors are
 * wrong; or learned projections.
 */
export type VectorShortening = 'prefix' | 'none' | VectorProjections;

export interface HttpEmbedderOptions {
  readonly provider: ModelProvider;
  /** Components of a vector, at most those of the provider's vector; null: all components. */
  readonly dimensions: number | null;
  readonly shortening: VectorShortening;
  /** Components of the provider's vectors if already known, else null. */
  readonly width: number | null;
  readonly frames: TextFrames;
  /** Whether the service may add special tokens of its tokenizer to the text. */
  readonly addsSpecialTokens: boolean;
  readonly inputTypeField: InputTypeField;
  readonly encoding: 'float' | 'base64';
  /** Maximum number of texts per request, and of UTF-16 units in total. */
  readonly batchTextsMax: number;
  readonly batchUnitsMax: number;
  /** Maximum UTF-16 units of one text; longer texts are truncated. */
  readonly textUnitsMax: number;
}

/**
 * Texts of one `embed` call. Their vectors may come from several requests, and one request may contain texts
 * of several calls.
 */
interface EmbedJob {
  readonly texts: readonly string[];
  readonly inputType: InputType;
  readonly deadline: number | null;
  readonly rows: (Float32Array | null)[];
  nextIndex: number;
  remaining: number;
  tokens: number;
  /** Whether the promise is resolved or rejected, or the caller has stopped waiting. */
  isSettled: boolean;
  readonly resolve: (embeddings: Embeddings) => void;
  readonly reject: (error: unknown) => void;
}

interface BatchEntry {
  readonly job: EmbedJob;
  readonly index: number;
  readonly text: string;
}

interface Batch {
  readonly inputType: InputType;
  readonly deadline: number | null;
  readonly entries: readonly BatchEntry[];
}

interface EmbeddingReply {
  readonly rows: readonly Float32Array[];
  readonly tokens: number;
}

const inputTypeFieldsBy: Readonly<Record<InputTypeField, (inputType: InputType) => object>> = {
  none: () => ({}),
  voyage: (inputType) => ({ input_type: inputType }),
  cohere: (inputType) => ({ input_type: `search_${inputType}` }),
  jina: (inputType) => ({ task: inputType === 'query' ? 'retrieval.query' : 'retrieval.passage' }),
};

/**
 * Embeds texts by an HTTP service with the OpenAI embeddings API. Batches texts of several callers into one
 * request.
 */
export class HttpEmbedder {
  readonly #options: HttpEmbedderOptions;
  readonly #queues: { readonly urgent: EmbedJob[]; readonly normal: EmbedJob[] } = {
    urgent: [],
    normal: [],
  };
  /** Components of the provider's vectors; 0 while unknown. */
  #width: number;

  constructor(options: HttpEmbedderOptions) {
    this.#options = options;
    this.#width = options.width ?? 0;
  }

  get provider(): ModelProvider {
    return this.#options.provider;
  }

  /**
   * Returns the number of components of the vectors. Sends a request if neither the settings nor an earlier
   * reply contain it.
   */
  async dimensions(): Promise<number> {
    const { dimensions } = this.#options;
    if (dimensions !== null) return dimensions;
    if (this.#width === 0) await this.embed(['dimension probe'], 'query', { urgent: false });
    return this.#width;
  }

  /** Whether the texts or requests of queries and documents differ. */
  get hasPrompts(): boolean {
    const { frames, inputTypeField } = this.#options;
    return inputTypeField !== 'none' || JSON.stringify(frames.query) !== JSON.stringify(frames.document);
  }

  /** Returns the numbers of components that vectors of `dimensions` can have; null: any smaller one, as a prefix. */
  listDimensions(dimensions: number): readonly number[] | null {
    const { shortening } = this.#options;
    if (shortening === 'prefix') return null;
    const shorter = shortening === 'none' ? [] : shortening.dimensions.filter((size) => size < dimensions);
    return [dimensions, ...shorter];
  }

  /** Shortens a vector of this model to one of `listDimensions`. */
  shorten(vector: Float32Array, dimensions: number): Float32Array {
    const row = shortenVector(vector, dimensions, this.#options.shortening);
    assert(row !== undefined, 'a unit vector has a projection of a finite length');
    return row;
  }

  /**
   * Returns one row of unit length per text. `urgent` texts are sent before all others and time out after the
   * query limit. Errors: `ModelUnavailableError`; `bad_request` for a text that the provider rejects.
   */
  embed(
    texts: readonly string[],
    inputType: InputType,
    { urgent }: { readonly urgent: boolean },
  ): Promise<Embeddings> {
    const { provider } = this.#options;
    if (texts.length === 0) return Promise.resolve({ vectors: new Float32Array(0), tokens: 0 });
    const deadline = urgent ? provider.getQueryDeadline() : null;
    const { promise, resolve, reject } = createDeferred<Embeddings>();
    const job: EmbedJob = {
      texts,
      inputType,
      deadline,
      resolve,
      reject,
      rows: texts.map(() => null),
      nextIndex: 0,
      remaining: texts.length,
      tokens: 0,
      isSettled: false,
    };
    this.#queues[urgent ? 'urgent' : 'normal'].push(job);
    void this.#serveQueue(urgent);
    if (!urgent) return promise;
    return provider.withQueryTimeout(promise).finally(() => {
      job.isSettled = true;
    });
  }

  /**
   * Acquires one permit and sends one request. Starts another call if jobs remain in the queue. Never
   * rejects.
   */
  async #serveQueue(urgent: boolean): Promise<void> {
    const { semaphore } = this.#options.provider;
    const queue = this.#queues[urgent ? 'urgent' : 'normal'];
    await semaphore.acquire({ priority: urgent ? 'high' : 'normal' });
    try {
      const batch = this.#takeBatch(queue);
      if (queue.length > 0) void this.#serveQueue(urgent);
      if (batch !== null) await this.#runBatch(batch);
    } finally {
      semaphore.release();
    }
  }

  /** Removes the longest-waiting texts that fit into one request from the queue; null if there are none. */
  #takeBatch(queue: EmbedJob[]): Batch | null {
    const { batchTextsMax, batchUnitsMax, textUnitsMax, frames } = this.#options;
    const entries: BatchEntry[] = [];
    let units = 0;
    const first = queue.find((job) => !job.isSettled);
    if (first === undefined) {
      queue.length = 0;
      return null;
    }
    for (const job of queue) {
      if (job.isSettled || job.inputType !== first.inputType) continue;
      while (job.nextIndex < job.texts.length && entries.length < batchTextsMax) {
        const text = prepareText(frames[job.inputType], job.texts[job.nextIndex]!, textUnitsMax);
        if (entries.length > 0 && units + text.length > batchUnitsMax) break;
        units += text.length;
        entries.push({ job, index: job.nextIndex, text });
        job.nextIndex += 1;
      }
      if (job.nextIndex < job.texts.length) break;
    }
    const rest = queue.filter((job) => !job.isSettled && job.nextIndex < job.texts.length);
    queue.splice(0, queue.length, ...rest);
    const deadlines = entries.map(({ job }) => job.deadline ?? 0);
    const deadline = first.deadline === null ? null : Math.max(...deadlines);
    return { inputType: first.inputType, deadline, entries };
  }

  /** Embeds every text of a batch, or rejects its job. Never rejects. */
  async #runBatch(batch: Batch): Promise<void> {
    const blank = batch.entries.filter(({ text }) => text.trim() === '');
    const entries = batch.entries.filter(({ text }) => text.trim() !== '');
    try {
      if (entries.length > 0) await this.#sendBatch({ ...batch, entries });
      // Services reject blank texts; a blank text gets the first axis as its vector.
      const width = blank.length === 0 ? 0 : await this.#fetchWidth();
      for (const entry of blank) this.#setRow(entry, createFirstAxisVector(width), 0);
    } catch (error) {
      for (const { job } of batch.entries) rejectJob(job, error);
    }
  }

  async #fetchWidth(): Promise<number> {
    if (this.#width === 0) {
      const { provider } = this.#options;
      const body = this.#buildBody(['text'], 'document');
      await provider.request(body, null, (reply) => this.#parseReply(reply, 1));
    }
    return this.#options.dimensions ?? this.#width;
  }

  async #sendBatch(batch: Batch): Promise<void> {
    const { provider } = this.#options;
    const { entries, inputType, deadline } = batch;
    const pending = entries.filter(({ job }) => !job.isSettled);
    if (pending.length === 0) return;
    const body = this.#buildBody(
      pending.map(({ text }) => text),
      inputType,
    );
    try {
      const { rows, tokens } = await provider.request(body, deadline, (reply) =>
        this.#parseReply(reply, pending.length),
      );
      pending.forEach((entry, i) => {
        this.#setRow(entry, rows[i]!, tokens / pending.length);
      });
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (pending.length === 1) return rejectJob(pending[0]!.job, rejectedTextError(provider.model, error));
      // Either one text is invalid or the batch is too large: retry the halves.
      const half = pending.length >> 1;
      await this.#sendBatch({ ...batch, entries: pending.slice(0, half) });
      await this.#sendBatch({ ...batch, entries: pending.slice(half) });
    }
  }

  #buildBody(input: readonly string[], inputType: InputType): object {
    const { provider, encoding, inputTypeField, addsSpecialTokens } = this.#options;
    const { model } = provider;
    return {
      model,
      input,
      encoding_format: encoding,
      ...(addsSpecialTokens ? {} : { add_special_tokens: false }),
      ...inputTypeFieldsBy[inputTypeField](inputType),
    };
  }

  #setRow({ job, index }: BatchEntry, row: Float32Array, tokens: number): void {
    job.rows[index] = row;
    job.tokens += tokens;
    job.remaining -= 1;
    if (job.remaining > 0 || job.isSettled) return;
    job.isSettled = true;
    const vectors = new Float32Array(job.rows.length * row.length);
    job.rows.forEach((vector, i) => {
      vectors.set(vector!, i * row.length);
    });
    job.resolve({ vectors, tokens: Math.ceil(job.tokens) });
  }

  /** Validates a reply and normalizes its vectors. Errors: `ProviderError` if the reply is invalid. */
  async #parseReply(reply: unknown, count: number): Promise<EmbeddingReply> {
    const data = getField(reply, 'data');
    if (!Array.isArray(data)) throw invalidReplyError('reply has no "data" list');
    if (data.length !== count) throw invalidReplyError(`reply has ${data.length} vectors for ${count} texts`);
    const rows = sortByIndex(data).map(parseVector);
    const width = rows[0]!.length;
    const dimensions = this.#options.dimensions ?? width;
    if (rows.some((row) => row.length !== width))
      throw invalidReplyError('reply has vectors of different lengths');
    if (width < dimensions)
      throw invalidReplyError(`reply has vectors of ${width} dimensions, but ${dimensions} are configured`);
    if (this.#width !== 0 && this.#width !== width)
      throw invalidReplyError(`reply has vectors of ${width} dimensions instead of ${this.#width}`);
    const unitRows: Float32Array[] = [];
    for (const row of rows) {
      // A projection takes milliseconds.
      if (typeof this.#options.shortening !== 'string') await setImmediate();
      const unitRow = shortenVector(row, dimensions, this.#options.shortening);
      if (unitRow === undefined)
        throw invalidReplyError('reply has a vector that cannot be normalized (zero, NaN or infinite)');
      unitRows.push(unitRow);
    }
    this.#width = width;
    const usage = getField(reply, 'usage');
    const reportedTokens = getField(usage, 'prompt_tokens') ?? getField(usage, 'total_tokens');
    return {
      rows: unitRows,
      tokens: typeof reportedTokens === 'number' && reportedTokens > 0 ? reportedTokens : count,
    };
  }
}

function createDeferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((succeed, fail) => {
    resolve = succeed;
    reject = fail;
  });
  return { promise, resolve, reject };
}

function rejectJob(job: EmbedJob, error: unknown): void {
  job.isSettled = true;
  job.reject(error);
}

/** Returns a text as it is sent: truncated, in its frame, and without lone surrogates. */
function prepareText({ prefix, suffix }: TextFrames[InputType], text: string, unitsMax: number): string {
  return `${prefix}${text.slice(0, unitsMax)}${suffix}`.toWellFormed();
}

function shortenVector(
  vector: Float32Array,
  dimensions: number,
  shortening: VectorShortening,
): Float32Array | undefined {
  return typeof shortening === 'string'
    ? toUnitPrefix(vector, dimensions)
    : shortening.apply(vector, dimensions);
}

function createFirstAxisVector(width: number): Float32Array {
  const row = new Float32Array(width);
  row[0] = 1;
  return row;
}
