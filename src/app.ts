import { join } from 'node:path';
import { Authenticator } from './access/authenticate.ts';
import { type Operation, operationNeeds } from './access/authorise.ts';
import { FairTurns } from './access/fair-turns.ts';
import { KeptBuckets } from './access/kept-buckets.ts';
import { ModelAdmission } from './access/model-admission.ts';
import { Quotas } from './access/quotas.ts';
import { RateLimiter } from './access/rate-limit.ts';
import { systemTimer } from './access/timer.ts';
import { firstStart } from './accounts/first-start.ts';
import { gitHubProvider, openIdProvider, type ProviderSettings } from './accounts/identity-providers.ts';
import { Invitations } from './accounts/invitations.ts';
import { KeyRing } from './accounts/key-ring.ts';
import { MagicLinks } from './accounts/magic-links.ts';
import { Mail } from './accounts/mail.ts';
import { Memberships } from './accounts/memberships.ts';
import { OrganisationDirectory } from './accounts/organisation-directory.ts';
import { OrganisationOperations } from './accounts/organisation-operations.ts';
import { OrganisationRemoval } from './accounts/organisation-removal.ts';
import { People } from './accounts/people.ts';
import { ProviderOperations } from './accounts/provider-operations.ts';
import { Sessions } from './accounts/sessions.ts';
import { SignInOperations } from './accounts/sign-in-operations.ts';
import { tiersOf } from './accounts/tiers.ts';
import { UserOperations } from './accounts/user-operations.ts';
import { AuditLog } from './audit/audit-log.ts';
import { Refusals } from './audit/refusals.ts';
import { systemClock } from './base/clock.ts';
import { systemChance } from './base/ids.ts';
import { limits } from './base/limits.ts';
import { createLogger, type Logger } from './base/logger.ts';
import { Metrics } from './base/metrics.ts';
import { ModelUnavailable } from './base/model-unavailable.ts';
import { derivedSecret } from './base/operator-proof.ts';
import { heldBytes } from './base/process-memory.ts';
import { Turns } from './base/turns.ts';
import type { Settings } from './config/schema.ts';
import { CollectionIndex } from './engine/collection-index.ts';
import type { AccountServices } from './http/account-routes.ts';
import { Door, type RefusalFact } from './http/handle.ts';
import { defaultBounds, openDoor } from './http/listen.ts';
import { isLoopback } from './http/origin.ts';
import type { Readiness } from './http/pages.ts';
import { routes } from './http/routes.ts';
import type { Services } from './http/services.ts';
import type { CataloguedEmbedding, ModelCatalogue } from './models/catalogue.ts';
import { embedChunks } from './models/chunk-vectors.ts';
import { breakerStates } from './models/circuit-breaker.ts';
import { dotWithCodes } from './models/codes.ts';
import { toDimensions } from './models/dimensions.ts';
import { KnownWords } from './models/known-words.ts';
import type { Embedder } from './models/model.ts';
import { noteUse } from './models/model-use.ts';
import { folderStamp } from './models/models-folder.ts';
import { type CatalogueParts, openCatalogue, placedModels } from './models/open-catalogue.ts';
import { vectorsOfPages } from './models/page-vectors.ts';
import { defaultEmbeddingModel, embeddingModel, openBuiltInEmbedder } from './models/registry.ts';
import type { StaticEmbedder } from './models/static-embedder.ts';
import { type OpenedTools, openTools } from './parsing/open-tools.ts';
import { hasPageImages } from './parsing/parse-task.ts';
import { ParserProcesses } from './parsing/parser-processes.ts';
import { answerToolCall } from './parsing/tool-line.ts';
import { Admission } from './pipeline/admission.ts';
import { ChunkBatches } from './pipeline/chunk-batches.ts';
import { DerivedFiles } from './pipeline/derived-files.ts';
import type { DocumentEvent } from './pipeline/document-event.ts';
import { DocumentProgress } from './pipeline/document-progress.ts';
import { DocumentWriter } from './pipeline/document-writer.ts';
import { FileReader } from './pipeline/file-reader.ts';
import { type Chore, Housekeeping } from './pipeline/housekeeping.ts';
import { Indexes } from './pipeline/indexes.ts';
import { Ingest } from './pipeline/ingest.ts';
import { type DocumentModel, IngestSteps } from './pipeline/ingest-steps.ts';
import { KeyedLock } from './pipeline/keyed-lock.ts';
import { registerPipelineMetrics } from './pipeline/metrics.ts';
import { ModelChanges } from './pipeline/model-changes.ts';
import { ModelFolderWatch } from './pipeline/model-folder-watch.ts';
import { ModelRunner } from './pipeline/model-runner.ts';
import { PageImages } from './pipeline/page-images.ts';
import { Pool, type TaskPriority } from './pipeline/pools.ts';
import { QueryEmbedder } from './pipeline/query-embedder.ts';
import { StoredVectors, type VectorMaker, vectorRenewal } from './pipeline/stored-vectors.ts';
import { Switchboard } from './pipeline/switchboard.ts';
import type { Principal } from './schemas/principal.ts';
import { parseFilter } from './search/filter.ts';
import { Search } from './search/search.ts';
import { Addresses } from './services/addresses.ts';
import { AdminService } from './services/admin.ts';
import { CollectionServices } from './services/collections.ts';
import { DocumentServices } from './services/documents.ts';
import { FileServices } from './services/files.ts';
import { Inspection } from './services/inspection.ts';
import { ModelService } from './services/models.ts';
import { ParserServices } from './services/parsers.ts';
import { QueryServices } from './services/queries.ts';
import { StatusServices } from './services/status.ts';
import { UsageService } from './services/usage.ts';
import { ChangeLog, LiveVersions } from './store/changes.ts';
import { Collections, generationOf, hasOwnVectors, ownVectors, type VectorSet } from './store/collections.ts';
import { Contents } from './store/content.ts';
import { Counts } from './store/counts.ts';
import { type DataDirectory, openDataDirectory } from './store/data-directory.ts';
import { Documents } from './store/documents.ts';
import { Sequence } from './store/sequence.ts';
import { issueToken } from './store/tokens.ts';
import { VersionReader } from './store/version-reader.ts';
import { Versions } from './store/versions.ts';
import { UsageLedger } from './usage/ledger.ts';
import { UsageMeter } from './usage/meter.ts';

/** Tasks that may wait for one of the pools. */
const poolTasksMax = 4_096;
/** Bytes of JSON bodies in memory at one time. */
const jsonBytesHeldMax = 1_000_000_000;
/** Operations that bring documents in: refused before their body is read when there is no room. */
const documentOperations: ReadonlySet<Operation> = new Set([
  'add-document',
  'add-documents',
  'put-document',
  'upload-document',
]);
const apiVersion = '0.1.0';
/** Where `/` leads, and whoever signs in. */
const home = '/docs';

const clock = systemClock;
const chance = systemChance;
const turns = new Turns(clock);

/** A running server. */
export interface App {
  readonly port: number;
  readonly httpServer: 'uws' | 'node';
  /** The first organisation of the installation, which the keys of `newKey` and QUARRY_API_KEY belong to. */
  readonly organizationId: string;
  /** A key that was issued just now and will never be shown again; null when there was one. */
  readonly newKey: string | null;
  /** Signs in as an owner of the first organisation, once. */
  readonly signInUrl: string;
  /** Resolves when every collection is loaded and the server is ready; rejects when one cannot be loaded. */
  readonly loaded: Promise<void>;
  /** Finishes what runs, writes what is left and frees everything. Twice is once. */
  close(): Promise<void>;
}

/** The memory of queries is mostly for texts; a vector is small beside those that it finds. */
function cacheBytes({ queryCacheBytes }: Settings): { readonly texts: number; readonly vectors: number } {
  const vectors = Math.floor(queryCacheBytes / 8);
  return { texts: queryCacheBytes - vectors, vectors };
}

/** Everything that reads or writes one data directory. */
async function buildStorage(settings: Settings, data: DataDirectory, logger: Logger) {
  const { store } = data;
  const reads = { versions: new Versions(store), contents: new Contents(store) };
  // What knows the answer is built later.
  const hooks = { isGone: (_organizationId: string) => false };
  const parts = {
    ...reads,
    hooks,
    reader: new VersionReader({
      ...reads,
      fileToken: (documentId) => issueToken(data.secret, { kind: 'file', documentId }),
      bytesMax: cacheBytes(settings).texts,
    }),
    sequence: await Sequence.open(store),
    changes: new ChangeLog(store),
    live: new LiveVersions(store),
    collections: new Collections(store),
    documents: new Documents(store),
    counts: new Counts(store),
    meter: new UsageMeter({ store, clock, logger, isGone: (id) => hooks.isGone(id) }),
  };
  CollectionIndex.useKernels(settings.engineKernels);
  CollectionIndex.useSearchThreads(settings.searchThreads);
  CollectionIndex.useSearchRecall(settings.searchRecall / 1000);
  const indexes = new Indexes({ ...parts, folder: data.indexPath, retireMs: limits.garbageDelayMs, logger });
  return {
    ...parts,
    store,
    blobs: data.blobs,
    space: data.space,
    blobsFolder: join(data.path, 'blobs'),
    indexes,
  };
}
type Storage = Awaited<ReturnType<typeof buildStorage>>;

function buildPools(settings: Settings, processes: ParserProcesses, tools: OpenedTools, logger: Logger) {
  const pool = (name: Pool['name'], threads: number) =>
    new Pool({
      name,
      threads,
      queueTasksMax: poolTasksMax,
      onMessage: (message) => {
        if (!answerToolCall(tools.desk, message)) processes.accept(message);
      },
      onTrouble: (error) => logger.error({ pool: name, error: String(error) }, 'an idle worker failed'),
    });
  return {
    parse: pool('parse', settings.parseThreads),
    draw: pool('draw', 1),
    chunk: pool('chunk', settings.chunkThreads),
    embed: pool('embed', settings.embedThreads),
    rerank: pool('rerank', settings.rerankThreads),
  };
}
type Pools = ReturnType<typeof buildPools>;

interface PipelineParts {
  readonly storage: Storage;
  readonly pools: Pools;
  readonly made: DerivedFiles;
  readonly tools: OpenedTools;
  /** The built-in model for short queries, in this thread. */
  readonly embedder: StaticEmbedder;
  readonly catalogue: ModelCatalogue;
  readonly logger: Logger;
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
 * Documents that are indexed for each chunk thread: while one is cut, others are written and put into the shards. More
 * take in hardly more text and let searches wait longer, since what becomes ready together is finished together.
 */
const indexingPerThread = 16;

function parseLimitsOf(settings: Settings) {
  return {
    fileBytesMax: settings.uploadBytesMax,
    totalMsMax: settings.parseSecondsMax * 1_000,
    idleMsMax: settings.parseStallSeconds * 1_000,
    ocrPagesMax: settings.ocrPagesMax,
    ocrPageMsMax: settings.ocrPageSecondsMax * 1_000,
    ocrMsMax: settings.ocrSecondsMax * 1_000,
    convertMsMax: settings.officeSecondsMax * 1_000,
  };
}

/** What happens to documents and queries between the door and the shards. */
async function buildPipeline(settings: Settings, parts: PipelineParts) {
  const { storage, pools, made, tools, embedder, catalogue, logger } = parts;
  const models = new ModelRunner(pools, catalogue, (model, error) => {
    logger.error({ model, error: String(error) }, 'a model failed');
  });
  const queryEmbedder = new QueryEmbedder({
    inline: embedder,
    inlineModel: defaultEmbeddingModel,
    inlineUnitsMax: embeddingModel(defaultEmbeddingModel).inlineQueryUnitsMax,
    pooled: (texts, model) => models.embed(texts, 'query', { model, priority: 'query' }),
    runsMax: (model) => (isFileModel(catalogue.embedding(model)) ? settings.embedThreads : null),
    bytesMax: cacheBytes(settings).vectors,
  });
  const parseLimits = parseLimitsOf(settings);
  const shared = {
    ...storage,
    switchboard: new Switchboard(storage),
    locks: new KeyedLock(),
    clock,
    chance,
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
    madeFolder: made.folder,
    hasPageImages: (kind) => hasPageImages(kind, tools.desk.hasOffice),
    clock,
  });
  const ingest = await Ingest.open({
    store: storage.store,
    progress,
    steps,
    ...{ clock, turns, logger },
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
  const admission = new Admission({
    space: storage.space,
    queue: ingest,
    queueDocumentsMax: settings.queueDocumentsMax,
    heldBytes,
    clock,
    memoryBytesMax: settings.memoryBytesMax,
  });
  const modelChanges = new ModelChanges({
    ...storage,
    ...{ vectors, makerOf, logger },
    renewed: (mark) => catalogue.renewed(mark),
    checkRoom: () => admission.checkRoom(),
  });
  return { models, queryEmbedder, catalogue, parseLimits, ingest, writer, admission, modelChanges };
}
type Pipeline = Awaited<ReturnType<typeof buildPipeline>>;

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

function buildSearch(settings: Settings, storage: Storage, pipeline: Pipeline): Search {
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
function modelTrouble(storage: Storage, catalogue: ModelCatalogue, collectionId: string): string | null {
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

interface ServiceParts {
  readonly settings: Settings;
  readonly data: DataDirectory;
  readonly storage: Storage;
  readonly pools: Pools;
  readonly pipeline: Pipeline;
  readonly organisations: OrganisationDirectory;
  readonly keys: KeyRing;
  readonly audit: AuditLog;
  readonly endOrganisation: OrganisationRemoval['begin'];
  /** Clears away the deleted collections that are due. */
  readonly sweep: () => Promise<void>;
  readonly gate: ModelAdmission;
  readonly quotas: Quotas;
  /** What limits remember of an organisation. */
  readonly forget: (organizationId: string) => Promise<void>;
  readonly images: PageImages;
  readonly made: DerivedFiles;
}

/** The use cases of retrieval, and how everything that an organisation stored is deleted. */
interface RetrievalServices {
  readonly services: Services;
  readonly removeData: (organizationId: string) => Promise<boolean>;
}

function buildServices(parts: ServiceParts): RetrievalServices {
  const { settings, data, storage, pipeline, organisations, keys, audit, gate, quotas, images } = parts;
  const { meter, indexes } = storage;
  const { catalogue } = pipeline;
  const addresses = new Addresses(data.secret);
  const collections = new CollectionServices({
    ...storage,
    clock,
    chance,
    model: catalogue.embeddingDefault,
    modelNamed: (name) => catalogue.embedding(name),
    lifecycle: {
      modelChanged: ({ collectionId }) => pipeline.modelChanges.look(collectionId),
      open: (collection) => indexes.open(collection),
      remove: ({ collectionId }) => {
        pipeline.ingest.abandonCollection(collectionId);
        pipeline.modelChanges.look(collectionId);
        return indexes.remove(collectionId);
      },
    },
  });
  const documents = new DocumentServices({
    ...storage,
    ...pipeline,
    addresses,
    ...{ clock, turns },
    waitsFor: (collectionId) => modelTrouble(storage, catalogue, collectionId),
    quotas,
    fileBytesMax: settings.uploadBytesMax,
    metadataBytesMax: (organizationId) => organisations.limitsOf(organizationId).metadataBytesMax,
  });
  const queries = queryServices(parts, addresses);
  const files = new FileServices({ ...storage, images, secret: data.secret });
  const status = new StatusServices({
    ...storage,
    clock,
    waitsFor: (collectionId) => modelTrouble(storage, catalogue, collectionId),
    firstModel: defaultEmbeddingModel,
    parsingIn: (collectionId) => pipeline.ingest.parsingIn(collectionId),
    changeOf: (collection) => pipeline.modelChanges.progressOf(collection),
  });
  const parsers = parserServices(parts);
  const models = modelService({ pipeline, gate, meter });
  const admin = new AdminService({
    ...{ organisations, keys, audit, end: parts.endOrganisation },
    storageOf: storageOf(quotas, pipeline),
  });
  const inspection = inspectionOf(parts);
  const ledger = new UsageLedger({ store: storage.store, clock });
  const usage = new UsageService({ meter, ledger, collections: storage.collections });
  const rooms = { collections, documents, queries, files, status, parsers, models, admin, inspection, usage };
  return {
    services: bindServices(rooms),
    removeData: async (organizationId) => {
      await collections.deleteAllOf(organizationId);
      await parts.sweep();
      const waiting = await storage.collections.tombstones();
      if (waiting.some((tombstone) => tombstone.organizationId === organizationId)) return false;
      await ledger.forget(organizationId);
      await parts.forget(organizationId);
      return true;
    },
  };
}

function queryServices({ settings, storage, pipeline }: ServiceParts, addresses: Addresses): QueryServices {
  return new QueryServices({
    ...storage,
    search: buildSearch(settings, storage, pipeline),
    addresses,
    clock,
    turns: queryTurns(settings),
    rerankModels: () => pipeline.catalogue.rerankerNames,
    rerankerDefault: settings.reranker,
    embedModel: defaultEmbeddingModel,
  });
}

function parserServices({ settings, storage, pools, pipeline, made }: ServiceParts): ParserServices {
  const { blobsFolder: folder } = storage;
  const { parseLimits } = pipeline;
  const reader = new FileReader({ pool: pools.parse, folder, madeFolder: made.folder, parseLimits, chance });
  const turns = parserTurns(settings);
  return new ParserServices({ reader, turns, fileBytesMax: settings.uploadBytesMax, clock });
}

function inspectionOf({
  data,
  storage,
  made,
  audit,
}: Pick<ServiceParts, 'data' | 'storage' | 'made' | 'audit'>) {
  const { store, blobs } = storage;
  return new Inspection({ store, blobs, audit, indexFolder: data.indexPath, madeFolder: made.folder });
}

function queryTurns({ queriesRunningMax, rerankedQueriesRunningMax }: Settings) {
  const [waitingMax, what] = [limits.queriesWaitingMax, 'queries'];
  return {
    plain: new FairTurns({ runningMax: queriesRunningMax, waitingMax, what }),
    reranked: new FairTurns({ runningMax: rerankedQueriesRunningMax, waitingMax, what }),
  };
}

/** As many as the documents that are read to be stored: so each of both gets half of the parsers. */
function parserTurns({ parseThreads: runningMax }: Settings): FairTurns {
  return new FairTurns({ runningMax, waitingMax: limits.queriesWaitingMax, what: 'files' });
}

/** What an organisation stores, as replies show it. */
function storageOf(quotas: Quotas, { ingest }: Pick<Pipeline, 'ingest'>) {
  return async (organizationId: string) => ({
    ...(await quotas.stored(organizationId)),
    ingest_documents: ingest.depthOf(organizationId),
  });
}

/** What the limits of organisations leave them, over restarts. */
function buildQuotas(
  { store, collections, counts }: Storage,
  { ingest }: Pick<Pipeline, 'ingest'>,
  { organisations, logger }: { readonly organisations: OrganisationDirectory; readonly logger: Logger },
) {
  const kept = new KeptBuckets({ store, clock, logger });
  const limiter = new RateLimiter(clock, kept);
  kept.start((organizationId, limit) => limiter.balance(organizationId, limit));
  const limitsOf = (organizationId: string) => organisations.limitsOf(organizationId);
  const quotas = new Quotas({
    limitsOf,
    limiter,
    collectionsOf: async (organizationId) =>
      (await collections.list(organizationId)).map(({ collectionId }) => collectionId),
    storedIn: (collectionId) => {
      const { documents, storedBytes } = counts.get(collectionId);
      return { documents: Object.values(documents).reduce((sum, each) => sum + each, 0), bytes: storedBytes };
    },
    ingesting: (organizationId) => ingest.depthOf(organizationId),
  });
  const gate = new ModelAdmission({ limitsOf, limiter, clock, timer: systemTimer });
  const forget = async (organizationId: string): Promise<void> => {
    limiter.forget(organizationId);
    await store.write(await kept.endAll(organizationId), { mayUseReserve: true });
  };
  return { kept, quotas, gate, forget };
}

function modelService({
  pipeline,
  gate,
  meter,
}: Pick<ServiceParts, 'pipeline' | 'gate'> & Pick<Storage, 'meter'>): ModelService {
  const { catalogue } = pipeline;
  return new ModelService({
    runs: pipeline.models,
    gate,
    meter,
    clock,
    catalogue: {
      dimensionsOf: (id, asked) => catalogue.dimensionsOf(id, asked),
      checkReranker: (id) => {
        catalogue.reranker(id);
      },
      toDimensions,
    },
  });
}

/** The use cases, by the names of their operations. */
interface ServiceRooms {
  readonly collections: CollectionServices;
  readonly documents: DocumentServices;
  readonly queries: QueryServices;
  readonly files: FileServices;
  readonly status: StatusServices;
  readonly parsers: ParserServices;
  readonly models: ModelService;
  readonly admin: AdminService;
  readonly inspection: Inspection;
  readonly usage: UsageService;
}

function bindServices(rooms: ServiceRooms): Services {
  const { collections, documents, queries, files, status, parsers, models, admin, inspection, usage } = rooms;
  return {
    addCollection: (call, request) => collections.addCollection(call, request),
    deleteCollection: (call, request) => collections.deleteCollection(call, request),
    updateCollection: (call, request) => collections.updateCollection(call, request),
    changeModel: (call, request) => collections.changeModel(call, request),
    getCollectionList: (call) => collections.getCollectionList(call),
    addDocument: (call, request) => documents.addDocument(call, request),
    addDocuments: (call, request) => documents.addDocuments(call, request),
    uploadDocument: (call, parameters, body) => documents.uploadDocument(call, parameters, body),
    updateDocument: (call, request) => documents.updateDocument(call, request),
    deleteDocument: (call, request) => documents.deleteDocument(call, request),
    getDocumentInfo: (call, request) => documents.getDocumentInfo(call, request),
    getDocumentInfoList: (call, request) => documents.getDocumentInfoList(call, request),
    getPageInfo: (call, request) => documents.getPageInfo(call, request),
    getDocumentFile: (call, token) => files.getDocumentFile(call, token),
    getPageImage: (call, token, width) => files.getPageImage(call, token, width),
    getStatus: (call, request) => status.getStatus(call, request),
    topDocuments: (call, request) => queries.topDocuments(call, request),
    topPages: (call, request) => queries.topPages(call, request),
    topSnippets: (call, request) => queries.topSnippets(call, request),
    parseDocument: (call, request) => parsers.parseDocument(call, request),
    embed: (call, request) => models.embed(call, request),
    rerank: (call, request) => models.rerank(call, request),
    openAiEmbeddings: (call, request) => models.openAiEmbeddings(call, request),
    cohereRerank: (call, request) => models.cohereRerank(call, request),
    createOrganization: (call, request) => admin.createOrganization(call, request),
    getOrganization: (call, request) => admin.getOrganization(call, request),
    updateOrganization: (call, request) => admin.updateOrganization(call, request),
    addApiKey: (call, request) => admin.addApiKey(call, request),
    listApiKeys: (call, request) => admin.listApiKeys(call, request),
    updateApiKey: (call, request) => admin.updateApiKey(call, request),
    deleteApiKey: (call, request) => admin.deleteApiKey(call, request),
    deleteOrganization: (call, request) => admin.deleteOrganization(call, request),
    inspectOrganization: (call, request) => inspection.inspectOrganization(call, request),
    getAuditLog: (call, request) => admin.getAuditLog(call, request),
    usageDocuments: (call, request) => usage.documents(call, request),
    usageQueries: (call, request) => usage.queries(call, request),
    usageReranker: (call, request) => usage.reranker(call, request),
    usageEmbed: (call, request) => usage.embed(call, request),
    usageModelsCounters: (call) => usage.modelsCounters(call),
    usageCounters: (call) => usage.counters(call),
  };
}

interface LoadProgress {
  loaded: number;
  all: number;
  done: boolean;
}

/** Counts what an earlier build did not, once, before anything is written. */
async function countWhole({ counts, store }: Storage, collectionId: string): Promise<void> {
  if (!counts.isPartial(collectionId)) return;
  await store.write([counts.put(collectionId, await counts.recount(collectionId))], { mayUseReserve: true });
}

/** Loads every collection, then lets the pipeline work. */
async function load(
  storage: Storage,
  pipeline: Pipeline,
  progress: LoadProgress,
  logger: Logger,
): Promise<void> {
  const collections = await storage.collections.all();
  progress.all = collections.length;
  const started = clock.monotonic();
  for (const collection of collections) {
    await countWhole(storage, collection.collectionId);
    await storage.indexes.open(collection);
    progress.loaded += 1;
  }
  pipeline.ingest.start();
  await pipeline.modelChanges.start();
  progress.done = true;
  const ms = Math.round(clock.monotonic() - started);
  logger.info({ collections: collections.length, unfinished: pipeline.ingest.depth, ms }, 'ready');
}

/** What `/readyz` says: the parts of the server, and which optional tools this machine has. */
function readiness(
  isLoaded: boolean,
  {
    data,
    tools: { states },
    catalogue,
  }: { data: DataDirectory; tools: OpenedTools; catalogue: ModelCatalogue },
): Readiness {
  // None of them is needed, so what is missing leaves the server ready.
  const tools = states().map(({ name, detail }) => [name, { ready: true, detail }] as const);
  // A service that is away leaves the server ready: documents wait, and queries say that they do without.
  const services = catalogue.providers().map(({ kind, model, state, trouble }) => {
    const detail = `circuit breaker ${state}${trouble === null ? '' : `, ${trouble}`}`;
    return [`${kind} service ${model}`, { ready: trouble === null, detail }] as const;
  });
  return {
    ready: isLoaded,
    components: {
      store: { ready: true, detail: `${data.store.statistics().pendingWrites} writes on their way` },
      disk: { ready: true, detail: `${data.space.freeBytes} bytes free` },
      collections: { ready: isLoaded, detail: isLoaded ? 'loaded' : 'loading' },
      models: { ready: true, detail: modelsDetail(catalogue) },
      ...Object.fromEntries(services),
      ...Object.fromEntries(tools),
    },
  };
}

function modelsDetail(catalogue: ModelCatalogue): string {
  const added = catalogue.added();
  const others = added.length === 0 ? '' : `; added: ${added.join(', ')}`;
  return `new collections use ${catalogue.embeddingDefault.id}${others}`;
}

/** Things that were opened and how to close them, last opened first. */
class Opened {
  readonly #closers: (() => unknown)[] = [];
  #closing: Promise<void> | null = null;

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Closes all even when one fails; then rejects with the first failure. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closers.reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Builds every room, opens the door and begins to load; the door answers 503 until that is done. */
export async function startApp(settings: Settings): Promise<App> {
  const opened = new Opened();
  try {
    return await openApp(settings, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function openApp(settings: Settings, opened: Opened): Promise<App> {
  const logger = createLogger(settings.logLevel);
  const metrics = new Metrics();
  const retrieval = await openRetrieval(settings, opened, logger, metrics);
  const { data, storage, pools, pipeline, images, made, tools, housekeeping, modelWatch } = retrieval;
  const rooms = buildAccountRooms(settings, data, logger);
  opened.add(() => rooms.mail.close());
  opened.add(() => rooms.sessions.close());
  opened.add(() => rooms.keys.writeUses());
  opened.add(() => rooms.refusals.close());
  const { organisations, keys, audit } = rooms;
  retrieval.hooks.mayQuote = () => organisations.mayQuote;
  storage.hooks.isGone = (id) => organisations.find(id) === undefined;
  const sweep = () => housekeeping.sweep();
  const { kept, quotas, gate, forget } = buildQuotas(storage, pipeline, { organisations, logger });
  opened.add(() => kept.close());
  const { memoryBytesMax } = settings;
  registerPipelineMetrics({ ...storage, ...pipeline, metrics, pools: Object.values(pools), memoryBytesMax });
  const endOrganisation: OrganisationRemoval['begin'] = (id, by) => removal.begin(id, by);
  const { services, removeData } = buildServices({
    ...{ settings, data, storage, pools, pipeline, organisations, keys, audit, sweep, gate, quotas, forget },
    ...{ images, made, endOrganisation },
  });
  const removal = new OrganisationRemoval({ ...rooms, removeData, logger });
  opened.add(() => removal.close());
  // Before that: a removal waits for the sweep that it asked for.
  opened.add(() => housekeeping.close());
  /** Known when the door is open. */
  const installation = { url: '', organizationId: '' };
  const accounts = buildAccounts(settings, {
    ...{ data, rooms, removal, installation },
    storageOf: storageOf(quotas, pipeline),
  });
  const progress: LoadProgress = { loaded: 0, all: 0, done: false };
  const door = buildDoor(settings, {
    ...{ data, tools, rooms, services, accounts, pipeline, quotas, progress, metrics, logger },
  });
  const { host, port, http, drainSeconds } = settings;
  const listening = await openDoor({ door, kind: http, host, port, bounds: defaultBounds, logger });
  opened.add(() => listening.close(drainSeconds * 1_000));
  // After the door, which may be refused its address: a key that is issued must also get to be shown.
  const first = await firstStart({ organisations, keys, chance, operatorKey: settings.apiKey });
  warnOfPlainHttp(settings, logger);
  installation.url = settings.baseUrl ?? localUrl(host, listening.port);
  installation.organizationId = first.organizationId;
  const loaded = load(storage, pipeline, progress, logger).then(async () => {
    await modelWatch.start();
    housekeeping.start(accountChores(settings, rooms, accounts));
    await removal.start();
  });
  return {
    port: listening.port,
    httpServer: listening.kind,
    ...first,
    signInUrl: (await accounts.signIn.operatorLink()).url,
    loaded,
    close: () => opened.close(),
  };
}

interface DoorParts {
  readonly data: DataDirectory;
  readonly tools: OpenedTools;
  readonly rooms: AccountRooms;
  readonly services: Services;
  readonly accounts: AccountServices;
  readonly pipeline: Pipeline;
  readonly quotas: Quotas;
  readonly progress: LoadProgress;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

function buildDoor(settings: Settings, parts: DoorParts): Door {
  const { data, tools, rooms, services, accounts, pipeline, quotas, progress, metrics, logger } = parts;
  const { organisations } = rooms;
  const { adminKey, adminPasswordHash } = settings;
  return new Door({
    routes,
    services,
    accounts,
    identity: new Authenticator({ ...rooms, clock, adminKey, hasAdminPassword: adminPasswordHash !== null }),
    guards: {
      admit: (principal, operation) => {
        quotas.admit(principal, operation);
        if (principal?.kind === 'organisation' && documentOperations.has(operation))
          pipeline.admission.check(principal.organizationId);
      },
      refused: (fact) => noteRefusal(rooms, fact),
    },
    metadataBytesMax: (principal) => organisations.limitsOf(principal.organizationId).metadataBytesMax,
    notReady: () =>
      progress.done
        ? null
        : `The server is loading: ${progress.loaded} of ${progress.all} collections are ready.`,
    readiness: () => readiness(progress.done, { data, tools, catalogue: pipeline.catalogue }),
    metrics,
    settings: doorSettings(settings),
    logger,
    clock,
    chance,
    version: apiVersion,
  });
}

/** What members may not do in their organisation is noted where that is decided. */
function noteRefusal({ refusals }: AccountRooms, { principal, operation, address }: RefusalFact): void {
  if (principal?.kind === 'person' && operationNeeds[operation] === 'person') return;
  const organizationId = principal?.kind === 'organisation' ? principal.organizationId : null;
  const actor = actorOf(principal);
  refusals.note({ organizationId, actor, address, target: operation, action: 'access.denied' });
}

/** As the audit log names them. */
function actorOf(principal: Principal | null): string | null {
  switch (principal?.kind) {
    case undefined:
      return null;
    case 'organisation':
      return `key:${principal.keyId}`;
    case 'administrator':
      return 'administrator';
    case 'person':
      return principal.userId;
  }
}

/** Whoever can read the network between could take the sessions of people who sign in. */
function warnOfPlainHttp({ host, baseUrl }: Settings, logger: Logger): void {
  if (isLoopback(host) || host === 'localhost' || baseUrl?.startsWith('https:')) return;
  const hint = 'people sign in over plain http: cookies lose Secure and __Host-; see QUARRY_BASE_URL';
  logger.warn({ host, baseUrl }, hint);
}

/** Where this machine itself reaches the server. */
function localUrl(host: string, port: number): string {
  const any: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  return `http://${any[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}`;
}

/** Everything that keeps people, organisations and keys. */
function buildAccountRooms(settings: Settings, { store, secret }: DataDirectory, logger: Logger) {
  const audit = new AuditLog({ store, clock, chance });
  const parts = { store, clock, chance, audit };
  return {
    audit,
    refusals: new Refusals({ audit, clock, logger }),
    organisations: new OrganisationDirectory({ ...parts, tiers: tiersOf(settings) }),
    keys: new KeyRing({ ...parts, checkFilter: parseFilter }),
    people: new People(parts),
    sessions: new Sessions({ ...parts, logger }),
    memberships: new Memberships(parts),
    invitations: new Invitations({ ...parts, secret: derivedSecret(secret, 'invitations') }),
    links: new MagicLinks(parts),
    mail: new Mail({
      ...parts,
      url: settings.mailUrl,
      from: settings.mailFrom,
      logger,
      print: (text) => process.stdout.write(`${text}\n`),
    }),
  };
}

type AccountRooms = ReturnType<typeof buildAccountRooms>;

interface AccountParts {
  readonly data: DataDirectory;
  readonly rooms: AccountRooms;
  readonly removal: OrganisationRemoval;
  readonly installation: { readonly url: string; readonly organizationId: string };
  readonly storageOf: ReturnType<typeof storageOf>;
}

function buildAccounts(
  settings: Settings,
  { data, rooms, removal, installation, storageOf }: AccountParts,
): AccountServices {
  const linkBase = () => installation.url;
  return {
    providers: new ProviderOperations({
      ...rooms,
      store: data.store,
      clock,
      chance,
      linkBase,
      home,
      providers: identityProviders(settings),
    }),
    users: new UserOperations(rooms),
    organisations: new OrganisationOperations({
      ...rooms,
      clock,
      chance,
      linkBase,
      end: (organizationId, by) => removal.begin(organizationId, by),
      storageOf,
    }),
    signIn: new SignInOperations({
      ...rooms,
      store: data.store,
      clock,
      chance,
      secret: data.secret,
      adminPasswordHash: settings.adminPasswordHash,
      linkBase,
      home,
      firstOrganizationId: () => installation.organizationId,
    }),
  };
}

/** Null for those that are not configured. */
function identityProviders(settings: Settings) {
  const configured = (name: 'google' | 'github', baseUrl: string): ProviderSettings | null => {
    const [clientId, clientSecret] = [settings[`${name}ClientId`], settings[`${name}ClientSecret`]];
    return clientId === null || clientSecret === null ? null : { clientId, clientSecret, baseUrl };
  };
  const google = configured('google', settings.oidcIssuer);
  const github = configured('github', settings.githubBaseUrl);
  return { google: google && openIdProvider(google), github: github && gitHubProvider(github) };
}

function accountChores(
  { auditDays }: Settings,
  { sessions, links, keys, audit }: AccountRooms,
  { providers }: AccountServices,
): Chore[] {
  const everyMs = limits.accountSweepMs;
  const old: Chore = {
    name: 'old entries of the audit log',
    everyMs: limits.auditSweepMs,
    work: (signal) => audit.forgetOlder(auditDays * 86_400_000, signal),
  };
  return [
    ...(auditDays === 0 ? [] : [old]),
    { name: 'uses of API keys', everyMs: limits.keyUseMs, work: () => keys.writeUses() },
    { name: 'sign-ins that nobody finished', everyMs, work: () => providers.sweep() },
    { name: 'ended sessions', everyMs, work: () => sessions.sweep() },
    { name: 'dead sign-in links', everyMs, work: () => links.sweep() },
  ];
}

/** Everything behind the door that needs closing, in the order in which it is opened. */
async function openRetrieval(settings: Settings, opened: Opened, logger: Logger, metrics: Metrics) {
  const data = await openDataDirectory({
    path: settings.data,
    reserveBytes: settings.diskReserveBytes,
    logger,
    chance,
    turns,
  });
  opened.add(() => data.close());
  const storage = await buildStorage(settings, data, logger);
  storage.meter.start();
  opened.add(() => storage.meter.close());
  opened.add(() => storage.indexes.close());
  const { made, tools } = await openTooling(settings, data, logger);
  opened.add(() => tools.desk.close());
  const processes = new ParserProcesses();
  const pools = buildPools(settings, processes, tools, logger);
  opened.add(async () => {
    await Promise.all(Object.values(pools).map((pool) => pool.close()));
    processes.killAll();
  });
  // What knows the answers is built later.
  const hooks = { mayQuote: () => false, goOn: (_model: string): void => {} };
  const catalogue = await openModels(settings, data, logger, {
    metrics,
    mayQuote: () => hooks.mayQuote(),
    onRecovered: (model) => hooks.goOn(model),
  });
  const embedder = await openBuiltInEmbedder(defaultEmbeddingModel);
  opened.add(() => embedder.close());
  const pipeline = await buildPipeline(settings, {
    ...{ storage, pools, made, tools, embedder, catalogue, logger },
  });
  opened.add(() => pipeline.ingest.close());
  hooks.goOn = (model) =>
    pipeline.ingest.hasten((collectionId) => storage.collections.byId(collectionId)?.model?.id === model);
  opened.add(() => pipeline.modelChanges.close());
  const images = new PageImages({
    pool: pools.draw,
    blobs: data.blobs,
    blobsFolder: storage.blobsFolder,
    files: made,
  });
  const snapshotMs = settings.snapshotSeconds * 1_000;
  const housekeeping = new Housekeeping({ ...storage, images: made, clock, logger, snapshotMs });
  opened.add(() => housekeeping.close());
  const modelWatch = watchModels(settings, { data, storage, pipeline, logger });
  opened.add(() => modelWatch.close());
  return { data, storage, pools, pipeline, hooks, images, made, tools, housekeeping, modelWatch };
}

/** What was made of files, and the programs that make it. */
async function openTooling(settings: Settings, data: DataDirectory, logger: Logger) {
  const made = await DerivedFiles.open({
    blobs: data.blobs,
    folder: join(data.cachePath, 'pages'),
    bytesMax: settings.pageCacheBytes,
    chance,
  });
  const { ocrEngine, ocrLanguages, office, parseThreads } = settings;
  const tools = await openTools({
    ...{ ocrEngine, ocrLanguages, converted: made },
    ocrDataFolder: settings.ocrDataFolder ?? null,
    office: office === 'auto',
    runningMax: parseThreads,
    folder: join(data.cachePath, 'tools'),
    freshName: () => chance.uuid(),
  });
  void tools.asked.then((states) => {
    logger.info(Object.fromEntries(states.map(({ name, detail }) => [name, detail])), 'optional tools');
  });
  return { made, tools };
}

/** Models that are added or removed while the server runs. */
function watchModels(
  settings: Settings,
  {
    data,
    storage,
    pipeline,
    logger,
  }: {
    readonly data: DataDirectory;
    readonly storage: Storage;
    readonly pipeline: Pipeline;
    readonly logger: Logger;
  },
): ModelFolderWatch {
  const { catalogue, modelChanges } = pipeline;
  return new ModelFolderWatch({
    ...storage,
    stamp: () => folderStamp(data.path),
    reload: async () => catalogue.replaceAdded(await placedModels({ data: data.path, settings })),
    onReloaded: async () => {
      logger.info({ models: catalogue.added() }, 'the models that were added have changed');
      await modelChanges.start();
    },
    added: () => catalogue.added(),
    note: (counts) => {
      const usual = [settings.embeddingModel, settings.reranker];
      const uses = [...counts].map(([id, collections]) => [id, { collections, usual: usual.includes(id) }]);
      return noteUse(data.path, Object.fromEntries(uses));
    },
    logger,
  });
}

/** Upper bounds of the seconds that requests to model services take. */
const serviceSeconds = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];

async function openModels(
  settings: Settings,
  data: DataDirectory,
  logger: Logger,
  { metrics, ...hooks }: { readonly metrics: Metrics } & Pick<CatalogueParts, 'mayQuote' | 'onRecovered'>,
): Promise<ModelCatalogue> {
  const count = metrics.counter({
    name: 'quarry_model_requests_total',
    help: 'Requests to model services, by how they ended.',
    labels: ['model', 'outcome'],
  });
  const time = metrics.histogram(
    { name: 'quarry_model_request_seconds', help: 'Seconds they took.', labels: ['model'] },
    serviceSeconds,
  );
  const catalogue = await openCatalogue({
    settings,
    data: data.path,
    clock,
    random: () => new DataView(Uint8Array.from(chance.bytes(4)).buffer).getUint32(0) / 2 ** 32,
    logger,
    ...hooks,
    observe: (model, outcome, seconds) => {
      count({ model, outcome }, 1);
      time({ model }, seconds);
    },
  });
  metrics.gauges(
    {
      name: 'quarry_model_breaker',
      help: 'Circuit breakers of model services: 0 closed, 1 half-open, 2 open.',
      label: 'model',
    },
    () =>
      Object.fromEntries(
        catalogue.providers().map(({ model, state }) => [model, breakerStates.indexOf(state)]),
      ),
  );
  return catalogue;
}

function doorSettings(settings: Settings) {
  return {
    baseUrl: settings.baseUrl,
    trustProxy: settings.trustProxy,
    jsonBytesMax: settings.bodyBytesMax,
    jsonBytesHeldMax,
    uploadBytesMax: settings.uploadBytesMax,
    uploadsRunningMax: limits.uploadsRunningMax,
    bodyIdleMsMax: limits.bodyIdleMsMax,
    requestMsMax: limits.requestMsMax,
    home,
  };
}
