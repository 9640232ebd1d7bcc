import type { Metrics } from '../core/metrics.ts';
import { readProcessMemoryBytes } from '../core/process-memory.ts';
import { CollectionIndex } from '../index/collection-index.ts';
import type { Indexes } from '../index/indexes.ts';
import { indexStatuses } from '../schemas/documents.ts';
import type { Collections } from '../storage/collections.ts';
import type { Counts } from '../storage/counts.ts';
import type { Store } from '../storage/store.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { Ingest } from './ingest.ts';
import type { Pool } from './pools.ts';
import type { QueryEmbedder } from './query-embedder.ts';

export interface PipelineMetricSources {
  readonly metrics: Metrics;
  readonly pools: readonly Pool[];
  readonly ingest: Ingest;
  readonly indexes: Indexes;
  readonly store: Store;
  readonly collections: Collections;
  readonly counts: Counts;
  readonly reader: Pick<VersionReader, 'bytes'>;
  readonly replyParts: { readonly bytes: number };
  readonly queryEmbedder: Pick<QueryEmbedder, 'bytes'>;
  readonly memoryBytesMax: number;
  /** Isolation level of tools and parsers from data and network. */
  readonly isolationLevel: string;
}

type GaugeDefinition = readonly [name: string, help: string, read: () => number];

/** Registers metrics of documents, queues, shards and memory. */
export function registerPipelineMetrics(sources: PipelineMetricSources): void {
  const { metrics, pools, ingest, indexes, store, reader, replyParts, queryEmbedder } = sources;
  metrics.gauges(
    { name: 'quarry_pool_tasks', help: 'Tasks queued or running in a worker pool.', label: 'pool' },
    () => Object.fromEntries(pools.map((pool) => [pool.name, pool.depth])),
  );
  metrics.gauges(
    { name: 'quarry_ingest_documents', help: 'Documents queued or being processed, by lane.', label: 'lane' },
    () => ingest.depths(),
  );
  metrics.gauges(
    { name: 'quarry_documents', help: 'Documents in all collections, by status.', label: 'status' },
    () => documentsByStatus(sources),
  );
  metrics.gauges(
    {
      name: 'quarry_index_bytes',
      help: 'Bytes of loaded shards, by part. vectors_in_file is memory-mapped and can be evicted.',
      label: 'part',
    },
    () => indexes.statistics().bytes,
  );
  metrics.gauges(
    {
      name: 'quarry_query_cache_bytes',
      help: 'Bytes of the query caches, limited by QUARRY_QUERY_CACHE_BYTES and QUARRY_QUERY_VECTOR_CACHE_BYTES.',
      label: 'part',
    },
    () => ({ texts: reader.bytes, replies: replyParts.bytes, vectors: queryEmbedder.bytes }),
  );
  metrics.gauges(
    {
      name: 'quarry_tools_isolation',
      help: 'Active isolation level of tools and parsers (1 = active).',
      label: 'level',
    },
    () => ({ [sources.isolationLevel]: 1 }),
  );
  const simple: readonly GaugeDefinition[] = [
    ['quarry_collections', 'Loaded collections.', () => indexes.statistics().collections],
    ['quarry_shards', 'Loaded shards.', () => indexes.statistics().shards],
    ['quarry_index_rows', 'Searchable index rows.', () => indexes.statistics().rows],
    [
      'quarry_index_dead_rows',
      'Deleted index rows awaiting compaction.',
      () => indexes.statistics().deadRows,
    ],
    ['quarry_search_waiting', 'Searches queued for an engine thread.', () => CollectionIndex.queuedCalls()],
    ['quarry_memory_resident_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss()],
    [
      'quarry_store_pending_bytes',
      'Bytes of writes that are not durable yet.',
      () => store.statistics().pendingBytes,
    ],
    ['quarry_store_commits', 'Synced batches since startup.', () => store.statistics().commits],
    [
      'quarry_store_committed_writes',
      'Writes in synced batches since startup.',
      () => store.statistics().committedWrites,
    ],
    [
      'quarry_store_live_bytes',
      'Estimated live bytes of the store on disk.',
      () => store.statistics().liveBytes,
    ],
  ];
  for (const [name, help, read] of [...simple, ...memoryGauges(sources)]) metrics.gauge({ name, help }, read);
}

/** Returns gauges for the memory of the process, its limit, and work that waits for memory. */
function memoryGauges({ ingest, memoryBytesMax }: PipelineMetricSources): readonly GaugeDefinition[] {
  return [
    [
      'quarry_index_compactions_put_off',
      'Compactions deferred because of the memory limit.',
      () => CollectionIndex.deferredCompactions(),
    ],
    [
      'quarry_ingest_waiting_for_memory',
      'Documents waiting because QUARRY_MEMORY_BYTES_MAX is reached.',
      () => ingest.waitingForMemory,
    ],
    [
      'quarry_memory_held_bytes',
      'Anonymous memory of the process, limited by QUARRY_MEMORY_BYTES_MAX.',
      () => readProcessMemoryBytes(),
    ],
    [
      'quarry_memory_held_bytes_max',
      'Value of QUARRY_MEMORY_BYTES_MAX. Above it, new documents are rejected and pending documents wait.',
      () => memoryBytesMax,
    ],
  ];
}

async function documentsByStatus({
  collections,
  counts,
}: PipelineMetricSources): Promise<Record<string, number>> {
  const all = (await collections.listAll()).map(({ collectionId }) => counts.get(collectionId).documents);
  return Object.fromEntries(
    indexStatuses.map((status) => [status, all.reduce((sum, documents) => sum + documents[status], 0)]),
  );
}
