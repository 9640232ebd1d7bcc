import { createHash } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import { splitServiceUrls } from '../core/service-urls.ts';
import { reservedModelName } from './added-models.ts';
import type { EmbeddingCatalogEntry, RerankerCatalogEntry } from './catalog.ts';
import { ChatModel } from './chat-model.ts';
import { DimensionsCache } from './dimensions-cache.ts';
import { HttpEmbedder, type InputTypeField, type VectorShortening } from './http-embedder.ts';
import { HttpReranker } from './http-reranker.ts';
import { ModelProvider } from './model-provider.ts';
import type { CatalogDependencies, ModelSettings } from './model-settings.ts';
import { modelsFolder } from './models-folder.ts';
import { defaultEmbeddingModel, rerankModels } from './registry.ts';
import { parseRerankTemplate } from './rerank-template.ts';
import { type TextFrames, zembed1Preset, zerank2Preset } from './service-presets.ts';
import { VectorProjections } from './vector-projections.ts';

/** Models that run in HTTP services, as the settings define them. */

/** Embedding service of the settings. */
interface EmbeddingService {
  readonly model: string;
  readonly url: string;
  readonly frames: TextFrames;
  readonly addsSpecialTokens: boolean;
  readonly inputTypeField: InputTypeField;
  /** Length of its vectors; null: unknown. */
  readonly width: number | null;
  readonly shortening: VectorShortening;
}

/** Opens the embedding model of a service; null if none is configured. Errors: AppError for inconsistent settings. */
export async function openHttpEmbedding(
  dependencies: CatalogDependencies,
): Promise<EmbeddingCatalogEntry | null> {
  const { settings } = dependencies;
  const service = await toEmbeddingService(settings);
  if (service === null) return null;
  const { model, frames, inputTypeField, addsSpecialTokens, shortening } = service;
  const urls = toEndpoints(service.url, 'embeddings');
  const provider = createProvider(dependencies, { model, urls, key: settings.embeddingKey });
  const dimensionsCache = new DimensionsCache(
    modelsFolder(dependencies.dataFolder),
    createHash('sha256')
      .update(`${urls.join(' ')} ${model}`)
      .digest('hex'),
  );
  const cachedWidth = await dimensionsCache.read();
  const embedder = new HttpEmbedder({
    provider,
    dimensions: settings.embeddingDimensions === 0 ? service.width : settings.embeddingDimensions,
    width: service.width ?? cachedWidth,
    shortening,
    frames,
    addsSpecialTokens,
    inputTypeField,
    encoding: settings.embeddingEncoding,
    batchTextsMax: settings.providerTextsMax,
    batchUnitsMax: settings.providerCharactersMax,
    textUnitsMax: settings.providerTextCharactersMax,
  });
  const dimensions = await fetchDimensions(embedder, model);
  const isFetched = settings.embeddingDimensions === 0 && service.width === null;
  if (isFetched && cachedWidth !== dimensions) await dimensionsCache.write(dimensions);
  return { id: model, version: hashEmbedding(service, dimensions), dimensions, backend: embedder };
}

async function toEmbeddingService(settings: ModelSettings): Promise<EmbeddingService | null> {
  const { embeddingUrl, embeddingModel: model, zembed1Url, embeddingProjectionsFile: file } = settings;
  const projections = file === null ? null : await VectorProjections.open(file);
  if (zembed1Url !== null) return toZembed1Service(settings, zembed1Url, projections);
  if (embeddingUrl === null || model === null) return null;
  checkModelName(model, [defaultEmbeddingModel], 'QUARRY_EMBEDDING_MODEL');
  if (projections !== null) checkDimensions(settings, model, projections.width, projections);
  const { embeddingQueryPrefix, embeddingQuerySuffix, embeddingDocumentPrefix, embeddingDocumentSuffix } =
    settings;
  return {
    model,
    url: embeddingUrl,
    frames: {
      query: { prefix: embeddingQueryPrefix ?? '', suffix: embeddingQuerySuffix ?? '' },
      document: { prefix: embeddingDocumentPrefix ?? '', suffix: embeddingDocumentSuffix ?? '' },
    },
    addsSpecialTokens: settings.embeddingSpecialTokens === 'service',
    inputTypeField: settings.embeddingInputType,
    width: projections?.width ?? null,
    shortening: projections ?? 'prefix',
  };
}

function toZembed1Service(
  settings: ModelSettings,
  url: string,
  projections: VectorProjections | null,
): EmbeddingService {
  const { model, dimensions: width, frames } = zembed1Preset;
  rejectPresetConflicts('QUARRY_ZEMBED1_URL', {
    QUARRY_EMBEDDING_URL: settings.embeddingUrl !== null,
    QUARRY_EMBEDDING_QUERY_PREFIX: settings.embeddingQueryPrefix !== null,
    QUARRY_EMBEDDING_QUERY_SUFFIX: settings.embeddingQuerySuffix !== null,
    QUARRY_EMBEDDING_DOCUMENT_PREFIX: settings.embeddingDocumentPrefix !== null,
    QUARRY_EMBEDDING_DOCUMENT_SUFFIX: settings.embeddingDocumentSuffix !== null,
    QUARRY_EMBEDDING_INPUT_TYPE: settings.embeddingInputType !== 'none',
    QUARRY_EMBEDDING_SPECIAL_TOKENS: settings.embeddingSpecialTokens !== 'service',
  });
  checkDimensions(settings, model, width, projections);
  const shortening = projections ?? 'none';
  return { model, url, frames, addsSpecialTokens: false, inputTypeField: 'none', width, shortening };
}

/** Errors: AppError if the projections do not lead from the vectors of the model to the configured length. */
function checkDimensions(
  { embeddingDimensions: dimensions, embeddingProjectionsFile: file }: ModelSettings,
  model: string,
  width: number,
  projections: VectorProjections | null,
): void {
  if (projections !== null && projections.width !== width)
    throw new AppError(
      'invalid',
      `${file} is for vectors of ${projections.width} dimensions, but ${model} has ${width}.`,
    );
  const offered = [width, ...(projections?.dimensions ?? [])];
  if (dimensions === 0 || offered.includes(dimensions)) return;
  const remedy =
    projections === null
      ? `Prefixes of its vectors are wrong: shorter vectors need QUARRY_EMBEDDING_PROJECTIONS_FILE`
      : `Available: ${offered.join(', ')}`;
  throw new AppError(
    'invalid',
    `QUARRY_EMBEDDING_DIMENSIONS is ${dimensions}, which ${model} does not offer. ${remedy}.`,
  );
}

/** Returns the version of the model. Fields that earlier releases did not have are left out where they do not apply. */
function hashEmbedding(service: EmbeddingService, dimensions: number): string {
  const { model, frames, inputTypeField, addsSpecialTokens, shortening, width } = service;
  const { query, document } = frames;
  const hasSuffix = query.suffix !== '' || document.suffix !== '';
  const isProjected = typeof shortening !== 'string' && dimensions !== width;
  return hashConfiguration({
    model,
    dimensions,
    prefixes: { query: query.prefix, document: document.prefix },
    inputTypeField,
    ...(hasSuffix ? { suffixes: { query: query.suffix, document: document.suffix } } : {}),
    ...(addsSpecialTokens ? {} : { addsSpecialTokens }),
    ...(isProjected ? { projections: shortening.fingerprint } : {}),
  });
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

/** Opens the reranker of a service; null if none is configured. Errors: AppError for inconsistent settings. */
export function openHttpReranker(dependencies: CatalogDependencies): RerankerCatalogEntry | null {
  const { settings } = dependencies;
  const service = toRerankService(settings);
  if (service === null) return null;
  const { model, logitScale } = service;
  const urls = toEndpoints(service.url, 'rerank');
  const provider = createProvider(dependencies, { model, urls, key: settings.rerankKey });
  const { rerankDialect, rerankScores, rerankTemplate } = settings;
  const backend = new HttpReranker({
    provider,
    dialect: rerankDialect,
    scores: rerankScores,
    logitScale,
    template: rerankTemplate === null ? null : parseRerankTemplate(rerankTemplate),
    batchTextsMax: settings.providerTextsMax,
    batchUnitsMax: settings.providerCharactersMax,
    textUnitsMax: settings.providerTextCharactersMax,
  });
  const version = hashConfiguration({
    model,
    rerankDialect,
    rerankScores,
    ...(rerankScores === 'logit' && logitScale !== 1 ? { logitScale } : {}),
    ...(rerankTemplate === null ? {} : { rerankTemplate }),
  });
  return { id: model, version, backend };
}

function toRerankService(
  settings: ModelSettings,
): { readonly model: string; readonly url: string; readonly logitScale: number } | null {
  const { rerankUrl, rerankModel: model, zerank2Url, rerankLogitScale } = settings;
  if (zerank2Url !== null) {
    rejectPresetConflicts('QUARRY_ZERANK2_URL', {
      QUARRY_RERANK_URL: rerankUrl !== null,
      QUARRY_RERANK_MODEL: model !== null,
      QUARRY_RERANK_TEMPLATE: settings.rerankTemplate !== null,
      QUARRY_RERANK_LOGIT_SCALE: rerankLogitScale !== 1,
    });
    return { model: zerank2Preset.model, url: zerank2Url, logitScale: zerank2Preset.logitScale };
  }
  if (rerankUrl === null || model === null) return null;
  const builtIn = rerankModels.map(({ id }) => id);
  checkModelName(model, builtIn, 'QUARRY_RERANK_MODEL');
  return { model, url: rerankUrl, logitScale: rerankLogitScale };
}

/** Errors: AppError that names the settings that a preset defines. */
function rejectPresetConflicts(preset: string, isSet: Readonly<Record<string, boolean>>): void {
  const conflicts = Object.keys(isSet).filter((name) => isSet[name]);
  if (conflicts.length === 0) return;
  throw new AppError(
    'invalid',
    `${preset} already defines the service and its texts. Remove ${conflicts.join(' and ')}.`,
  );
}

/** Returns the aliases under which models of presets have the names of the hosted service. */
export function listPresetAliases({
  zembed1Url,
  zerank2Url,
}: Pick<ModelSettings, 'zembed1Url' | 'zerank2Url'>): Record<string, string> {
  const presets = [
    ...(zembed1Url === null ? [] : [zembed1Preset]),
    ...(zerank2Url === null ? [] : [zerank2Preset]),
  ];
  return Object.fromEntries(presets.map(({ hostedName, model }) => [hostedName, model]));
}

/** Opens the chat model; null if none is configured. */
export function openChatModel(dependencies: CatalogDependencies): ChatModel | null {
  const { chatUrl, chatModel: model, chatKey: key, chatDialect: dialect } = dependencies.settings;
  if (chatUrl === null || model === null) return null;
  const urls = toEndpoints(chatUrl, 'chat/completions');
  // The service may quote the prompt in its errors.
  const provider = createProvider({ ...dependencies, mayLogReply: () => false }, { model, urls, key });
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
  {
    model,
    urls,
    key,
  }: { readonly model: string; readonly urls: readonly string[]; readonly key: string | null },
): ModelProvider {
  return new ModelProvider({
    model,
    urls,
    key,
    hedgeMs: settings.providerHedgeMs,
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

/** Returns the URLs of an operation; each of `urls` is that URL or its base URL. */
function toEndpoints(urls: string, operation: string): string[] {
  return splitServiceUrls(urls).map((url) => (url.endsWith(`/${operation}`) ? url : `${url}/${operation}`));
}
