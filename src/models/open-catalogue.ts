import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { ModelUnavailable } from '../base/model-unavailable.ts';
import type { Egress } from '../egress/egress.ts';
import { listModels, reservedName } from './added-models.ts';
import {
  type CataloguedEmbedding,
  type CataloguedReranker,
  embeddingsOf,
  ModelCatalogue,
  rerankersOf,
} from './catalogue.ts';
import { HttpEmbedder, type InputTypeField } from './http-embedder.ts';
import { HttpReranker, type RerankDialect } from './http-reranker.ts';
import type { PlacedModel } from './local-model.ts';
import { modelsFolder } from './models-folder.ts';
import { OnnxSession } from './onnx-session.ts';
import { Provider, type RequestOutcome } from './provider.ts';
import {
  builtInVersion,
  defaultEmbeddingModel,
  embeddingModel,
  rerankFolder,
  rerankModels,
} from './registry.ts';

const onlyProcessor = 'cpu';

/** The settings that say which models there are; what each means, `config/schema` says. */
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
  readonly modelAliases: string | null;
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

export interface CatalogueParts {
  readonly settings: ModelSettings;
  /** The data directory. */
  readonly data: string;
  readonly egress: Egress;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** See `ProviderOptions`. */
  readonly mayQuote: () => boolean;
  readonly onRecovered: (model: string) => void;
  /** Told of every request to a service. */
  readonly observe: (model: string, outcome: RequestOutcome, seconds: number) => void;
}

/** The models that the settings name, beside the built-in ones. An AppError when they make no sense. */
export async function openCatalogue(parts: CatalogueParts): Promise<ModelCatalogue> {
  const { settings } = parts;
  await checkProviders(settings.modelExecutionProviders);
  const builtIn: CataloguedEmbedding = {
    id: defaultEmbeddingModel,
    version: await builtInVersion(defaultEmbeddingModel),
    dimensions: embeddingModel(defaultEmbeddingModel).dimensions,
    runs: 'built-in',
  };
  const embeddings = [builtIn];
  const rerankers: CataloguedReranker[] = rerankModels.map(({ id }) => ({ id, runs: 'built-in' }));
  const placed = await placedModels(parts);
  embeddings.push(...placed.flatMap(embeddingsOf));
  rerankers.push(...placed.flatMap(rerankersOf));
  const served = await servedEmbedding(parts);
  if (served !== null) embeddings.unshift(served);
  const servedReranker = rerankerOf(parts);
  if (servedReranker !== null) rerankers.unshift(servedReranker);
  const wanted = settings.embeddingModel ?? defaultEmbeddingModel;
  const first = embeddings.find(({ id }) => id === wanted);
  if (first === undefined) throw unknownModel('embeddingModel', wanted, embeddings);
  const catalogue = new ModelCatalogue({
    embeddings: [first, ...embeddings.filter((model) => model !== first)],
    rerankers,
    aliases: aliasesOf(settings.modelAliases),
    firstEmbedding: defaultEmbeddingModel,
  });
  if (settings.reranker !== null && !catalogue.rerankerNames.includes(settings.reranker))
    throw unknownModel('reranker', settings.reranker, rerankers);
  return catalogue;
}

/** A small graph has to open with each alone, so that nobody learns from the first document that one is missing. */
async function checkProviders(names: string): Promise<void> {
  if (names === onlyProcessor) return;
  for (const name of names.split(',')) {
    try {
      const session = await OnnxSession.open(join(rerankFolder, 'model.onnx'), {
        executionProviders: [name],
      });
      await session.close();
    } catch (cause) {
      throw new AppError(
        'invalid',
        `The setting modelExecutionProviders names ${name}, which onnxruntime cannot use here: ${(cause as Error).message}`,
        { cause },
      );
    }
  }
}

/** The models that were added to the data directory, as workers are handed them. */
export async function placedModels({
  data,
  settings,
}: Pick<CatalogueParts, 'data' | 'settings'>): Promise<PlacedModel[]> {
  const run = {
    threads: settings.modelThreads,
    batchTokens: settings.modelBatchTokens,
    executionProviders: settings.modelExecutionProviders.split(','),
  };
  return (await listModels(data)).map((model) => ({
    model,
    folder: join(modelsFolder(data), model.id),
    run,
  }));
}

function unknownModel(setting: string, id: string, known: readonly { readonly id: string }[]): AppError {
  const ids = known.map((model) => model.id).join(', ');
  return new AppError(
    'invalid',
    `The setting ${setting} is ${JSON.stringify(id)}, which is no model here; there are: ${ids}.`,
  );
}

function aliasesOf(pairs: string | null): Record<string, string> {
  return Object.fromEntries(
    (pairs ?? '').split(',').flatMap((pair) => (pair === '' ? [] : [pair.split('=')])),
  );
}

async function servedEmbedding(parts: CatalogueParts): Promise<CataloguedEmbedding | null> {
  const { settings } = parts;
  const { embeddingUrl, embeddingModel: model } = settings;
  if (embeddingUrl === null || model === null) return null;
  refuseBuiltInName(model, [defaultEmbeddingModel], 'embeddingModel');
  const url = endpoint(embeddingUrl, 'embeddings');
  const provider = providerOf(parts, { model, url, key: settings.embeddingKey });
  const prefixes = {
    query: settings.embeddingQueryPrefix ?? '',
    document: settings.embeddingDocumentPrefix ?? '',
  };
  const inputTypeField = settings.embeddingInputType;
  const memory = new WidthMemory(
    modelsFolder(parts.data),
    createHash('sha256').update(`${url} ${model}`).digest('hex'),
  );
  const width = await memory.read();
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
  const dimensions = await dimensionsOf(embedder, model);
  if (settings.embeddingDimensions === 0 && width !== dimensions) await memory.write(dimensions);
  const version = createHash('sha256')
    .update(JSON.stringify({ model, dimensions, prefixes, inputTypeField }))
    .digest('hex')
    .slice(0, 16);
  return { id: model, version, dimensions, runs: embedder };
}

/** Collections are made for vectors of one length: it has to be known before the first. */
async function dimensionsOf(embedder: HttpEmbedder, model: string): Promise<number> {
  try {
    return await embedder.dimensions();
  } catch (error) {
    if (!(error instanceof ModelUnavailable)) throw error;
    throw new AppError(
      'invalid',
      `Nobody knows yet how many dimensions the vectors of ${JSON.stringify(model)} have, and its service at embeddingUrl cannot be asked: ${error.reason}. Start the service first, or set QUARRY_EMBEDDING_DIMENSIONS.`,
      { cause: error },
    );
  }
}

function rerankerOf(parts: CatalogueParts): CataloguedReranker | null {
  const { settings } = parts;
  const { rerankUrl, rerankModel: model } = settings;
  if (rerankUrl === null || model === null) return null;
  refuseBuiltInName(
    model,
    rerankModels.map(({ id }) => id),
    'rerankModel',
  );
  const provider = providerOf(parts, { model, url: endpoint(rerankUrl, 'rerank'), key: settings.rerankKey });
  const runs = new HttpReranker({
    provider,
    dialect: settings.rerankDialect,
    scores: settings.rerankScores,
    batchTextsMax: settings.providerTextsMax,
    batchUnitsMax: settings.providerCharactersMax,
    textUnitsMax: settings.providerTextCharactersMax,
  });
  return { id: model, runs };
}

function refuseBuiltInName(model: string, builtIn: readonly string[], setting: string): void {
  if (model === reservedName)
    throw new AppError(
      'invalid',
      `The setting ${setting} is "${model}", which stands for vectors that callers send: the service has to call its model otherwise.`,
    );
  if (!builtIn.includes(model)) return;
  throw new AppError(
    'invalid',
    `The setting ${setting} is ${JSON.stringify(model)}, which is the name of a built-in model; modelAliases lets clients call another model so.`,
  );
}

function providerOf(
  { settings, egress, clock, random, logger, observe, mayQuote, onRecovered }: CatalogueParts,
  { model, url, key }: { readonly model: string; readonly url: string; readonly key: string | null },
): Provider {
  return new Provider({
    model,
    url,
    key,
    patientMsMax: settings.providerSecondsMax * 1_000,
    urgentMsMax: settings.providerQueryMsMax,
    requestsMax: settings.providerRequestsMax,
    fetch: egress.fetch,
    clock,
    random,
    logger,
    mayQuote,
    onRecovered: () => onRecovered(model),
    observe: (outcome, seconds) => observe(model, outcome, seconds),
  });
}

/** The address of an operation, whether people gave it or the address above it. */
function endpoint(url: string, operation: string): string {
  return url.endsWith(`/${operation}`) ? url : `${url}/${operation}`;
}

/** How long the vectors of a service are, so that the server starts while the service is away. */
class WidthMemory {
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
      // Unknown or half written: the service is asked.
      if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  async write(width: number): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await writeFile(`${this.#file}.new`, JSON.stringify({ width }));
    await rename(`${this.#file}.new`, this.#file);
  }
}
