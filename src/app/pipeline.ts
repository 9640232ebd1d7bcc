import { IngestAdmission } from '../admission/ingest-admission.ts';
import type { Settings } from '../config/schema.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import { describedError } from '../core/described-error.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import { readProcessMemoryBytes } from '../core/process-memory.ts';
import { type ChunkEmbedder, createVectorRenewal, StoredVectors } from '../index/stored-vectors.ts';
import { VersionPublisher } from '../index/version-publisher.ts';
import { ChunkBatches } from '../ingest/chunk-batches.ts';
import { DirectIndexer, type DirectIndexerOptions } from '../ingest/direct-indexer.ts';
import { DocumentCopier } from '../ingest/document-copier.ts';
import type { DocumentEvent } from '../ingest/document-event.ts';
import { DocumentTransitions } from '../ingest/document-transitions.ts';
import { DocumentWriter } from '../ingest/document-writer.ts';
import { Ingest } from '../ingest/ingest.ts';
import { type DocumentModel, IngestSteps } from '../ingest/ingest-steps.ts';
import { MemoryLimit } from '../ingest/memory-limit.ts';
import { ModelChanges } from '../ingest/model-changes.ts';
import { ModelRunner } from '../ingest/model-runner.ts';
import type { TaskPriority } from '../ingest/pools.ts';
import { QueryEmbedder } from '../ingest/query-embedder.ts';
import type { EmbeddingCatalogEntry, ModelCatalog } from '../models/catalog.ts';
import { embedChunks } from '../models/chunk-vectors.ts';
import type { FeatureReranker } from '../models/feature-reranker.ts';
import type { Embedder } from '../models/model.ts';
import { ModelLatencies } from '../models/model-latencies.ts';
import { ModelVocabulary } from '../models/model-vocabulary.ts';
import { toChunkVectors } from '../models/page-vectors.ts';
import { dequantize } from '../models/quantization.ts';
import { defaultEmbeddingModel, getEmbeddingModel } from '../models/registry.ts';
import type { StaticEmbedder } from '../models/static-embedder.ts';
import { hasPageImages } from '../parsing/process/parse-task.ts';
import type { ToolEnvironment } from '../parsing/tools/open-tools.ts';
import { Search } from '../search/search.ts';
import { getGeneration, hasOwnVectors, ownVectors, type VectorSet } from '../storage/collections.ts';
import type { Job } from '../storage/jobs.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { backgroundScheduler, clock, random } from './runtime.ts';
import { type Pools, type Storage, toParseLimits } from './storage.ts';

/** Components between the services and the shards: ingestion of documents, and search. */

interface PipelineDependencies {
  readonly storage: Storage;
  readonly pools: Pools;
  readonly tools: ToolEnvironment;
  /** The built-in model for short queries, in this thread. */
  readonly embedder: StaticEmbedder;
  readonly reranker: FeatureReranker;
  readonly catalog: ModelCatalog;
  readonly logger: Logger;
  readonly tracer: Tracer | null;
  /** Whether log lines may contain texts of documents. */
  readonly mayLogContent: () => boolean;
}

function isFileModel({ backend: runs }: EmbeddingCatalogEntry): boolean {
  return runs !== 'built-in' && !('provider' in runs);
}

/** Creates the embedder of stored chunks. Throws `ModelUnavailableError` while a model service is unavailable. */
function createChunkEmbedder(
  { id, dimensions, backend: runs }: EmbeddingCatalogEntry,
  generation: number,
  { models, priority }: { readonly models: ModelRunner; readonly priority: TaskPriority },
): ChunkEmbedder {
  if (runs !== 'built-in' && 'provider' in runs) runs.provider.checkAvailable();
  const embedder: Pick<Embedder, 'dimensions' | 'embed'> = {
    dimensions,
    embed: (texts, inputType) => models.embed(texts, inputType, { model: id, priority }),
  };
  const make: ChunkEmbedder['embedChunks'] = (chunks, onStep) => embedChunks(embedder, chunks, onStep);
  return { id, dimensions, generation, embedChunks: make };
}

/** Returns a function: collection ID -> model of its documents. Chunk workers run the built-in model themselves. */
function createDocumentModelLookup(
  { collections }: Storage,
  catalog: ModelCatalog,
  models: ModelRunner,
): (collectionId: string) => DocumentModel {
  return (collectionId) => {
    const collection = collections.findById(collectionId);
    const generation = collection === undefined ? 0 : getGeneration(collection);
    if (collection !== undefined && hasOwnVectors(collection))
      return {
        id: ownVectors,
        dimensions: collection.dimensions,
        generation,
        embedChunks: { fromPages: toChunkVectors },
      };
    const model = catalog.getForCollection(collection?.model);
    const chunkEmbedder = createChunkEmbedder(model, generation, { models, priority: 'ingest' });
    return model.backend === 'built-in' ? { ...chunkEmbedder, embedChunks: 'in-worker' } : chunkEmbedder;
  };
}

/**
 * Documents indexed at the same time for each chunk thread: while some are chunked, others are added to shards and
 * written. With fewer, commits are small and threads idle; with more, searches wait longer.
 */
const indexingDocumentsPerThread = 32;

/** Builds the components that documents and queries pass through between the services and the shards. */
export async function buildPipeline(settings: Settings, dependencies: PipelineDependencies) {
  const { storage, pools, embedder, reranker, catalog, logger, tracer, mayLogContent } = dependencies;
  const { store, space } = storage;
  const models = new ModelRunner(pools, reranker, catalog, (model, error) => {
    logger.error({ model, error: describedError(error, mayLogContent()) }, 'model failed');
  });
  const latencies = new ModelLatencies(clock);
  const queryEmbedder = createQueryEmbedder(settings, { embedder, catalog, models, latencies });
  const parseLimits = toParseLimits(settings);
  const { transitions, createWriters } = createDocumentChanges(storage);
  const vectors = new StoredVectors({ store, contents: storage.contents, space });
  const chunkEmbedderOf = (set: VectorSet) =>
    createChunkEmbedder(catalog.getForCollection(set.model ?? undefined), set.generation, {
      models,
      priority: 'slow',
    });
  const shared = { models, vectors, chunkEmbedderOf };
  const steps = createIngestSteps(parseLimits, dependencies, shared);
  const memory = new MemoryLimit({
    heldBytes: readProcessMemoryBytes,
    bytesMax: settings.memoryBytesMax,
    clock,
  });
  const ingest = await Ingest.open({
    store,
    transitions,
    steps,
    memory,
    clock,
    backgroundScheduler,
    logger,
    tracer,
    mayLogContent,
    parallel: ingestParallelism(settings),
  });
  const writers = createWriters({
    ingest,
    steps,
    logger,
    tracer,
    groupsMax: directGroupsPerThread * settings.chunkThreads,
  });
  const { queueDocumentsMax } = settings;
  const admission = new IngestAdmission({ space, queue: ingest, queueDocumentsMax, memory });
  const modelChanges = createModelChanges(dependencies, shared, () => admission.checkCapacity());
  return {
    models,
    latencies,
    queryEmbedder,
    catalog,
    parseLimits,
    memory,
    ingest,
    ...writers,
    admission,
    modelChanges,
  };
}

function createQueryEmbedder(
  settings: Settings,
  {
    embedder,
    catalog,
    models,
    latencies,
  }: Pick<PipelineDependencies, 'embedder' | 'catalog'> & {
    readonly models: ModelRunner;
    readonly latencies: ModelLatencies;
  },
): QueryEmbedder {
  return new QueryEmbedder({
    inline: embedder,
    inlineModel: defaultEmbeddingModel,
    inlineUnitsMax: getEmbeddingModel(defaultEmbeddingModel).inlineQueryUnitsMax,
    embedInPool: (texts, model) =>
      latencies.measure(model, () => models.embed(texts, 'query', { model, priority: 'query' })),
    runsMax: (model) => (isFileModel(catalog.getEmbeddingById(model)) ? settings.embedThreads : null),
    bytesMax: settings.queryVectorCacheBytes,
  });
}

/** Groups of directly indexed documents per chunk thread: while one is chunked, another is written. */
const directGroupsPerThread = 2;

interface DirectIndexing extends Pick<DirectIndexerOptions, 'steps' | 'logger' | 'tracer' | 'groupsMax'> {
  readonly ingest: Ingest;
}

/** Components that change records of documents. They share one publisher and one lock per path. */
function createDocumentChanges(storage: Storage) {
  const { store, sequence, changes, live, indexes, meter } = storage;
  const { documents, collections, versions, contents, counts, feeds, history } = storage;
  const versionPublisher = new VersionPublisher({
    store,
    sequence,
    changes,
    live,
    indexes,
    collections,
    history,
    clock,
  });
  const locks = new KeyedMutex();
  const count = (event: DocumentEvent) => meter.documentOperations(toDocumentUsageEvent(event));
  const transitions = new DocumentTransitions({
    store,
    documents,
    collections,
    versions,
    contents,
    counts,
    versionPublisher,
    space: storage.space,
    locks,
    clock,
    count,
    feeds,
    backgroundScheduler,
  });
  const createWriters = ({ ingest, ...direct }: DirectIndexing) => {
    const options = {
      documents,
      collections,
      versions,
      contents,
      counts,
      sequence,
      versionPublisher,
      history,
      locks,
      clock,
      random,
      count,
      feeds,
      backgroundScheduler,
      onJob: (job: Job) => ingest.enqueue(job),
    };
    const { content } = transitions;
    const hasCapacity = () => ingest.hasCapacity();
    const writer = new DocumentWriter({
      ...options,
      direct: new DirectIndexer({ ...options, ...direct, store, content, hasCapacity }),
      onAbandoned: (record) => ingest.abandon(record),
    });
    return { writer, copier: new DocumentCopier({ ...options, store }) };
  };
  return { transitions, createWriters };
}

interface VectorComponents {
  readonly models: ModelRunner;
  readonly vectors: StoredVectors;
  readonly chunkEmbedderOf: (set: VectorSet) => ChunkEmbedder;
}

function createIngestSteps(
  parseLimits: ReturnType<typeof toParseLimits>,
  { storage, pools, tools, catalog }: PipelineDependencies,
  { models, vectors, chunkEmbedderOf }: VectorComponents,
): IngestSteps {
  const { collections, documents, contents, blobs, indexes } = storage;
  return new IngestSteps({
    blobs,
    contents,
    indexes,
    pools,
    chunker: new ChunkBatches(pools.chunk, backgroundScheduler),
    getModel: createDocumentModelLookup(storage, catalog, models),
    renewVectors: createVectorRenewal({ collections, documents, contents, vectors, chunkEmbedderOf }),
    parseLimits,
    hasPageImages: (pageImages) => hasPageImages(pageImages, tools.toolServer.hasOffice),
    clock,
    backgroundScheduler,
  });
}

function createModelChanges(
  { storage, catalog, logger, mayLogContent }: PipelineDependencies,
  { vectors, chunkEmbedderOf }: VectorComponents,
  checkCapacity: () => void,
): ModelChanges {
  const { store, collections, versions, contents, counts, live, indexes, history } = storage;
  return new ModelChanges({
    store,
    history,
    collections,
    versions,
    contents,
    counts,
    live,
    indexes,
    vectors,
    chunkEmbedderOf,
    findNewerVersion: (model) => catalog.findOtherVersion(model),
    checkCapacity,
    logger,
    mayLogContent,
  });
}

function ingestParallelism({ parseThreads, chunkThreads }: Settings) {
  return {
    parse: parseThreads,
    index: Math.min(limits.indexingDocumentsMax, indexingDocumentsPerThread * chunkThreads),
    indexBytes: limits.indexingBytesMax,
  };
}

export type Pipeline = Awaited<ReturnType<typeof buildPipeline>>;

function toDocumentUsageEvent({ fineChunks, ...event }: DocumentEvent) {
  return {
    contentTokens: 0,
    embeddingTokens: 0,
    coarseChunks: 0,
    timeTakenMs: 0,
    ...event,
    fineChunks: fineChunks ?? 0,
  };
}

export function buildSearch(settings: Settings, storage: Storage, pipeline: Pipeline): Search {
  const { models, latencies, queryEmbedder, catalog } = pipeline;
  const wordList = ModelVocabulary.load();
  return new Search({
    reader: storage.reader,
    clock,
    getIndex: (collectionId, generation) => storage.indexes.get(collectionId, generation),
    findExpired: (collectionId) => storage.documents.listExpiredVersions(collectionId, clock.now()),
    decodeVectors: dequantize,
    mayDegrade: settings.withoutModel === 'degrade',
    isKnownWord: settings.typoTolerance === 'on' ? (word) => wordList.hasWord(word) : null,
    models: {
      embed: ({ collectionId, model, text, shared }) =>
        queryEmbedder.embed({ collectionId, model: catalog.getForCollection(model).id, text, shared }),
      rerank: async (model, query, texts) => {
        const rerank = () => models.rerank(model, query, texts, { priority: 'query' });
        return (await latencies.measure(catalog.getReranker(model).id, rerank)).scores;
      },
      measureRelevance: (query, texts) => models.measureRelevance(query, texts),
      rerankWeight: (model, query) => catalog.rerankWeight(model, wordList.computeFamiliarity(query)),
    },
  });
}

/** Returns a sentence with the reason why documents of a collection cannot be embedded now; null if they can. */
export function describeModelOutage(
  storage: Storage,
  catalog: ModelCatalog,
  collectionId: string,
): string | null {
  const collection = storage.collections.findById(collectionId);
  if (collection !== undefined && hasOwnVectors(collection)) return null;
  try {
    const { id, backend: runs } = catalog.getForCollection(collection?.model);
    const problem = runs !== 'built-in' && 'provider' in runs ? runs.provider.health.lastError : null;
    return problem === null ? null : new ModelUnavailableError(id, problem, { retryAfterMs: 0 }).message;
  } catch (error) {
    if (error instanceof ModelUnavailableError) return error.message;
    throw error;
  }
}
