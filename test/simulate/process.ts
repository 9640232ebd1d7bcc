import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import type { Clock } from '../../src/base/clock.ts';
import type { Chance } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { type Logger, silentLogger } from '../../src/base/logger.ts';
import { Turns } from '../../src/base/turns.ts';
import type { ChunkTask } from '../../src/chunking/chunk-task.ts';
import { type ChunkMeans, prepareDocument } from '../../src/chunking/prepare-document.ts';
import { KeyedMutex } from '../../src/core/async/mutex.ts';
import { embedChunks } from '../../src/models/chunk-vectors.ts';
import { dotWithCodes } from '../../src/models/codes.ts';
import type { Embedder } from '../../src/models/model.ts';
import type { ParseOutcome, ParseTask } from '../../src/parsing/parse-task.ts';
import { DocumentProgress } from '../../src/pipeline/document-progress.ts';
import { DocumentWriter } from '../../src/pipeline/document-writer.ts';
import { Indexes } from '../../src/pipeline/indexes.ts';
import { Ingest } from '../../src/pipeline/ingest.ts';
import { IngestSteps } from '../../src/pipeline/ingest-steps.ts';
import type { MemoryLimit } from '../../src/pipeline/memory-limit.ts';
import { ModelChanges } from '../../src/pipeline/model-changes.ts';
import { StoredVectors, type VectorMaker, vectorRenewal } from '../../src/pipeline/stored-vectors.ts';
import { Switchboard } from '../../src/pipeline/switchboard.ts';
import { Search } from '../../src/search/search.ts';
import { Blobs } from '../../src/store/blobs.ts';
import { ChangeLog, LiveVersions } from '../../src/store/changes.ts';
import {
  beginning,
  type Collection,
  Collections,
  cancelled,
  type VectorSet,
  vectorsOf,
} from '../../src/store/collections.ts';
import { Contents } from '../../src/store/content.ts';
import { Counts } from '../../src/store/counts.ts';
import { Documents } from '../../src/store/documents.ts';
import { collectGarbage } from '../../src/store/garbage.ts';
import { Sequence } from '../../src/store/sequence.ts';
import type { SpaceGuard, Store } from '../../src/store/store.ts';
import { sweepCollections } from '../../src/store/sweep.ts';
import { issueToken } from '../../src/store/tokens.ts';
import { VersionReader } from '../../src/store/version-reader.ts';
import { Versions } from '../../src/store/versions.ts';
import { analyseChunks } from '../../src/text/terms.ts';

/** Of the model of new collections. */
const dimensions = 8;

export interface ProcessOptions {
  readonly store: Store;
  readonly folder: string;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Text of a raw file, or null for one that cannot be read; may throw for trouble of the parser itself. */
  readonly parse: (rawHash: string) => Promise<string[] | null>;
  /** Refuses while there is no room for results; never by default. */
  readonly space?: SpaceGuard;
  /** Never used up by default. */
  readonly memory?: Pick<MemoryLimit, 'isReached'>;
  /** Told before a document is cut. */
  readonly onCut?: (path: string) => Promise<void>;
  /** Memory of the documents that are indexed at the same time. */
  readonly indexBytes?: number;
  readonly logger?: Logger;
  readonly mayQuote?: () => boolean;
}

/** Of tokens. */
export const secret = new Uint8Array(32).fill(7);

/** The rooms of the server, without a door and with simple models, as one process of many on the same data. */
export async function openProcess(options: ProcessOptions) {
  const { store, folder, clock, chance, parse, space = { check() {} } } = options;
  const { onCut = async () => {}, indexBytes = limits.indexingBytesMax } = options;
  const { memory = { isReached: false }, logger = silentLogger, mayQuote = () => true } = options;
  const reads = { versions: new Versions(store), contents: new Contents(store) };
  const parts = {
    store,
    ...reads,
    reader: new VersionReader({
      ...reads,
      fileToken: (documentId) => issueToken(secret, { kind: 'file', documentId }),
      bytesMax: 100_000,
    }),
    sequence: await Sequence.open(store),
    changes: new ChangeLog(store),
    live: new LiveVersions(store),
    collections: new Collections(store),
    documents: new Documents(store),
    counts: new Counts(store),
  };
  const indexFolder = join(folder, 'index');
  const blobsFolder = join(folder, 'blobs');
  mkdirSync(indexFolder, { recursive: true });
  const blobs = await Blobs.open({ directory: blobsFolder, store, chance });
  const indexes = new Indexes({ ...parts, folder: indexFolder, retireMs: 50, logger: silentLogger });
  const vectors = new StoredVectors({ ...parts, space });
  const turns = new Turns(clock);
  const shared = {
    ...parts,
    switchboard: new Switchboard({ ...parts, indexes }),
    locks: new KeyedMutex(),
    clock,
    chance,
    space,
    turns,
    count: () => [],
  };
  const progress = new DocumentProgress(shared);
  const parsePool = {
    run: async <Result>(task: object) =>
      (await Promise.race([outcomeOf(parse, task as ParseTask), ended(task)])) as Result,
  };
  const chunker = {
    run: async (task: ChunkTask) => {
      await onCut(task.path);
      return { result: await prepareDocument(task, chunkMeans(modelNamed(task.model!))), ms: 1 };
    },
  };
  const steps = new IngestSteps({
    ...parts,
    turns,
    indexes,
    blobs,
    pools: { parse: parsePool },
    chunker,
    modelOf: (collectionId) => {
      const collection = parts.collections.byId(collectionId);
      if (collection === undefined) return lettersModel;
      return { ...makerOf(vectorsOf(collection)), embedChunks: 'in-worker' as const };
    },
    renewVectors: vectorRenewal({ ...parts, vectors, makerOf }),
    parseLimits: {},
    hasPageImages: () => false,
    clock,
  });
  const ingest = await Ingest.open({
    store,
    progress,
    steps,
    memory,
    clock,
    turns,
    ...{ logger, mayQuote },
    parallel: { parse: 2, index: 2, indexBytes },
  });
  const writer = new DocumentWriter({
    ...shared,
    onJob: (job) => ingest.offer(job),
    onAbandoned: (record) => ingest.abandon(record),
  });
  const search = new Search({
    ...parts,
    clock,
    indexOf: (collectionId, generation) => indexes.get(collectionId, generation),
    similarities: dotWithCodes,
    doesWithout: true,
    knowsWord: null,
    models: {
      embed: async ({ text, model }) => embed([text], modelNamed(model?.id).dimensions).vectors,
      rerank: async (_model, _query, texts) => new Float32Array(texts.length),
      rerankWeight: () => 1,
    },
  });
  const modelChanges = new ModelChanges({
    ...parts,
    ...{ indexes, vectors, makerOf, logger, mayQuote },
    renewed: () => null,
    checkRoom: () => space.check(),
  });
  for (const collection of await parts.collections.all()) await indexes.open(collection);
  ingest.start();
  await modelChanges.start();
  return {
    ...parts,
    blobs,
    indexes,
    ingest,
    writer,
    search,
    /** A collection's record and shards, as the collection services make them. */
    async addCollection(collection: Omit<Collection, 'dimensions' | 'languages'>) {
      const whole = { ...collection, dimensions, languages: [] };
      await indexes.open(whole);
      try {
        await store.write(parts.collections.create(whole));
      } catch (error) {
        await indexes.remove(whole.collectionId);
        throw error;
      }
    },
    async deleteCollection(collection: Collection) {
      await store.write(parts.collections.delete(collection, clock.now()), { mayUseReserve: true });
      ingest.abandonCollection(collection.collectionId);
      modelChanges.look(collection.collectionId);
      await indexes.remove(collection.collectionId);
    },
    /** Gives a collection the other model, or cancels that. */
    async changeModel(collection: Collection) {
      const { collectionId } = collection;
      const state = vectorsOf(collection);
      const id = state.model?.id === soundsModel.id ? letters.id : soundsModel.id;
      const after =
        state.next === null ? beginning(state, { ...modelNamed(id), version: '1' }) : cancelled(state);
      await store.write(parts.collections.putVectors(collectionId, state, after));
      modelChanges.look(collectionId);
    },
    async clean() {
      await collectGarbage({ store, blobs }, clock.now());
      await sweepCollections({ store, blobs }, clock.now());
      await blobs.collectOrphans();
      await indexes.removeOrphans();
    },
    async close() {
      await modelChanges.close();
      await ingest.close();
      await indexes.close();
    },
    /** Frees the memory of a process that was killed; its files stay as they were at that moment. */
    async bury() {
      const kept = join(folder, 'kept');
      copyFolder(indexFolder, kept);
      await modelChanges.close();
      await ingest.close();
      await indexes.close();
      rmSync(indexFolder, { recursive: true, force: true });
      copyFolder(kept, indexFolder);
      rmSync(kept, { recursive: true, force: true });
    },
  };
}
export type Process = Awaited<ReturnType<typeof openProcess>>;

/** Two levels of files; those that the process is deleting at this moment may go or stay. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    try {
      if (entry.isDirectory()) copyFolder(source, target);
      else copyFileSync(source, target);
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOENT') throw error;
    }
  }
}

/** What the parse worker answers when its task is cancelled. */
async function ended(task: { line?: MessagePort }): Promise<ParseOutcome> {
  await new Promise((resolve) => task.line?.once('message', resolve));
  return { failure: { code: 'timeout', message: 'Reading the document was cancelled.' } };
}

async function outcomeOf(parse: ProcessOptions['parse'], task: ParseTask): Promise<ParseOutcome> {
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
  };
}

/** That model, run by whoever cuts the documents. */
export const lettersModel = {
  id: 'letters',
  dimensions: 8,
  generation: 0,
  embedChunks: 'in-worker' as const,
};

/** An embedding model that tells letters apart, and nothing else. */
export const letters: Embedder = {
  id: 'letters',
  dimensions,
  embed: async (texts) => embed(texts),
  close: async () => {},
};

/** Another one, whose vectors are longer. */
const soundsModel: Embedder = {
  id: 'sounds',
  dimensions: 12,
  embed: async (texts) => embed(texts, 12),
  close: async () => {},
};

/** Collections that remember no model have the first. */
function modelNamed(id: string | undefined): Embedder {
  return id === soundsModel.id ? soundsModel : letters;
}

function makerOf({ generation, model }: VectorSet): VectorMaker {
  const embedder = modelNamed(model?.id);
  const { id, dimensions } = embedder;
  return {
    ...{ id, dimensions, generation },
    embedChunks: (chunks, onStep) => embedChunks(embedder, chunks, onStep),
  };
}

/** What workers/chunk.ts does with chunks, with another model. */
export function chunkMeans(embedder: Embedder): ChunkMeans {
  return {
    dimensions: embedder.dimensions,
    analyse: analyseChunks,
    embed: (chunks, onStep) => embedChunks(embedder, chunks, onStep),
  };
}

/** Vectors that tell how often so many kinds of letters stand in a text. */
export function embed(texts: readonly string[], dimensions = 8) {
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
