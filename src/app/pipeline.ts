import { IngestAdmission } from '../admission/ingest-admission.ts';
import { describedError } from '../base/described-error.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { ModelUnavailable } from '../base/model-unavailable.ts';
import { heldBytes } from '../base/process-memory.ts';
import type { Settings } from '../config/schema.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { CataloguedEmbedding, ModelCatalogue } from '../models/catalogue.ts';
import { embedChunks } from '../models/chunk-vectors.ts';
import { dotWithCodes } from '../models/codes.ts';
import { KnownWords } from '../models/known-words.ts';
import type { Embedder } from '../models/model.ts';
import { vectorsOfPages } from '../models/page-vectors.ts';
import { defaultEmbeddingModel, embeddingModel } from '../models/registry.ts';
import type { StaticEmbedder } from '../models/static-embedder.ts';
import type { OpenedTools } from '../parsing/open-tools.ts';
import { hasPageImages } from '../parsing/parse-task.ts';
import { ChunkBatches } from '../pipeline/chunk-batches.ts';
import type { DocumentEvent } from '../pipeline/document-event.ts';
import { DocumentProgress } from '../pipeline/document-progress.ts';
import { DocumentWriter } from '../pipeline/document-writer.ts';
import { Ingest } from '../pipeline/ingest.ts';
import { type DocumentModel, IngestSteps } from '../pipeline/ingest-steps.ts';
import { MemoryLimit } from '../pipeline/memory-limit.ts';
import { ModelChanges } from '../pipeline/model-changes.ts';
import { ModelRunner } from '../pipeline/model-runner.ts';
import type { TaskPriority } from '../pipeline/pools.ts';
import { QueryEmbedder } from '../pipeline/query-embedder.ts';
import { StoredVectors, type VectorMaker, vectorRenewal } from '../pipeline/stored-vectors.ts';
import { Switchboard } from '../pipeline/switchboard.ts';
import { Search } from '../search/search.ts';
import { generationOf, hasOwnVectors, ownVectors, type VectorSet } from '../store/collections.ts';
import { chance, clock, turns } from './given.ts';
import { type Pools, parseLimitsOf, type Storage } from './storage.ts';

/** From a document to rows of the shards, and from a question to rows. */

interface PipelineParts {
  readonly storage: Storage;
  readonly pools: Pools;
  readonly tools: OpenedTools;
  /** The built-in model for short queries, in this thread. */
  readonly embedder: StaticEmbedder;
  readonly catalogue: ModelCatalogue;
  readonly logger: Logger;
  /** Whether the log may hold what documents say. */
  readonly mayQuote: () => boolean;
}

function isFileModel({ runs }: CataloguedEmbedding): boolean {
  return runs !== 'built-in' && !('provider' in runs);
}

/** What makes vectors of stored chunks. `ModelUnavailable` while a service is away. */
function vectorMaker(
  { id, dimensions, runs }: CataloguedEmbedding,
  generation: number,
  { models, priority }: { readonly models: ModelRunner; readonly priority: TaskPriority },
): VectorMaker {
  if (runs !== 'built-in' && 'provider' in runs) runs.provider.check();
  const embedder: Pick<Embedder, 'dimensions' | 'embed'> = {
    dimensions,
    embed: (texts, inputType) => models.embed(texts, inputType, { model: id, priority }),
  };
  const make: VectorMaker['embedChunks'] = (chunks, onStep) => embedChunks(embedder, chunks, onStep);
  return { id, dimensions, generation, embedChunks: make };
}

/** How the documents of a collection get their vectors; chunk workers know the built-in model. */
function documentModel(
  { collections }: Storage,
  catalogue: ModelCatalogue,
  models: ModelRunner,
): (collectionId: string) => DocumentModel {
  return (collectionId) => {
    const collection = collections.byId(collectionId);
    const generation = collection === undefined ? 0 : generationOf(collection);
    if (collection !== undefined && hasOwnVectors(collection))
      return {
        id: ownVectors,
        dimensions: collection.dimensions,
        generation,
        embedChunks: { ofPages: vectorsOfPages },
      };
    const model = catalogue.ofCollection(collection?.model);
    const maker = vectorMaker(model, generation, { models, priority: 'ingest' });
    return model.runs === 'built-in' ? { ...maker, embedChunks: 'in-worker' } : maker;
  };
}

/**
 * Documents that are indexed for each chunk thread: while some are cut, others are put into the shards and written. With
 * fewer, commits are many and small and threads wait for one another; with more, searches wait longer.
 */
const indexingPerThread = 32;

/** What happens to documents and queries between the door and the shards. */
export async function buildPipeline(settings: Settings, parts: PipelineParts) {
  const { storage, pools, tools, embedder, catalogue, logger, mayQuote } = parts;
  const models = new ModelRunner(pools, catalogue, (model, error) => {
    logger.error({ model, error: describedError(error, mayQuote()) }, 'a model failed');
  });
  const queryEmbedder = new QueryEmbedder({
    inline: embedder,
    inlineModel: defaultEmbeddingModel,
    inlineUnitsMax: embeddingModel(defaultEmbeddingModel).inlineQueryUnitsMax,
    pooled: (texts, model) => models.embed(texts, 'query', { model, priority: 'query' }),
    runsMax: (model) => (isFileModel(catalogue.embedding(model)) ? settings.embedThreads : null),
    bytesMax: settings.queryVectorCacheBytes,
  });
  const parseLimits = parseLimitsOf(settings);
  const shared = {
    ...storage,
    switchboard: new Switchboard(storage),
    locks: new KeyedMutex(),
    clock,
    chance,
    turns,
    count: (event: DocumentEvent) => storage.meter.documentOperations(documentFact(event)),
  };
  const progress = new DocumentProgress(shared);
  const vectors = new StoredVectors(storage);
  const makerOf = (set: VectorSet) =>
    vectorMaker(catalogue.ofCollection(set.model ?? undefined), set.generation, { models, priority: 'slow' });
  const steps = new IngestSteps({
    ...storage,
    pools,
    chunker: new ChunkBatches(pools.chunk, turns),
    modelOf: documentModel(storage, catalogue, models),
    renewVectors: vectorRenewal({ ...storage, vectors, makerOf }),
    parseLimits,
    hasPageImages: (kind) => hasPageImages(kind, tools.desk.hasOffice),
    clock,
    turns,
  });
  const memory = new MemoryLimit({ heldBytes, bytesMax: settings.memoryBytesMax, clock });
  const ingest = await Ingest.open({
    store: storage.store,
    progress,
    steps,
    memory,
    ...{ clock, turns, logger, mayQuote },
    parallel: {
      parse: settings.parseThreads,
      index: Math.min(limits.indexingDocumentsMax, indexingPerThread * settings.chunkThreads),
      indexBytes: limits.indexingBytesMax,
    },
  });
  const writer = new DocumentWriter({
    ...shared,
    onJob: (job) => ingest.offer(job),
    onAbandoned: (record) => ingest.abandon(record),
  });
  const admission = new IngestAdmission({
    space: storage.space,
    queue: ingest,
    queueDocumentsMax: settings.queueDocumentsMax,
    memory,
  });
  const modelChanges = new ModelChanges({
    ...storage,
    ...{ vectors, makerOf, logger, mayQuote },
    renewed: (mark) => catalogue.renewed(mark),
    checkRoom: () => admission.checkRoom(),
  });
  return { models, queryEmbedder, catalogue, parseLimits, memory, ingest, writer, admission, modelChanges };
}

export type Pipeline = Awaited<ReturnType<typeof buildPipeline>>;

function documentFact({ preciseChunks, ...event }: DocumentEvent) {
  return {
    contentTokens: 0,
    embeddingTokens: 0,
    coarseChunks: 0,
    timeTakenMs: 0,
    ...event,
    fineChunks: preciseChunks ?? 0,
  };
}

export function buildSearch(settings: Settings, storage: Storage, pipeline: Pipeline): Search {
  const { models, queryEmbedder, catalogue } = pipeline;
  const words = KnownWords.read();
  return new Search({
    ...storage,
    clock,
    similarities: dotWithCodes,
    indexOf: (collectionId, generation) => storage.indexes.get(collectionId, generation),
    doesWithout: settings.withoutModel === 'degrade',
    knowsWord: settings.typoTolerance === 'on' ? (word) => words.knows(word) : null,
    models: {
      embed: (query) => queryEmbedder.embed({ ...query, model: catalogue.ofCollection(query.model).id }),
      rerank: async (model, query, texts) =>
        (await models.rerank(model, query, texts, { priority: 'query' })).scores,
      rerankWeight: (model, query) => catalogue.rerankWeight(model, words.familiarity(query)),
    },
  });
}

/** Why documents of a collection do not get their vectors just now, as a sentence; null when they do. */
export function modelTrouble(
  storage: Storage,
  catalogue: ModelCatalogue,
  collectionId: string,
): string | null {
  const collection = storage.collections.byId(collectionId);
  if (collection !== undefined && hasOwnVectors(collection)) return null;
  try {
    const { id, runs } = catalogue.ofCollection(collection?.model);
    const trouble = runs !== 'built-in' && 'provider' in runs ? runs.provider.health.trouble : null;
    return trouble === null ? null : new ModelUnavailable(id, trouble, { retryAfterMs: 0 }).message;
  } catch (error) {
    if (error instanceof ModelUnavailable) return error.message;
    throw error;
  }
}
