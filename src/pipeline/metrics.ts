import { Gauge, type Registry } from 'prom-client';
import type { Collections } from '../store/collections.ts';
import type { Counts } from '../store/counts.ts';
import { indexStatuses } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import type { Indexes } from './indexes.ts';
import type { Ingest } from './ingest.ts';
import type { Pool } from './pools.ts';

export interface PipelineFigures {
  readonly registry: Registry;
  readonly pools: readonly Pool[];
  readonly ingest: Ingest;
  readonly indexes: Indexes;
  readonly store: Store;
  readonly collections: Collections;
  readonly counts: Counts;
}

/** Figures of documents, queues, shards and memory, read when somebody asks for them. */
export function registerPipelineMetrics(figures: PipelineFigures): void {
  const { registry, pools, ingest, indexes, store } = figures;
  const registers = [registry];
  new Gauge({
    name: 'quarry_pool_tasks',
    help: 'Tasks given to a worker pool and not answered yet, by pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const pool of pools) this.set({ pool: pool.name }, pool.depth);
    },
  });
  new Gauge({
    name: 'quarry_ingest_documents',
    help: 'Documents that wait for ingest or are in it, by lane.',
    labelNames: ['lane'],
    registers,
    collect() {
      for (const [lane, depth] of Object.entries(ingest.depths())) this.set({ lane }, depth);
    },
  });
  registerDocuments(figures);
  const simple: [string, string, () => number][] = [
    ['quarry_collections', 'Collections that are loaded.', () => indexes.statistics().collections],
    ['quarry_shards', 'Shards that are loaded.', () => indexes.statistics().shards],
    ['quarry_index_rows', 'Rows that search sees.', () => indexes.statistics().rows],
    [
      'quarry_index_dead_rows',
      'Rows of replaced documents that wait for compaction.',
      () => indexes.statistics().deadRows,
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
  for (const [name, help, read] of simple) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
  new Gauge({
    name: 'quarry_index_bytes',
    help: 'Memory of the loaded shards, by part.',
    labelNames: ['part'],
    registers,
    collect() {
      for (const [part, bytes] of Object.entries(indexes.statistics().bytes)) this.set({ part }, bytes);
    },
  });
}

function registerDocuments({ registry, collections, counts }: PipelineFigures): void {
  new Gauge({
    name: 'quarry_documents',
    help: 'Documents of all collections, by status.',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      const all = (await collections.all()).map(({ collectionId }) => counts.get(collectionId).documents);
      for (const status of indexStatuses) {
        this.set(
          { status },
          all.reduce((sum, documents) => sum + documents[status], 0),
        );
      }
    },
  });
}
