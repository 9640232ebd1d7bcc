import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { listAddedModels } from './added-models.ts';
import {
  type EmbeddingCatalogEntry,
  ModelCatalog,
  type RerankerCatalogEntry,
  toEmbeddingEntries,
  toRerankerEntries,
} from './catalog.ts';
import { requiredHostedNames } from './hosted-names.ts';
import { listPresetAliases, openChatModel, openHttpEmbedding, openHttpReranker } from './http-services.ts';
import type { InstalledModel } from './local-model.ts';
import type { CatalogDependencies } from './model-settings.ts';
import { modelsFolder } from './models-folder.ts';
import { OnnxSession } from './onnx-session.ts';
import {
  builtInRerankerFolder,
  defaultEmbeddingModel,
  getEmbeddingModel,
  readBuiltInVersion,
  rerankModels,
} from './registry.ts';

const cpuProvider = 'cpu';

/**
 * Returns the catalog of built-in, added and configured models. Errors: AppError if the settings are
 * inconsistent.
 */
export async function loadModelCatalog(dependencies: CatalogDependencies): Promise<ModelCatalog> {
  const { settings } = dependencies;
  await checkExecutionProviders(settings.modelExecutionProviders);
  const { embeddings, rerankers } = await listBuiltInModels();
  const installed = await listInstalledModels(dependencies);
  embeddings.push(...installed.flatMap(toEmbeddingEntries));
  rerankers.push(...installed.flatMap(toRerankerEntries));
  const httpEmbedding = await openHttpEmbedding(dependencies);
  if (httpEmbedding !== null) embeddings.unshift(httpEmbedding);
  const httpReranker = openHttpReranker(dependencies);
  if (httpReranker !== null) rerankers.unshift(httpReranker);
  const requestedId = settings.embeddingModel ?? httpEmbedding?.id ?? defaultEmbeddingModel;
  const first = embeddings.find(({ id }) => id === requestedId);
  if (first === undefined) throw unknownModelError('QUARRY_EMBEDDING_MODEL', requestedId, embeddings);
  const catalog = new ModelCatalog({
    embeddings: [first, ...embeddings.filter((model) => model !== first)],
    rerankers,
    chat: openChatModel(dependencies),
    aliases: { ...listPresetAliases(settings), ...parseAliases(settings.modelAliases) },
    contract: settings.contractModels,
    legacyEmbeddingId: defaultEmbeddingModel,
  });
  if (settings.contractModels === 'real') checkHostedNames(catalog);
  if (settings.reranker !== null && !catalog.rerankerNames.includes(settings.reranker))
    throw unknownModelError('QUARRY_RERANKER', settings.reranker, rerankers);
  return catalog;
}

async function listBuiltInModels(): Promise<{
  embeddings: EmbeddingCatalogEntry[];
  rerankers: RerankerCatalogEntry[];
}> {
  const embedding = getEmbeddingModel(defaultEmbeddingModel);
  const { id, dimensions } = embedding;
  const version = await readBuiltInVersion(embedding);
  const rerankerVersion = await readBuiltInVersion({ folder: builtInRerankerFolder });
  return {
    embeddings: [{ id, version, dimensions, backend: 'built-in' }],
    rerankers: rerankModels.map((model) => ({ id: model.id, version: rerankerVersion, backend: 'built-in' })),
  };
}

/** Errors: AppError if a name of the hosted service has no model of its own. */
function checkHostedNames(catalog: ModelCatalog): void {
  const substitutes = requiredHostedNames.filter((name) => catalog.isSubstitute(name));
  if (substitutes.length === 0) return;
  throw new AppError(
    'invalid',
    `QUARRY_CONTRACT_MODELS is "real", but ${substitutes.join(' and ')} would be served by a built-in model. Map each name to a model of yours with QUARRY_MODEL_ALIASES, such as ${substitutes.map((name) => `${name}=my-model`).join(',')}.`,
  );
}

/**
 * Opens a small graph with each execution provider alone, so that a missing provider is reported at startup
 * instead of with the first document.
 */
async function checkExecutionProviders(names: string): Promise<void> {
  if (names === cpuProvider) return;
  for (const name of names.split(',')) {
    try {
      const session = await OnnxSession.open(join(builtInRerankerFolder, 'model.onnx'), {
        executionProviders: [name],
      });
      await session.close();
    } catch (cause) {
      throw new AppError(
        'invalid',
        `QUARRY_MODEL_EXECUTION_PROVIDERS contains ${name}, which onnxruntime cannot use on this machine: ${(cause as Error).message}.`,
        { cause },
      );
    }
  }
}

/** Returns the models added to the data directory, in the form passed to workers. */
export async function listInstalledModels({
  dataFolder: data,
  settings,
}: Pick<CatalogDependencies, 'dataFolder' | 'settings'>): Promise<InstalledModel[]> {
  const inferenceOptions = {
    threads: settings.modelThreads,
    batchTokens: settings.modelBatchTokens,
    executionProviders: settings.modelExecutionProviders.split(','),
  };
  return (await listAddedModels(data)).map((model) => ({
    model,
    folder: join(modelsFolder(data), model.id),
    inferenceOptions,
  }));
}

function unknownModelError(
  setting: string,
  id: string,
  models: readonly { readonly id: string }[],
): AppError {
  const ids = models.map((model) => model.id).join(', ');
  return new AppError(
    'invalid',
    `${setting} is ${JSON.stringify(id)}, which does not exist. Available models: ${ids}.`,
  );
}

function parseAliases(pairs: string | null): Record<string, string> {
  return Object.fromEntries(
    (pairs ?? '').split(',').flatMap((pair) => (pair === '' ? [] : [pair.split('=')])),
  );
}
