import { AppError } from '../base/app-error.ts';
import { ModelFailed } from '../base/model-failed.ts';
import { ModelUnavailable } from '../base/model-unavailable.ts';
import type { CataloguedEmbedding, CataloguedReranker } from '../models/catalogue.ts';
import type { PlacedModel } from '../models/local-model.ts';
import type { InputType } from '../models/model.ts';
import type { EmbedReply, EmbedTask, RerankReply, RerankTask } from '../models/registry.ts';
import type { Pool, TaskPriority } from './pools.ts';

export interface ModelRunOptions {
  readonly priority: TaskPriority;
}

export interface EmbedRunOptions extends ModelRunOptions {
  readonly model: string;
}

/** Which models there are; `models/catalogue`. Both answer an unknown name with a 404. */
export interface ModelDirectory {
  embedding(name: string): CataloguedEmbedding;
  reranker(name: string): CataloguedReranker;
}

export interface EmbedRun {
  /** `texts.length` rows of `dimensions` floats, unit length. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
  readonly tokens: number;
  readonly inferenceMs: number;
}

export interface RerankRun {
  /** One score in 0..1 per document, in the order given. */
  readonly scores: Float32Array;
  readonly tokens: number;
  readonly inferenceMs: number;
}

/** Characters that one worker task holds at most: small enough that a query never waits long behind another's work. */
const taskUnitsMax = 64_000;
/** Characters of a token, about. */
const unitsPerToken = 4;
/** Characters of what is told of a failure. */
const reasonUnitsMax = 300;
/** How soon a model that failed is worth asking again. */
const failedRetryMs = 1_000;

/**
 * Runs the models in their pools, or asks the services that run them: splits long lists, so that urgent work gets in
 * between, and joins the answers.
 */
export class ModelRunner {
  readonly #embedPool: Pick<Pool, 'run'>;
  readonly #rerankPool: Pick<Pool, 'run'>;
  readonly #models: ModelDirectory;
  readonly #onTrouble: (model: string, error: unknown) => void;

  constructor(
    pools: { readonly embed: Pick<Pool, 'run'>; readonly rerank: Pick<Pool, 'run'> },
    models: ModelDirectory,
    onTrouble: (model: string, error: unknown) => void,
  ) {
    this.#embedPool = pools.embed;
    this.#rerankPool = pools.rerank;
    this.#models = models;
    this.#onTrouble = onTrouble;
  }

  /** Vectors for `texts`, in their order. No text, no run. */
  async embed(texts: readonly string[], inputType: InputType, options: EmbedRunOptions): Promise<EmbedRun> {
    const { id, runs, dimensions } = this.#models.embedding(options.model);
    if (runs !== 'built-in' && 'provider' in runs) {
      const started = performance.now();
      const answer = await runs.embed(texts, inputType, { urgent: options.priority === 'query' });
      return { ...answer, dimensions, inferenceMs: performance.now() - started };
    }
    const parts = await Promise.all(
      slices(texts, unitsMaxOf(runs)).map((part) => {
        const task: EmbedTask = { model: runs === 'built-in' ? id : runs, texts: part, inputType };
        return this.#run({ id, runs }, options.priority, this.#embedPool.run<EmbedReply>(task, options));
      }),
    );
    const vectors = join(parts.map((part) => part.vectors));
    return {
      vectors,
      dimensions: texts.length === 0 ? 0 : vectors.length / texts.length,
      tokens: sum(parts.map((part) => part.tokens)),
      inferenceMs: sum(parts.map((part) => part.inferenceMs)),
    };
  }

  /**
   * What a worker answers. When a model fails there, a query is told in words it knows and the operator why; a document
   * is told what it was, since it may be the document's own fault.
   */
  async #run<Reply>(model: LocallyRun, priority: TaskPriority, work: Promise<Reply>): Promise<Reply> {
    try {
      return await work;
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      const { id, runs } = model;
      if (priority !== 'query')
        throw runs === 'built-in' ? cause : new ModelFailed(id, reasonOf(cause, runs), cause);
      this.#onTrouble(id, cause);
      throw new ModelUnavailable(id, 'it failed', { retryAfterMs: failedRetryMs, cause });
    }
  }

  /** Relevance of each document to the query, in their order. */
  async rerank(
    name: string,
    query: string,
    documents: readonly string[],
    options: ModelRunOptions,
  ): Promise<RerankRun> {
    const { id, runs } = this.#models.reranker(name);
    if (runs !== 'built-in' && 'provider' in runs) {
      const started = performance.now();
      const answer = await runs.score(query, documents, { urgent: options.priority === 'query' });
      return { ...answer, inferenceMs: performance.now() - started };
    }
    const parts = await Promise.all(
      slices(documents, unitsMaxOf(runs)).map((part) => {
        const task: RerankTask = { model: runs === 'built-in' ? id : runs, query, documents: part };
        return this.#run({ id, runs }, options.priority, this.#rerankPool.run<RerankReply>(task, options));
      }),
    );
    return {
      scores: join(parts.map((part) => part.scores)),
      tokens: sum(parts.map((part) => part.tokens)),
      inferenceMs: sum(parts.map((part) => part.inferenceMs)),
    };
  }
}

interface LocallyRun {
  readonly id: string;
  readonly runs: 'built-in' | PlacedModel;
}

/** One line of what a worker said, without the places of its files. */
function reasonOf(error: unknown, { folder, model }: PlacedModel): string {
  const said = error instanceof Error ? error.message : String(error);
  const line = said.replaceAll(`${folder}/`, '').replaceAll(folder, model.id).replace(/\s+/g, ' ').trim();
  const words = line.replace(/\.$/, '');
  return words.length > reasonUnitsMax ? `${words.slice(0, reasonUnitsMax)}...` : words;
}

/** An added model takes milliseconds where the built-in ones take microseconds. */
function unitsMaxOf(runs: 'built-in' | PlacedModel): number {
  return runs === 'built-in' ? taskUnitsMax : Math.min(taskUnitsMax, unitsPerToken * runs.run.batchTokens);
}

/** Consecutive runs of texts, each at most `unitsMax` characters long or a single text. */
function slices(texts: readonly string[], unitsMax: number): string[][] {
  const runs: string[][] = [];
  let units = Number.POSITIVE_INFINITY;
  for (const text of texts) {
    if (units + text.length > unitsMax) {
      runs.push([]);
      units = 0;
    }
    runs.at(-1)!.push(text);
    units += text.length;
  }
  return runs;
}

function join(parts: readonly Float32Array[]): Float32Array {
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
