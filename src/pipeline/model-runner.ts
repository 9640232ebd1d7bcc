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

/**
 * Runs the models in their pools, or asks the services that run them: splits long lists, so that urgent work gets in
 * between, and joins the answers.
 */
export class ModelRunner {
  readonly #embedPool: Pick<Pool, 'run'>;
  readonly #rerankPool: Pick<Pool, 'run'>;
  readonly #models: ModelDirectory;

  constructor(
    pools: { readonly embed: Pick<Pool, 'run'>; readonly rerank: Pick<Pool, 'run'> },
    models: ModelDirectory,
  ) {
    this.#embedPool = pools.embed;
    this.#rerankPool = pools.rerank;
    this.#models = models;
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
        return this.#embedPool.run<EmbedReply>(task, { priority: options.priority });
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
        return this.#rerankPool.run<RerankReply>(task, { priority: options.priority });
      }),
    );
    return {
      scores: join(parts.map((part) => part.scores)),
      tokens: sum(parts.map((part) => part.tokens)),
      inferenceMs: sum(parts.map((part) => part.inferenceMs)),
    };
  }
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
