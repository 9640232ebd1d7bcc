import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { projectRoot } from '../core/root.ts';
import { FeatureReranker } from './feature-reranker.ts';
import type { InstalledModel, LocalEmbedding, LocalModel, LocalReranker } from './local-model.ts';
import type { Embedder, InputType, Reranker } from './model.ts';
import { manifestFile } from './models-folder.ts';
import { OnnxEmbedder } from './onnx-embedder.ts';
import { OnnxReranker } from './onnx-reranker.ts';
import { StaticEmbedder } from './static-embedder.ts';

/** An embedding model that callers can name. */
export interface EmbeddingModel {
  readonly id: string;
  /** Folder of its files. */
  readonly folder: string;
  /** Components of a vector as the model makes it. */
  readonly dimensions: number;
  /** Longest query, in UTF-16 units, that takes microseconds and may run in the thread that asks. */
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

/** A reranking model that callers can name. */
export interface RerankModel {
  readonly id: string;
  /** Folder of its files. */
  readonly folder: string;
}

/** Of the built-in reranker's files. */
export const builtInRerankerFolder = join(projectRoot, 'models', 'zerank');

/** One set of weights serves all three names; its card says so. */
export const rerankModels: readonly RerankModel[] = [
  { id: 'zerank-2', folder: builtInRerankerFolder },
  { id: 'zerank-1', folder: builtInRerankerFolder },
  { id: 'zerank-1-small', folder: builtInRerankerFolder },
];

/** Changes whenever the same text may get another vector of this built-in model. */
export async function readBuiltInVersion(id: string): Promise<string> {
  const config = await readFile(join(getEmbeddingModel(id).folder, 'config.json'), 'utf8');
  return (JSON.parse(config) as { readonly version: string }).version;
}

/** The model of collections and of callers who name none. */
export const defaultEmbeddingModel = 'zembed-1';

function getById<T extends { readonly id: string }>(models: readonly T[], kind: string, id: string): T {
  const model = models.find((candidate) => candidate.id === id);
  if (model !== undefined) return model;
  const ids = models.map((candidate) => candidate.id).join(', ');
  throw new AppError(
    'not_found',
    `There is no ${kind} ${JSON.stringify(id)}; the available ones are: ${ids}.`,
  );
}

/** The embedding model with this id; an unknown id is a 404 that lists the known ones. */
export function getEmbeddingModel(id: string): EmbeddingModel {
  return getById(embeddingModels, 'embedding model', id);
}

/** Loads a built-in embedding model; an unknown id is a 404 that lists the known ones. */
export async function openBuiltInEmbedder(id: string): Promise<StaticEmbedder> {
  return StaticEmbedder.open(id, getEmbeddingModel(id).folder);
}

/** Loads an embedding model, as `openBuiltInEmbedder` does. */
export async function openEmbedder(model: EmbedTask['model']): Promise<Embedder> {
  return typeof model === 'string' ? openBuiltInEmbedder(model) : OnnxEmbedder.open(model);
}

/** The reranking model with this id; an unknown id is a 404 that lists the known ones. */
export function getRerankModel(id: string): RerankModel {
  return getById(rerankModels, 'reranker', id);
}

/** Loads a reranking model; an unknown id is a 404 that lists the known ones. */
export async function openReranker(model: RerankTask['model']): Promise<Reranker> {
  return typeof model === 'string'
    ? FeatureReranker.open(model, getRerankModel(model).folder)
    : OnnxReranker.open(model);
}

/** What tells one model from all others of a process. */
export function toModelKey(model: EmbedTask['model'] | RerankTask['model']): string {
  return typeof model === 'string' ? model : `${model.model.id} ${model.model.version}`;
}

/** Whether the files of an added model are gone, or another model lies in their place. Built-in ones stay. */
export async function isModelRemoved(model: EmbedTask['model'] | RerankTask['model']): Promise<boolean> {
  if (typeof model === 'string') return false;
  try {
    const manifest = JSON.parse(await readFile(join(model.folder, manifestFile), 'utf8')) as LocalModel;
    return manifest.version !== model.model.version;
  } catch (error) {
    // Whatever else keeps it from being read may pass.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** What the embedding worker is asked. */
export interface EmbedTask {
  /** Id of a built-in model, or an added model with all that is to be known of it. */
  readonly model: string | InstalledModel<LocalEmbedding>;
  readonly texts: readonly string[];
  readonly inputType: InputType;
}

/** What the embedding worker answers; `vectors` has `dimensions` components per text. */
export interface EmbedReply {
  readonly vectors: Float32Array;
  readonly dimensions: number;
  readonly tokens: number;
  readonly inferenceMs: number;
}

/** What the reranking worker is asked. */
export interface RerankTask {
  /** As in `EmbedTask`. */
  readonly model: string | InstalledModel<LocalReranker>;
  readonly query: string;
  readonly documents: readonly string[];
}

/** What the reranking worker answers; one score in 0..1 per document, in their order. */
export interface RerankReply {
  readonly scores: Float32Array;
  readonly tokens: number;
  readonly inferenceMs: number;
}
