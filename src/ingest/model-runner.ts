import { AppError } from '../core/app-error.ts';
import { ModelError } from '../core/model-error.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import type { EmbeddingCatalogEntry, RerankerCatalogEntry } from '../models/catalog.ts';
import type { FeatureReranker } from '../models/feature-reranker.ts';
import type { InstalledModel, LocalReranker } from '../models/local-model.ts';
import type { InputType } from '../models/model.ts';
import type { EmbedReply, EmbedTask, RerankReply, RerankTask } from '../models/registry.ts';
import type { Pool, TaskPriority } from './pools.ts';

export interface ModelRunOptions {
  readonly priority: TaskPriority;
}

export interface EmbedRunOptions extends ModelRunOptions {
  /** Id of the model. */
  readonly model: string;
}

/** Directory of available models; see `models/catalog`. Errors: 404 for an unknown model. */
export interface ModelDirectory {
  /** Aliases do not apply: collections store ids. */
  getEmbeddingById(id: string): EmbeddingCatalogEntry;
  getReranker(name: string): RerankerCatalogEntry;
}

/** Scores documents with the weights that all built-in rerankers share. */
export type BuiltInReranker = Pick<FeatureReranker, 'scoreAt'>;

/**
 * Maximum number of characters per worker task: small enough that a query never waits long behind other work.
 */
const taskUnitsMax = 64_000;
/** Approximate number of characters per token. */
const unitsPerToken = 4;
/** Maximum number of characters in the reported reason of a failure. */
const reasonLengthMax = 300;
/** Milliseconds before retrying a failed model is worthwhile. */
const failedRetryMs = 1_000;

/**
 * Runs models in their pools, or calls the services that run them. Splits long lists, so that urgent work can
 * run in between, and joins the results.
 */
export class ModelRunner {
  readonly #embedPool: Pick<Pool, 'run'>;
  readonly #rerankPool: Pick<Pool, 'run'>;
  readonly #builtInReranker: BuiltInReranker;
  readonly #models: ModelDirectory;
  readonly #onModelError: (model: string, error: unknown) => void;

  constructor(
    pools: { readonly embed: Pick<Pool, 'run'>; readonly rerank: Pick<Pool, 'run'> },
    builtInReranker: BuiltInReranker,
    models: ModelDirectory,
    onModelError: (model: string, error: unknown) => void,
  ) {
    this.#embedPool = pools.embed;
    this.#rerankPool = pools.rerank;
    this.#builtInReranker = builtInReranker;
    this.#models = models;
    this.#onModelError = onModelError;
  }

  /** Returns vectors for `texts`, in input order. Does not run a model for an empty list. */
  async embed(texts: readonly string[], inputType: InputType, options: EmbedRunOptions): Promise<EmbedReply> {
    const { id, backend, dimensions } = this.#models.getEmbeddingById(options.model);
    if (backend !== 'built-in' && 'provider' in backend) {
      const started = performance.now();
      const output = await backend.embed(texts, inputType, { urgent: options.priority === 'query' });
      return { ...output, dimensions, inferenceMs: performance.now() - started };
    }
    const parts = await Promise.all(
      splitTexts(texts, taskUnitsMaxFor(backend)).map((part) => {
        const task: EmbedTask = { model: backend === 'built-in' ? id : backend, texts: part, inputType };
        return this.#run({ id, backend }, options.priority, this.#embedPool.run<EmbedReply>(task, options));
      }),
    );
    const vectors = concatenate(parts.map((part) => part.vectors));
    return {
      vectors,
      dimensions: texts.length === 0 ? 0 : vectors.length / texts.length,
      tokens: sum(parts.map((part) => part.tokens)),
      inferenceMs: sum(parts.map((part) => part.inferenceMs)),
    };
  }

  /**
   * Runs a worker task and maps its errors. For a query the error is a generic `ModelUnavailableError`, and
   * the operator gets the cause; for a document it is a `ModelError` with the reason, since the document
   * itself may be the cause.
   */
  async #run<Reply>(
    model: LocalModelReference,
    priority: TaskPriority,
    work: Promise<Reply>,
  ): Promise<Reply> {
    try {
      return await work;
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      const { id, backend } = model;
      if (priority !== 'query')
        throw backend === 'built-in' ? cause : new ModelError(id, reasonOf(cause, backend), cause);
      this.#onModelError(id, cause);
      throw new ModelUnavailableError(id, 'the model run failed', { retryAfterMs: failedRetryMs, cause });
    }
  }

  /** Returns the relevance of each document to the query, in input order. */
  async rerank(
    name: string,
    query: string,
    documents: readonly string[],
    options: ModelRunOptions,
  ): Promise<RerankReply> {
    const { id, backend } = this.#models.getReranker(name);
    if (backend !== 'built-in' && 'provider' in backend) {
      const started = performance.now();
      const output = await backend.score(query, documents, { urgent: options.priority === 'query' });
      return { ...output, inferenceMs: performance.now() - started };
    }
    return backend === 'built-in'
      ? this.#run({ id, backend }, options.priority, this.#runBuiltIn(query, documents, options))
      : this.#runInPool({ id, backend }, query, documents, options);
  }

  /** Usage counts the query once per `taskUnitsMax` of documents. */
  async #runBuiltIn(
    query: string,
    documents: readonly string[],
    { priority }: ModelRunOptions,
  ): Promise<RerankReply> {
    const isUrgent = priority === 'query' || priority === 'fast';
    const { scores, queryTokens, documentTokens, ms } = await this.#builtInReranker.scoreAt(
      isUrgent ? 'urgent' : 'background',
      query,
      documents,
    );
    const tokens = documentTokens + queryTokens * splitTexts(documents, taskUnitsMax).length;
    return { scores, tokens, inferenceMs: ms };
  }

  /**
   * Returns one score of the built-in reranker per document, whichever rerankers are configured; null when
   * too many calls wait for it.
   */
  async measureRelevance(query: string, documents: readonly string[]): Promise<Float32Array | null> {
    try {
      return (await this.#builtInReranker.scoreAt('urgent', query, documents)).scores;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'unavailable') throw error;
      return null;
    }
  }

  async #runInPool(
    { id, backend }: { readonly id: string; readonly backend: InstalledModel<LocalReranker> },
    query: string,
    documents: readonly string[],
    options: ModelRunOptions,
  ): Promise<RerankReply> {
    const parts = await Promise.all(
      splitTexts(documents, taskUnitsMaxFor(backend)).map((part) => {
        const task: RerankTask = { model: backend, query, documents: part };
        return this.#run({ id, backend }, options.priority, this.#rerankPool.run<RerankReply>(task, options));
      }),
    );
    return {
      scores: concatenate(parts.map((part) => part.scores)),
      tokens: sum(parts.map((part) => part.tokens)),
      inferenceMs: sum(parts.map((part) => part.inferenceMs)),
    };
  }
}

interface LocalModelReference {
  readonly id: string;
  readonly backend: 'built-in' | InstalledModel;
}

/** Returns the message of a worker error as one line, without file paths. */
function reasonOf(error: unknown, { folder, model }: InstalledModel): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = message.replaceAll(`${folder}/`, '').replaceAll(folder, model.id).replace(/\s+/g, ' ').trim();
  const words = line.replace(/\.$/, '');
  return words.length > reasonLengthMax ? `${words.slice(0, reasonLengthMax)}...` : words;
}

/**
 * Returns the task size for a model: an added model takes milliseconds where the built-in ones take
 * microseconds.
 */
function taskUnitsMaxFor(backend: 'built-in' | InstalledModel): number {
  return backend === 'built-in'
    ? taskUnitsMax
    : Math.min(taskUnitsMax, unitsPerToken * backend.inferenceOptions.batchTokens);
}

/** Splits texts into consecutive groups of at most `unitsMax` characters, or of a single longer text. */
function splitTexts(texts: readonly string[], unitsMax: number): string[][] {
  const groups: string[][] = [];
  let units = Number.POSITIVE_INFINITY;
  for (const text of texts) {
    if (units + text.length > unitsMax) {
      groups.push([]);
      units = 0;
    }
    groups.at(-1)!.push(text);
    units += text.length;
  }
  return groups;
}

function concatenate(parts: readonly Float32Array[]): Float32Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Float32Array(sum(parts.map((part) => part.length)));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
