import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import type { OrganizationDirectory } from '../accounts/organization-directory.ts';
import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import type { Settings } from '../config/schema.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Egress } from '../egress/egress.ts';
import { DerivedFiles } from '../ingest/derived-files.ts';
import { MaintenanceScheduler, type MaintenanceTask } from '../ingest/maintenance.ts';
import { PageImages } from '../ingest/page-images.ts';
import {
  defaultEmbeddingModel,
  openBuiltInEmbedder,
  openBuiltInReranker,
  sharedReranker,
} from '../models/registry.ts';
import { ParserProcessRegistry } from '../parsing/process/parser-process-registry.ts';
import { openToolEnvironment, type ToolEnvironment } from '../parsing/tools/open-tools.ts';
import { findOptionalTools } from '../parsing/tools/optional-tools.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { createModelFolderWatcher, openModelCatalog } from './models.ts';
import { buildPipeline } from './pipeline.ts';
import type { ResourceStack } from './resource-stack.ts';
import { clock, random } from './runtime.ts';
import { buildPools, buildStorage, type Pools } from './storage.ts';

/** Storage, workers, and the pipeline of documents and queries. */

interface RetrievalDependencies {
  readonly data: DataDirectory;
  readonly organizations: Pick<OrganizationDirectory, 'find' | 'mayLogContent'>;
  readonly egress: Egress;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer | null;
}

/** `resources` closes the opened components in reverse order. */
export async function openRetrieval(
  settings: Settings,
  resources: ResourceStack,
  { data, organizations, egress, logger, metrics, tracer }: RetrievalDependencies,
) {
  // First, because it rejects wrong names of models, which need none of the other components.
  const mayLogContent = () => organizations.mayLogContent;
  const modelEvents = new EventEmitter<{ recovered: [model: string] }>();
  const catalog = await openModelCatalog(settings, data, logger, {
    metrics,
    egress,
    mayLogReply: mayLogContent,
    onRecovered: (model) => modelEvents.emit('recovered', model),
  });
  const isOrganizationDeleted = (id: string) => organizations.find(id) === undefined;
  const storage = await buildStorage(settings, data, { isOrganizationDeleted, logger });
  storage.meter.start();
  resources.add(() => storage.meter.close());
  resources.add(() => storage.indexes.close());
  const { derivedFiles, tools } = await openTools(settings, data, logger);
  resources.add(() => tools.toolServer.close());
  const pools = openPools(settings, resources, { tools, logger });
  const embedder = await openBuiltInEmbedder(defaultEmbeddingModel);
  resources.add(() => embedder.close());
  const reranker = await openBuiltInReranker(sharedReranker, embedder);
  resources.add(() => reranker.close());
  const pipeline = await buildPipeline(settings, {
    storage,
    pools,
    tools,
    embedder,
    reranker,
    catalog,
    logger,
    tracer,
    mayLogContent,
  });
  const { ingest, modelChanges, memory } = pipeline;
  resources.add(() => ingest.close());
  modelEvents.on('recovered', (model) => {
    ingest.retryNow((collectionId) => storage.collections.findById(collectionId)?.model?.id === model);
  });
  resources.add(() => modelChanges.close());
  const images = createPageImages(pools, data, derivedFiles);
  const maintenance = new MaintenanceScheduler({
    store: storage.store,
    blobs: storage.blobs,
    indexes: storage.indexes,
    derivedFiles,
    memory,
    clock,
    logger,
    snapshotMs: settings.snapshotSeconds * 1_000,
  });
  resources.add(() => maintenance.close());
  const modelWatcher = createModelFolderWatcher(settings, { data, storage, pipeline, logger });
  resources.add(() => modelWatcher.close());
  return { storage, pools, pipeline, images, derivedFiles, tools, maintenance, modelWatcher };
}

export type Retrieval = Awaited<ReturnType<typeof openRetrieval>>;

function openPools(
  settings: Settings,
  resources: ResourceStack,
  { tools, logger }: { readonly tools: ToolEnvironment; readonly logger: Logger },
): Pools {
  const processes = new ParserProcessRegistry();
  const pools = buildPools(settings, processes, tools, logger);
  resources.add(async () => {
    await Promise.all(Object.values(pools).map((pool) => pool.close()));
    processes.killAll();
  });
  return pools;
}

function createPageImages(pools: Pools, { blobs }: DataDirectory, derivedFiles: DerivedFiles): PageImages {
  const semaphore = createOrganizationSemaphore({
    permits: pools.draw.threads,
    waitingMax: limits.pageImagesWaitingMax,
    noun: 'page images',
  });
  return new PageImages({ pool: pools.draw, semaphore, clock, blobs, files: derivedFiles });
}

/** The cache of derived files, and the external programs that produce them. */
async function openTools(settings: Settings, data: DataDirectory, logger: Logger) {
  const derivedFiles = await DerivedFiles.open({
    blobs: data.blobs,
    folder: join(data.cachePath, 'pages'),
    bytesMax: settings.pageCacheBytes,
    random,
  });
  const { ocrEngine, ocrLanguages, office, parseThreads, toolsIsolation } = settings;
  const tools = await openToolEnvironment({
    ocrEngine,
    ocrLanguages,
    converted: derivedFiles,
    ocrDataFolder: settings.ocrDataFolder ?? null,
    office: office === 'auto',
    runningMax: parseThreads,
    installedTools: findOptionalTools(),
    isolation: toolsIsolation,
    dataFolder: data.path,
    folder: join(data.cachePath, 'tools'),
    createUniqueName: () => random.uuid(),
  });
  const logLevel = tools.isolation.isFull ? 'info' : 'warn';
  logger[logLevel](
    { isolation: tools.isolation.sandbox.level, detail: tools.isolation.detail },
    'isolation of tools and parsers',
  );
  logTools(tools, logger);
  return { derivedFiles, tools };
}

function logTools(tools: ToolEnvironment, logger: Logger): void {
  const states = tools.listStates();
  logger.info(Object.fromEntries(states.map(({ name, detail }) => [name, detail])), 'optional tools');
}

/** Milliseconds from the start until the versions of the tools are read, which would take a tenth of its CPU time. */
const toolVersionsMs = 60_000;

/** Task that reads the versions of the tools once. */
export function createToolVersionsTask(tools: ToolEnvironment, logger: Logger): MaintenanceTask {
  let isRead = false;
  const run = async () => {
    if (isRead) return;
    isRead = true;
    await tools.readVersions();
    logTools(tools, logger);
  };
  return { name: 'versions of tools', intervalMs: toolVersionsMs, run };
}
