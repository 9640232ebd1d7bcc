import type { Settings } from '../config/schema.ts';
import { EventLoopDelay } from '../core/async/event-loop-delay.ts';
import { Metrics } from '../core/metrics.ts';
import { registerPipelineMetrics } from '../ingest/metrics.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { apiVersion } from './request-handler.ts';
import type { ResourceStack } from './resource-stack.ts';
import type { Retrieval } from './retrieval.ts';
import { registerPostgresMetrics } from './shared-storage.ts';

/** Metrics of the whole process. */

export function openMetrics(resources: ResourceStack): Metrics {
  const metrics = new Metrics();
  const eventLoopDelay = new EventLoopDelay();
  eventLoopDelay.register(metrics);
  resources.add(() => eventLoopDelay.close());
  metrics.gauges(
    { name: 'quarry_build_info', help: 'Version of the server (always 1).', label: 'version' },
    () => ({ [apiVersion]: 1 }),
  );
  return metrics;
}

export function registerMetrics(
  { memoryBytesMax, diskReserveBytes }: Settings,
  metrics: Metrics,
  {
    data: { space, postgres },
    retrieval: { storage, pipeline, pools, tools },
  }: { readonly data: DataDirectory; readonly retrieval: Retrieval },
): void {
  if (postgres !== null) registerPostgresMetrics(metrics, postgres);
  registerPipelineMetrics({
    metrics,
    pools: Object.values(pools),
    ingest: pipeline.ingest,
    indexes: storage.indexes,
    store: storage.store,
    collections: storage.collections,
    counts: storage.counts,
    reader: storage.reader,
    replyParts: storage.replyParts,
    queryEmbedder: pipeline.queryEmbedder,
    memoryBytesMax,
    isolationLevel: tools.isolation.sandbox.level,
  });
  metrics.gauge(
    { name: 'quarry_disk_free_bytes', help: 'Free bytes of the disk with the data directory.' },
    () => space.freeBytes,
  );
  metrics.gauge(
    {
      name: 'quarry_disk_reserve_bytes',
      help: 'Value of QUARRY_DISK_RESERVE_BYTES. Below it, new documents are rejected.',
    },
    () => diskReserveBytes,
  );
}
