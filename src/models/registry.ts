import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { hasErrorCode } from '../core/error-code.ts';
import { projectRoot } from '../core/root.ts';
import { FeatureReranker } from './feature-reranker.ts';
import type { InstalledModel, LocalEmbedding, LocalModel, LocalReranker } from './local-model.ts';
import type { Embedder, InputType } from './model.ts';
import { manifestFile } from './models-folder.ts';
import { OnnxEmbedder } from './onnx-embedder.ts';
import { StaticEmbedder } from './static-embedder.ts';

/** A built-in embedding model. */
export interface EmbeddingModel {
  readonly id: string;
  /** Folder of the model files. */
  readonly folder: string;
  /** Components of a vector as the model outputs it. */
  readonly dimensions: number;
  /**
   * Maximum length of a query, in UTF-16 units, that takes microseconds and may be embedded in the calling
   * thread.
   */
  readonly inlineQueryUnitsMax: number;
}

export const embeddingModels: readonly EmbeddingModel[] = [
  {
    id: 'zembed-1',
    folder: join(projectRoot, 'models', 'zembed-1'),
    dimensions: 320,
    inlineQueryUnitsMax: 256,
  },
];

/** A built-in reranking model. */
export interface RerankModel {
  readonly id: string;
  /** Folder of the model files. */
  readonly folder: string;
}

/** Folder of the built-in reranker. */
export const builtInRerankerFolder = join(projectRoot, 'models', 'zerank');

/** All three names share one set of weights, as the model card states. */
export const rerankModels: readonly RerankModel[] = [
  { id: 'zerank-2', folder: builtInRerankerFolder },
  { id: 'zerank-1', folder: builtInRerankerFolder },
  { id: 'zerank-1-small', folder: builtInRerankerFolder },
];

/** Names of the hosted service that lists do not show, with the listed name that each is another name of. */
export const unlistedRerankers: Readonly<Record<string, string>> = {
  'zerank-1-large': 'zerank-1',
  'zerank-2-small': 'zerank-2',
  'zerank-2-nano': 'zerank-2',
};

/** Reranker of calls that name none, unless the settings name one. */
export const defaultReranker = 'zerank-2';

/** Reranker whose scores represent all three. */
export const sharedReranker = 'zerank-2';

/** Returns the version of a built-in model; it changes whenever the same text may get a different vector or score. */
export async function readBuiltInVersion({ folder }: { readonly folder: string }): Promise<string> {
  const config = await readFile(join(folder, 'config.json'), 'utf8');
  return (JSON.parse(config) as { readonly version: string }).version;
}

/** Default model of collections and requests that name none. */
export const defaultEmbeddingModel = 'zembed-1';

function getById<T extends { readonly id: string }>(models: readonly T[], kind: string, id: string): T {
  const model = models.find((candidate) => candidate.id === id);
  if (model !== undefined) return model;
  const ids = models.map((candidate) => candidate.id).join(', ');
  throw new AppError('not_found', `Unknown ${kind} ${JSON.stringify(id)}. Available: ${ids}.`);
}

/** Returns the embedding model with this id. Errors: 404 that lists the known ids. */
export function getEmbeddingModel(id: string): EmbeddingModel {
  return getById(embeddingModels, 'embedding model', id);
}

/** Loads a built-in embedding model. Errors: 404 that lists the known ids. */
export async function openBuiltInEmbedder(id: string): Promise<StaticEmbedder> {
  return StaticEmbedder.open(id, getEmbeddingModel(id).folder);
}

/** Loads a built-in or added embedding model. Errors: as `openBuiltInEmbedder`. */
export async function openEmbedder(model: EmbedTask['model']): Promise<Embedder> {
  return typeof model === 'string' ? openBuiltInEmbedder(model) : OnnxEmbedder.open(model);
}

/** Returns the reranking model with this id. Errors: 404 that lists the known ids. */
export function getRerankModel(id: string): RerankModel {
  return getById(rerankModels, 'reranker', id);
}

/**
 * Loads a built-in reranking model, which shares the tokens and vectors of `embedder` if it uses the same. Errors: 404
 * that lists the known ids.
 */
export async function openBuiltInReranker(
  id: string,
  embedder: StaticEmbedder | null = null,
): Promise<FeatureReranker> {
  return FeatureReranker.open(id, getRerankModel(id).folder, embedder);
}

/** Returns a key that is unique among the models of a process. */
export function toModelKey(model: EmbedTask['model'] | RerankTask['model']): string {
  return typeof model === 'string' ? model : `${model.model.id} ${model.model.version}`;
}

/**
 * Whether the files of an added model are deleted or replaced by another version. Always false for built-in
 * models.
 */
export async function isModelRemoved(model: EmbedTask['model'] | RerankTask['model']): Promise<boolean> {
  if (typeof model === 'string') return false;
  try {
    const manifest = JSON.parse(await readFile(join(model.folder, manifestFile), 'utf8')) as LocalModel;
    return manifest.version !== model.model.version;
  } catch (error) {
    // Other read errors may be transient.
    return hasErrorCode(error, 'ENOENT');
  }
}

/** Task of the embedding worker. */
export interface EmbedTask {
  /** Id of a built-in model, or an added model with its folder and options. */
  readonly model: string | InstalledModel<LocalEmbedding>;
  readonly texts: readonly string[];
  readonly inputType: InputType;
}

/** Reply of the embedding worker. */
export interface EmbedReply {
  /** [texts.length x dimensions] floats, rows of unit length. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
  readonly tokens: number;
  readonly inferenceMs: number;
}

/** Task of the reranking worker, which runs added models; a `FeatureReranker` needs no worker. */
export interface RerankTask {
  readonly model: InstalledModel<LocalReranker>;
  readonly query: string;
  readonly documents: readonly string[];
}

/** Reply of the reranking worker: one score in 0..1 per document, in their order. */
export interface RerankReply {
  readonly scores: Float32Array;
  readonly tokens: number;
  readonly inferenceMs: number;
}
