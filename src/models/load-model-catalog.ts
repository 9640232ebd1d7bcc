import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { hasErrorCode } from '../core/error-code.ts';
import type { Logger } from '../core/logger.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import type { Egress } from '../egress/egress.ts';
import { listAddedModels, reservedModelName } from './added-models.ts';
import {
  type EmbeddingCatalogEntry,
  ModelCatalog,
  type RerankerCatalogEntry,
  toEmbeddingEntries,
  toRerankerEntries,
} from './catalog.ts';
import { type ChatDialect, ChatModel } from './chat-model.ts';
import { type ContractMode, requiredHostedNames } from './hosted-names.ts';
import { HttpEmbedder, type InputTypeField } from './http-embedder.ts';
import { HttpReranker, type RerankDialect } from './http-reranker.ts';
import type { InstalledModel } from './local-model.ts';
import { ModelProvider, type RequestOutcome } from './model-provider.ts';
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

/** Settings that define the models; `config/schema` describes each. */
export interface ModelSettings {
  readonly embeddingModel: string | null;
  readonly embeddingUrl: string | null;
  readonly embeddingKey: string | null;
  readonly embeddingDimensions: number;
  readonly embeddingQueryPrefix: string | null;
  readonly embeddingDocumentPrefix: string | null;
  readonly embeddingInputType: InputTypeField;
  readonly embeddingEncoding: 'float' | 'base64';
  readonly rerankUrl: string | null;
  readonly rerankModel: string | null;
  readonly rerankKey: string | null;
  readonly rerankDialect: RerankDialect;
  readonly rerankScores: 'probability' | 'logit';
  readonly chatUrl: string | null;
  readonly chatModel: string | null;
  readonly chatKey: string | null;
  readonly chatDialect: ChatDialect;
  readonly modelAliases: string | null;
  readonly contractModels: ContractMode;
  readonly reranker: string | null;
  readonly modelThreads: number;
  readonly modelBatchTokens: number;
  readonly modelExecutionProviders: string;
  readonly providerSecondsMax: number;
  readonly providerQueryMsMax: number;
  readonly providerRequestsMax: number;
  readonly providerTextsMax: number;
  readonly providerCharactersMax: number;
  readonly providerTextCharactersMax: number;
}

export interface CatalogDependencies {
  readonly settings: ModelSettings;
  /** Path of the data directory. */
  readonly dataFolder: string;
  readonly egress: Egress;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** See `ModelProviderOptions`. */
  readonly mayLogReply: () => boolean;
  readonly onRecovered: (model: string) => void;
  /** Called after every request to a service. */
  readonly observe: (model: string, outcome: RequestOutcome, seconds: number) => void;
}

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
  const requestedId = settings.embeddingModel ?? defaultEmbeddingModel;
  const first = embeddings.find(({ id }) => id === requestedId);
  if (first === undefined) throw unknownModelError('QUARRY_EMBEDDING_MODEL', requestedId, embeddings);
  const catalog = new ModelCatalog({
    embeddings: [first, ...embeddings.filter((model) => model !== first)],
    rerankers,
    chat: openChatModel(dependencies),
    aliases: parseAliases(settings.modelAliases),
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

async function openHttpEmbedding(dependencies: CatalogDependencies): Promise<EmbeddingCatalogEntry | null> {
  const { settings } = dependencies;
  const { embeddingUrl, embeddingModel: model } = settings;
  if (embeddingUrl === null || model === null) return null;
  checkModelName(model, [defaultEmbeddingModel], 'QUARRY_EMBEDDING_MODEL');
  const url = toEndpoint(embeddingUrl, 'embeddings');
  const provider = createProvider(dependencies, { model, url, key: settings.embeddingKey });
  const prefixes = {
    query: settings.embeddingQueryPrefix ?? '',
    document: settings.embeddingDocumentPrefix ?? '',
  };
  const inputTypeField = settings.embeddingInputType;
  const dimensionsCache = new DimensionsCache(
    modelsFolder(dependencies.dataFolder),
    createHash('sha256').update(`${url} ${model}`).digest('hex'),
  );
  const width = await dimensionsCache.read();
  const embedder = new HttpEmbedder({
    provider,
    dimensions: settings.embeddingDimensions === 0 ? null : settings.embeddingDimensions,
    width,
    prefixes,
    inputTypeField,
    encoding: settings.embeddingEncoding,
    batchTextsMax: settings.providerTextsMax,
    batchUnitsMax: settings.providerCharactersMax,
    textUnitsMax: settings.providerTextCharactersMax,
  });
  const dimensions = await fetchDimensions(embedder, model);
  if (settings.embeddingDimensions === 0 && width !== dimensions) await dimensionsCache.write(dimensions);
  const version = hashConfiguration({ model, dimensions, prefixes, inputTypeField });
  return { id: model, version, dimensions, backend: embedder };
}

/** Returns the version of a model of a service: the service does not tell when its weights change. */
function hashConfiguration(configuration: object): string {
  return createHash('sha256').update(JSON.stringify(configuration)).digest('hex').slice(0, 16);
}

/** Returns the number of dimensions, which collections require when they are created. */
async function fetchDimensions(embedder: HttpEmbedder, model: string): Promise<number> {
  try {
    return await embedder.dimensions();
  } catch (error) {
    if (!(error instanceof ModelUnavailableError)) throw error;
    throw new AppError(
      'invalid',
      `The vector length of ${JSON.stringify(model)} is unknown because the service at QUARRY_EMBEDDING_URL is unreachable: ${error.reason}. Start the service first, or set QUARRY_EMBEDDING_DIMENSIONS.`,
      { cause: error },
    );
  }
}

function openHttpReranker(dependencies: CatalogDependencies): RerankerCatalogEntry | null {
  const { settings } = dependencies;
  const { rerankUrl, rerankModel: model } = settings;
  if (rerankUrl === null || model === null) return null;
  checkModelName(
    model,
    rerankModels.map(({ id }) => id),
    'QUARRY_RERANK_MODEL',
  );
  const provider = createProvider(dependencies, {
    model,
    url: toEndpoint(rerankUrl, 'rerank'),
    key: settings.rerankKey,
  });
  const backend = new HttpReranker({
    provider,
    dialect: settings.rerankDialect,
    scores: settings.rerankScores,
    batchTextsMax: settings.providerTextsMax,
    batchUnitsMax: settings.providerCharactersMax,
    textUnitsMax: settings.providerTextCharactersMax,
  });
  const { rerankDialect, rerankScores } = settings;
  return { id: model, version: hashConfiguration({ model, rerankDialect, rerankScores }), backend };
}

function openChatModel(dependencies: CatalogDependencies): ChatModel | null {
  const { chatUrl, chatModel: model, chatKey: key, chatDialect: dialect } = dependencies.settings;
  if (chatUrl === null || model === null) return null;
  const url = toEndpoint(chatUrl, 'chat/completions');
  // The service may quote the prompt in its errors.
  const provider = createProvider({ ...dependencies, mayLogReply: () => false }, { model, url, key });
  return new ChatModel({ provider, dialect });
}

function checkModelName(model: string, builtIn: readonly string[], setting: string): void {
  if (model === reservedModelName)
    throw new AppError(
      'invalid',
      `${setting} is "${model}", a name reserved for vectors sent by clients. Rename the model in the service.`,
    );
  if (!builtIn.includes(model)) return;
  throw new AppError(
    'invalid',
    `${setting} is ${JSON.stringify(model)}, the name of a built-in model. To route this name to another model, use QUARRY_MODEL_ALIASES.`,
  );
}

function createProvider(
  { settings, egress, clock, random, logger, observe, mayLogReply, onRecovered }: CatalogDependencies,
  { model, url, key }: { readonly model: string; readonly url: string; readonly key: string | null },
): ModelProvider {
  return new ModelProvider({
    model,
    url,
    key,
    documentMsMax: settings.providerSecondsMax * 1_000,
    queryMsMax: settings.providerQueryMsMax,
    requestsMax: settings.providerRequestsMax,
    fetch: egress.fetch,
    clock,
    random,
    logger,
    mayLogReply,
    onRecovered: () => onRecovered(model),
    observe: (outcome, seconds) => observe(model, outcome, seconds),
  });
}

/** Returns the URL of an operation; `url` is that URL or its base URL. */
function toEndpoint(url: string, operation: string): string {
  return url.endsWith(`/${operation}`) ? url : `${url}/${operation}`;
}

/** Caches the vector length of a service on disk, so that the server starts while the service is down. */
class DimensionsCache {
  readonly #folder: string;
  readonly #file: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#file = join(folder, `${name}.json`);
  }

  async read(): Promise<number | null> {
    try {
      const { width } = JSON.parse(await readFile(this.#file, 'utf8')) as { readonly width: unknown };
      return typeof width === 'number' && width > 0 ? width : null;
    } catch (error) {
      // Missing or truncated file: the length is requested from the service.
      if (error instanceof SyntaxError || hasErrorCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  async write(width: number): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await writeFile(`${this.#file}.new`, JSON.stringify({ width }));
    await rename(`${this.#file}.new`, this.#file);
  }
}
