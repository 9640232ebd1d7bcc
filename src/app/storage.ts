import { join } from 'node:path';
import type { Settings } from '../config/schema.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { CollectionIndex } from '../index/collection-index.ts';
import { Indexes } from '../index/indexes.ts';
import { Pool } from '../ingest/pools.ts';
import type { ParserProcessRegistry } from '../parsing/process/parser-process-registry.ts';
import type { ToolEnvironment } from '../parsing/tools/open-tools.ts';
import { handleToolCall } from '../parsing/tools/tool-channel.ts';
import { ReplyParts } from '../search/reply-parts.ts';
import { ChangeFeeds } from '../storage/change-feeds.ts';
import { ChangeLog, LiveVersions } from '../storage/changes.ts';
import { Collections } from '../storage/collections.ts';
import { Contents } from '../storage/content.ts';
import { Counts } from '../storage/counts.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { Documents } from '../storage/documents.ts';
import { Sequence } from '../storage/sequence.ts';
import { VersionHistory } from '../storage/version-history.ts';
import { VersionReader } from '../storage/version-reader.ts';
import { Versions } from '../storage/versions.ts';
import type { Language } from '../text/languages.ts';
import { NativeReranker } from '../text/native-reranker.ts';
import { encodeFineTerms } from '../text/terms.ts';
import { UsageMeter } from '../usage/meter.ts';
import { clock, random } from './runtime.ts';

/** Storage components and thread pools. */

/** Maximum number of tasks that wait for a pool. */
const poolQueueTasksMax = 4_096;

interface StorageDependencies {
  /** Pending usage of a deleted organization is discarded. */
  readonly isOrganizationDeleted: (organizationId: string) => boolean;
  readonly logger: Logger;
}

/** Constructs the caches of queries. They share the memory, because a query uses only one of them. */
function createQueryCaches({ queryCacheBytes }: Settings, reads: { versions: Versions; contents: Contents }) {
  const replyParts = new ReplyParts(Math.floor(queryCacheBytes / 2));
  const reader = new VersionReader({
    ...reads,
    encodeFineTerms: (chunk) => encodeFineTerms(chunk, chunk.language as Language | null),
    bytesMax: Math.ceil(queryCacheBytes / 2),
    now: () => clock.now(),
    dependent: replyParts,
  });
  return { reader, replyParts };
}

/** Constructs the components that read and write a data directory. */
export async function buildStorage(
  settings: Settings,
  data: DataDirectory,
  { isOrganizationDeleted, logger }: StorageDependencies,
) {
  const { store, blobs, space } = data;
  const versions = new Versions(store);
  const contents = new Contents(store);
  const { reader, replyParts } = createQueryCaches(settings, { versions, contents });
  const sequence = await Sequence.open(store);
  const changes = new ChangeLog(store);
  const live = new LiveVersions(store);
  const collections = new Collections(store);
  const meter = new UsageMeter({ store, clock, logger, isOrganizationDeleted });
  CollectionIndex.useKernels(settings.engineKernels);
  CollectionIndex.useSearchThreads(settings.searchThreads);
  NativeReranker.useThreads(settings.rerankThreads);
  CollectionIndex.useSearchRecall(settings.searchRecall / 1000);
  CollectionIndex.useMemoryBytesMax(settings.memoryBytesMax);
  const indexes = new Indexes({
    folder: data.indexPath,
    sequence,
    changes,
    live,
    collections,
    versions,
    contents,
    reader,
    retireMs: limits.garbageDelayMs,
    logger,
  });
  const documents = new Documents(store);
  return {
    store,
    blobs,
    space,
    blobsFolder: join(data.path, 'blobs'),
    versions,
    contents,
    reader,
    replyParts,
    sequence,
    changes,
    live,
    collections,
    nameLocks: new KeyedMutex(),
    documents,
    history: new VersionHistory({ store, documents, reader, sequence, now: () => clock.now() }),
    counts: new Counts(store),
    feeds: new ChangeFeeds(store, random),
    meter,
    indexes,
  };
}

export type Storage = Awaited<ReturnType<typeof buildStorage>>;

/** Threads that parse large request bodies: with two, a body of hundreds of megabytes does not delay all others. */
export const jsonThreads = 2;

export function buildPools(
  settings: Settings,
  processes: ParserProcessRegistry,
  tools: ToolEnvironment,
  logger: Logger,
) {
  const createPool = (name: Pool['name'], threads: number) =>
    new Pool({
      name,
      threads,
      queueTasksMax: poolQueueTasksMax,
      workerData: { sandbox: tools.isolation.sandbox, workingFolder: tools.workingFolder },
      onMessage: (message) => {
        if (!handleToolCall(tools.toolServer, message)) processes.handleMessage(message);
      },
      onError: (error) => logger.error({ pool: name, error: String(error) }, 'idle worker failed'),
    });
  return {
    parse: createPool('parse', settings.parseThreads),
    draw: createPool('draw', Math.max(1, Math.floor(settings.parseThreads / 2))),
    chunk: createPool('chunk', settings.chunkThreads),
    embed: createPool('embed', settings.embedThreads),
    rerank: createPool('rerank', settings.rerankThreads),
    json: createPool('json', jsonThreads),
  };
}

export type Pools = ReturnType<typeof buildPools>;

export function toParseLimits(settings: Settings) {
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
