import { join } from 'node:path';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Settings } from '../config/schema.ts';
import { CollectionIndex } from '../engine/collection-index.ts';
import type { OpenedTools } from '../parsing/open-tools.ts';
import type { ParserProcesses } from '../parsing/parser-processes.ts';
import { answerToolCall } from '../parsing/tool-line.ts';
import { Indexes } from '../pipeline/indexes.ts';
import { Pool } from '../pipeline/pools.ts';
import { ChangeLog, LiveVersions } from '../store/changes.ts';
import { Collections } from '../store/collections.ts';
import { Contents } from '../store/content.ts';
import { Counts } from '../store/counts.ts';
import type { DataDirectory } from '../store/data-directory.ts';
import { Documents } from '../store/documents.ts';
import { Sequence } from '../store/sequence.ts';
import { issueToken } from '../store/tokens.ts';
import { VersionReader } from '../store/version-reader.ts';
import { Versions } from '../store/versions.ts';
import { UsageMeter } from '../usage/meter.ts';
import { clock } from './given.ts';

/** What is on disk, and the pools of threads. */

/** Tasks that may wait for one of the pools. */
const poolTasksMax = 4_096;

/** Everything that reads or writes one data directory. */
export async function buildStorage(settings: Settings, data: DataDirectory, logger: Logger) {
  const { store } = data;
  const reads = { versions: new Versions(store), contents: new Contents(store) };
  // What knows the answer is built later.
  const hooks = { isGone: (_organizationId: string) => false };
  const parts = {
    ...reads,
    hooks,
    reader: new VersionReader({
      ...reads,
      fileToken: (documentId) => issueToken(data.secrets[0]!, { kind: 'file', documentId }),
      bytesMax: settings.queryCacheBytes,
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
  CollectionIndex.useMemoryBytesMax(settings.memoryBytesMax);
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

export type Storage = Awaited<ReturnType<typeof buildStorage>>;

/** Threads that read large request bodies: a body of hundreds of megabytes must not keep all others waiting. */
export const jsonThreads = 2;

export function buildPools(
  settings: Settings,
  processes: ParserProcesses,
  tools: OpenedTools,
  logger: Logger,
) {
  const pool = (name: Pool['name'], threads: number) =>
    new Pool({
      name,
      threads,
      queueTasksMax: poolTasksMax,
      workerData: { sandbox: tools.isolation.sandbox },
      onMessage: (message) => {
        if (!answerToolCall(tools.desk, message)) processes.accept(message);
      },
      onTrouble: (error) => logger.error({ pool: name, error: String(error) }, 'an idle worker failed'),
    });
  return {
    parse: pool('parse', settings.parseThreads),
    draw: pool('draw', Math.max(1, Math.floor(settings.parseThreads / 2))),
    chunk: pool('chunk', settings.chunkThreads),
    embed: pool('embed', settings.embedThreads),
    rerank: pool('rerank', settings.rerankThreads),
    json: pool('json', jsonThreads),
  };
}

export type Pools = ReturnType<typeof buildPools>;

export function parseLimitsOf(settings: Settings) {
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
