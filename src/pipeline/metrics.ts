import type { Metrics } from '../base/metrics.ts';
import { heldBytes } from '../base/process-memory.ts';
import { CollectionIndex } from '../engine/collection-index.ts';
import { indexStatuses } from '../schemas/documents.ts';
import type { Collections } from '../store/collections.ts';
import type { Counts } from '../store/counts.ts';
import type { Store } from '../store/store.ts';
import type { VersionReader } from '../store/version-reader.ts';
import type { Indexes } from './indexes.ts';
import type { Ingest } from './ingest.ts';
import type { Pool } from './pools.ts';
import type { QueryEmbedder } from './query-embedder.ts';

export interface PipelineFigures {
  readonly metrics: Metrics;
  readonly pools: readonly Pool[];
  readonly ingest: Ingest;
  readonly indexes: Indexes;
  readonly store: Store;
  readonly collections: Collections;
  readonly counts: Counts;
  readonly reader: Pick<VersionReader, 'bytes'>;
  readonly queryEmbedder: Pick<QueryEmbedder, 'bytes'>;
  readonly memoryBytesMax: number;
  /** How tools and parsers are kept from data and network. */
  readonly isolationLevel: string;
}

type Figure = readonly [name: string, help: string, read: () => number];

/** Figures of documents, queues, shards and memory. */
export function registerPipelineMetrics(figures: PipelineFigures): void {
  const { metrics, pools, ingest, indexes, store } = figures;
  metrics.gauges(
    { name: 'quarry_pool_tasks', help: 'Tasks given to a pool and not answered yet.', label: 'pool' },
    () => Object.fromEntries(pools.map((pool) => [pool.name, pool.depth])),
  );
  metrics.gauges(
    { name: 'quarry_ingest_documents', help: 'Documents that wait for ingest or are in it.', label: 'lane' },
    () => ingest.depths(),
  );
  metrics.gauges({ name: 'quarry_documents', help: 'Documents of all collections.', label: 'status' }, () =>
    documentsByStatus(figures),
  );
  metrics.gauges(
    {
      name: 'quarry_index_bytes',
      help: 'Bytes of the loaded shards; vectors_in_file take memory only as far as there is some to spare.',
      label: 'part',
    },
    () => indexes.statistics().bytes,
  );
  metrics.gauges(
    {
      name: 'quarry_query_cache_bytes',
      help: 'Memory kept for queries, at most queryCacheBytes and queryVectorCacheBytes.',
      label: 'part',
    },
    () => ({ texts: figures.reader.bytes, vectors: figures.queryEmbedder.bytes }),
  );
  metrics.gauges(
    { name: 'quarry_tools_isolation', help: 'Isolation of tools and parsers in force: 1.', label: 'level' },
    () => ({ [figures.isolationLevel]: 1 }),
  );
  const simple: readonly Figure[] = [
    ['quarry_collections', 'Collections that are loaded.', () => indexes.statistics().collections],
    ['quarry_shards', 'Shards that are loaded.', () => indexes.statistics().shards],
    ['quarry_index_rows', 'Rows that search sees.', () => indexes.statistics().rows],
    [
      'quarry_index_dead_rows',
      'Rows of replaced documents, not compacted yet.',
      () => indexes.statistics().deadRows,
    ],
    [
      'quarry_search_waiting',
      'Searches that wait for a thread of the engine.',
      () => CollectionIndex.waiting(),
    ],
    ['quarry_memory_resident_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss()],
    [
      'quarry_store_pending_bytes',
      'Bytes of writes that are not durable yet.',
      () => store.statistics().pendingBytes,
    ],
    ['quarry_store_commits', 'Synced batches since the start.', () => store.statistics().commits],
    ['quarry_store_committed_writes', 'Writes in those batches.', () => store.statistics().committedWrites],
    [
      'quarry_store_live_bytes',
      'Estimated live bytes of the store on disk.',
      () => store.statistics().liveBytes,
    ],
  ];
  for (const [name, help, read] of [...simple, ...memoryLimitFigures(figures)])
    metrics.gauge({ name, help }, read);
}

/** What the process holds of memory, what it may hold, and what waits for it. */
function memoryLimitFigures({ ingest, memoryBytesMax }: PipelineFigures): readonly Figure[] {
  return [
    [
      'quarry_index_compactions_put_off',
      'Compactions that wait until there is memory for them.',
      () => CollectionIndex.compactionsPutOff(),
    ],
    [
      'quarry_ingest_waiting_for_memory',
      'Documents that are not indexed because memoryBytesMax is reached.',
      () => ingest.waitingForMemory,
    ],
    [
      'quarry_memory_held_bytes',
      'Memory of the process that no file backs: what memoryBytesMax bounds.',
      () => heldBytes(),
    ],
    [
      'quarry_memory_held_bytes_max',
      'The setting memoryBytesMax: from there on documents are refused, and those that wait stay where they are.',
      () => memoryBytesMax,
    ],
  ];
}

async function documentsByStatus({ collections, counts }: PipelineFigures): Promise<Record<string, number>> {
  const all = (await collections.all()).map(({ collectionId }) => counts.get(collectionId).documents);
  return Object.fromEntries(
    indexStatuses.map((status) => [status, all.reduce((sum, documents) => sum + documents[status], 0)]),
  );
}
