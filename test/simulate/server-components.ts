import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import type { ChunkTask } from '../../src/chunking/chunk-task.ts';
import { type ChunkProcessors, prepareDocument } from '../../src/chunking/prepare-document.ts';
import { BackgroundScheduler } from '../../src/core/async/background-scheduler.ts';
import { KeyedMutex } from '../../src/core/async/mutex.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { Random } from '../../src/core/ids.ts';
import { limits } from '../../src/core/limits.ts';
import { type Logger, silentLogger } from '../../src/core/logger.ts';
import { Indexes } from '../../src/index/indexes.ts';
import { type ChunkEmbedder, createVectorRenewal, StoredVectors } from '../../src/index/stored-vectors.ts';
import { VersionPublisher } from '../../src/index/version-publisher.ts';
import { DirectIndexer } from '../../src/ingest/direct-indexer.ts';
import { DocumentTransitions } from '../../src/ingest/document-transitions.ts';
import { DocumentWriter } from '../../src/ingest/document-writer.ts';
import { Ingest } from '../../src/ingest/ingest.ts';
import { IngestSteps } from '../../src/ingest/ingest-steps.ts';
import type { MemoryLimit } from '../../src/ingest/memory-limit.ts';
import { ModelChanges } from '../../src/ingest/model-changes.ts';
import { embedChunks } from '../../src/models/chunk-vectors.ts';
import type { Embedder } from '../../src/models/model.ts';
import { dequantize } from '../../src/models/quantization.ts';
import type { ParseOutcome, ParseTask } from '../../src/parsing/process/parse-task.ts';
import { ReplyParts } from '../../src/search/reply-parts.ts';
import { Search } from '../../src/search/search.ts';
import { Blobs } from '../../src/storage/blobs.ts';
import { ChangeFeeds } from '../../src/storage/change-feeds.ts';
import { ChangeLog, LiveVersions } from '../../src/storage/changes.ts';
import {
  type Collection,
  Collections,
  cancelVectorChange,
  getVectorState,
  startVectorChange,
  type VectorSet,
} from '../../src/storage/collections.ts';
import { Contents } from '../../src/storage/content.ts';
import { Counts } from '../../src/storage/counts.ts';
import { Documents } from '../../src/storage/documents.ts';
import { collectGarbage } from '../../src/storage/garbage.ts';
import { Sequence } from '../../src/storage/sequence.ts';
import type { FreeSpaceCheck, Store } from '../../src/storage/store.ts';
import { sweepCollections } from '../../src/storage/sweep.ts';
import { VersionHistory } from '../../src/storage/version-history.ts';
import { VersionReader } from '../../src/storage/version-reader.ts';
import { Versions } from '../../src/storage/versions.ts';
import type { Language } from '../../src/text/languages.ts';
import { analyzeChunks, encodeFineTerms } from '../../src/text/terms.ts';
import { copyFolder } from './copy-folder.ts';

/** Vector dimensions of the model of new collections. */
const dimensions = 8;

export interface ServerComponentsOptions {
  readonly store: Store;
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Text of a raw file, or null for an unreadable file; throws if the parser itself fails. */
  readonly parse: (rawHash: string) => Promise<string[] | null>;
  /** Refuses work while the disk has no space for results; unlimited by default. */
  readonly space?: FreeSpaceCheck;
  /** Never reached by default. */
  readonly memory?: Pick<MemoryLimit, 'isReached'>;
  /** Called before a document is chunked. */
  readonly onChunk?: (path: string) => Promise<void>;
  /** Memory limit for all documents being indexed concurrently. */
  readonly indexBytes?: number;
  readonly logger?: Logger;
  readonly mayLogContent?: () => boolean;
}

/** Signing secret of tokens. */
export const tokenSecret = new Uint8Array(32).fill(7);

/**
 * Opens the modules of the server without HTTP and with simple models: one of several successive processes on the
 * same data.
 */
export async function openServerComponents(options: ServerComponentsOptions) {
  const parts = await openStorage(options);
  const indexFolder = join(options.folder, 'index');
  mkdirSync(indexFolder, { recursive: true });
  const indexes = new Indexes({ ...parts, folder: indexFolder, retireMs: 50, logger: silentLogger });
  const context: ComponentContext = { options, parts, indexes };
  const { ingest, writer } = await openIngest(context);
  const modelChanges = createModelChanges(context);
  for (const collection of await parts.collections.listAll()) await indexes.open(collection);
  ingest.start();
  await modelChanges.start();
  const close = async () => {
    await modelChanges.close();
    await ingest.close();
    await indexes.close();
  };
  return {
    ...parts,
    indexes,
    ingest,
    writer,
    search: createSearch(context),
    ...collectionActions(context, { ingest, modelChanges }),
    close,
    async clean() {
      const { store, blobs } = parts;
      await collectGarbage({ store, blobs }, options.clock.now());
      await sweepCollections({ store, blobs }, options.clock.now());
      await blobs.deleteOrphans();
      await indexes.removeOrphans();
    },
    /** Frees the memory of a killed process; its files keep their content of that moment. */
    async simulateCrash() {
      const copiedFolder = join(options.folder, 'kept');
      copyFolder(indexFolder, copiedFolder);
      await close();
      rmSync(indexFolder, { recursive: true, force: true });
      copyFolder(copiedFolder, indexFolder);
      rmSync(copiedFolder, { recursive: true, force: true });
    },
  };
}
export type ServerComponents = Awaited<ReturnType<typeof openServerComponents>>;

interface ComponentContext {
  readonly options: ServerComponentsOptions;
  readonly parts: Awaited<ReturnType<typeof openStorage>>;
  readonly indexes: Indexes;
}

const unlimitedSpace: FreeSpaceCheck = { check() {} };

async function openStorage({
  store,
  folder,
  clock,
  random,
  space = unlimitedSpace,
}: ServerComponentsOptions) {
  const reads = { versions: new Versions(store), contents: new Contents(store) };
  const replyParts = new ReplyParts(200_000);
  const reader = new VersionReader({
    ...reads,
    dependent: replyParts,
    encodeFineTerms: (chunk) => encodeFineTerms(chunk, chunk.language as Language | null),
    bytesMax: 100_000,
    now: () => clock.now(),
  });
  const sequence = await Sequence.open(store);
  const documents = new Documents(store);
  const parts = {
    store,
    ...reads,
    reader,
    replyParts,
    sequence,
    changes: new ChangeLog(store),
    live: new LiveVersions(store),
    collections: new Collections(store),
    documents,
    history: new VersionHistory({ store, documents, reader, sequence, now: () => clock.now() }),
    counts: new Counts(store),
    feeds: new ChangeFeeds(store, random),
    blobs: await Blobs.open({ directory: join(folder, 'blobs'), store, random }),
  };
  return {
    ...parts,
    vectors: new StoredVectors({ ...parts, space }),
    scheduler: new BackgroundScheduler(clock),
  };
}

async function openIngest(context: ComponentContext) {
  const { options, parts, indexes } = context;
  const { clock, random, space = unlimitedSpace, indexBytes = limits.indexingBytesMax } = options;
  const { memory = { isReached: false }, logger = silentLogger, mayLogContent = () => true } = options;
  const shared = {
    ...parts,
    versionPublisher: new VersionPublisher({ ...parts, indexes, clock }),
    locks: new KeyedMutex(),
    clock,
    random,
    space,
    backgroundScheduler: parts.scheduler,
    count: () => [],
    steps: createIngestSteps(context),
    logger,
  };
  const transitions = new DocumentTransitions(shared);
  const ingest = await Ingest.open({
    ...shared,
    transitions,
    memory,
    mayLogContent,
    parallel: { parse: 2, index: 2, indexBytes },
  });
  const direct = new DirectIndexer({
    ...shared,
    tracer: null,
    content: transitions.content,
    groupsMax: 2,
    hasCapacity: () => ingest.hasCapacity(),
  });
  const writer = new DocumentWriter({
    ...shared,
    direct,
    onJob: (job) => ingest.enqueue(job),
    onAbandoned: (record) => ingest.abandon(record),
  });
  return { ingest, writer };
}

function createIngestSteps({ options, parts, indexes }: ComponentContext): IngestSteps {
  const { parse, clock, onChunk = async () => {} } = options;
  const parsePool = {
    run: async <Result>(task: object) =>
      (await Promise.race([runParse(parse, task as ParseTask), parseOutcomeWhenCanceled(task)])) as Result,
  };
  const chunker = {
    run: async (task: ChunkTask) => {
      await onChunk(task.path);
      return { result: await prepareDocument(task, chunkProcessorsFor(embedderFor(task.model!))), ms: 1 };
    },
  };
  return new IngestSteps({
    ...parts,
    backgroundScheduler: parts.scheduler,
    indexes,
    pools: { parse: parsePool },
    chunker,
    getModel: (collectionId) => {
      const collection = parts.collections.findById(collectionId);
      if (collection === undefined) return letterModel;
      return { ...vectorMakerFor(getVectorState(collection)), embedChunks: 'in-worker' as const };
    },
    renewVectors: createVectorRenewal({ ...parts, chunkEmbedderOf: vectorMakerFor }),
    parseLimits: {},
    hasPageImages: () => false,
    clock,
  });
}

function createSearch({ options: { clock }, parts, indexes }: ComponentContext): Search {
  return new Search({
    ...parts,
    clock,
    getIndex: (collectionId, generation) => indexes.get(collectionId, generation),
    findExpired: async () => new Float64Array(0),
    decodeVectors: dequantize,
    mayDegrade: true,
    isKnownWord: null,
    models: {
      embed: async ({ text, model }) => letterVectors([text], embedderFor(model?.id).dimensions).vectors,
      rerank: async (_model, _query, texts) => new Float32Array(texts.length),
      measureRelevance: async (_query, texts) => new Float32Array(texts.length),
      rerankWeight: () => 1,
    },
  });
}

function createModelChanges({ options, parts, indexes }: ComponentContext): ModelChanges {
  const { space = unlimitedSpace, logger = silentLogger, mayLogContent = () => true } = options;
  return new ModelChanges({
    ...parts,
    indexes,
    chunkEmbedderOf: vectorMakerFor,
    logger,
    mayLogContent,
    findNewerVersion: () => null,
    checkCapacity: () => space.check(),
  });
}

/** Actions on whole collections, as the collection services do them. */
function collectionActions(
  { options: { store, clock }, parts: { collections }, indexes }: ComponentContext,
  { ingest, modelChanges }: { readonly ingest: Ingest; readonly modelChanges: ModelChanges },
) {
  return {
    /** Creates the record and the shards of a collection. */
    async addCollection(collection: Omit<Collection, 'dimensions' | 'languages'>) {
      const record = { ...collection, dimensions, languages: [] };
      await indexes.open(record);
      try {
        await store.write(collections.create(record));
      } catch (error) {
        await indexes.remove(record.collectionId);
        throw error;
      }
    },
    async deleteCollection(collection: Collection) {
      await store.write(collections.delete(collection, clock.now()), { mayUseReserve: true });
      ingest.abandonCollection(collection.collectionId);
      modelChanges.refresh(collection.collectionId);
      await indexes.remove(collection.collectionId);
    },
    /** Starts a change to the other model, or cancels the change in progress. */
    async changeModel(collection: Collection) {
      const { collectionId } = collection;
      const state = getVectorState(collection);
      const id = state.model?.id === alternateEmbedder.id ? letterEmbedder.id : alternateEmbedder.id;
      const after =
        state.next === null
          ? startVectorChange(state, { ...embedderFor(id), version: '1' })
          : cancelVectorChange(state);
      await store.write(collections.putVectors(collectionId, state, after));
      modelChanges.refresh(collectionId);
    },
  };
}

/** Reply of the parse worker to a canceled task. */
async function parseOutcomeWhenCanceled(task: { port?: MessagePort }): Promise<ParseOutcome> {
  await new Promise((resolve) => task.port?.once('message', resolve));
  return { failure: { code: 'timeout', message: 'Parsing of the document was canceled.' } };
}

async function runParse(parse: ServerComponentsOptions['parse'], task: ParseTask): Promise<ParseOutcome> {
  const pages = await parse(task.file.slice(-64));
  if (pages === null) return { failure: { code: 'corrupt', message: 'The file is damaged.' } };
  return {
    kind: 'text',
    contentType: 'text/plain',
    pages,
    unordered: false,
    headings: false,
    title: null,
    language: null,
    warnings: [],
    pageImages: 'never',
  };
}

/** `letterEmbedder` as a model that runs in the chunk worker. */
export const letterModel = {
  id: 'letters',
  dimensions: 8,
  generation: 0,
  embedChunks: 'in-worker' as const,
};

/** Embedding model that distinguishes texts only by their letters. */
export const letterEmbedder: Embedder = {
  id: 'letters',
  dimensions,
  embed: async (texts) => letterVectors(texts),
  close: async () => {},
};

/** Second model with longer vectors. */
const alternateEmbedder: Embedder = {
  id: 'sounds',
  dimensions: 12,
  embed: async (texts) => letterVectors(texts, 12),
  close: async () => {},
};

/** Collections without a stored model use the first one. */
function embedderFor(id: string | undefined): Embedder {
  return id === alternateEmbedder.id ? alternateEmbedder : letterEmbedder;
}

function vectorMakerFor({ generation, model }: VectorSet): ChunkEmbedder {
  const embedder = embedderFor(model?.id);
  const { id, dimensions } = embedder;
  return {
    id,
    dimensions,
    generation,
    embedChunks: (chunks, onStep) => embedChunks(embedder, chunks, onStep),
  };
}

/** Chunk processors of workers/chunk.ts with a different model. */
export function chunkProcessorsFor(embedder: Embedder): ChunkProcessors {
  return {
    dimensions: embedder.dimensions,
    analyze: analyzeChunks,
    embed: (chunks, onStep) => embedChunks(embedder, chunks, onStep),
  };
}

/** Normalized histograms of character codes modulo `dimensions`. */
export function letterVectors(texts: readonly string[], dimensions = 8) {
  const vectors = new Float32Array(texts.length * dimensions);
  texts.forEach((text, row) => {
    const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions).fill(0.01);
    for (let i = 0; i < text.length; i += 1) vector[text.charCodeAt(i) % dimensions]! += 1;
    const length = Math.hypot(...vector);
    vector.forEach((value, i) => {
      vector[i] = value / length;
    });
  });
  return { vectors, dimensions, tokens: texts.length, inferenceMs: 0 };
}
