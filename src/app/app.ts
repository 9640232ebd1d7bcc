import { join } from 'node:path';
import { bootstrapInstallation } from '../accounts/bootstrap.ts';
import { OrganizationRemoval } from '../accounts/organization-removal.ts';
import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import type { EffectiveTiers } from '../billing/effective-tiers.ts';
import { loadPlans, type Plans } from '../billing/plans.ts';
import type { Settings } from '../config/schema.ts';
import { EventLoopDelay } from '../core/async/event-loop-delay.ts';
import { limits } from '../core/limits.ts';
import { createLogger, type Logger } from '../core/logger.ts';
import { Metrics } from '../core/metrics.ts';
import { createEgress, warnAboutDeniedHosts } from '../egress/create-egress.ts';
import type { Egress } from '../egress/egress.ts';
import { guardSockets } from '../egress/guard-sockets.ts';
import { defaultBounds, startHttpListener } from '../http/listen.ts';
import { DerivedFiles } from '../ingest/derived-files.ts';
import { MaintenanceScheduler } from '../ingest/maintenance.ts';
import { registerPipelineMetrics } from '../ingest/metrics.ts';
import { PageImages } from '../ingest/page-images.ts';
import {
  defaultEmbeddingModel,
  openBuiltInEmbedder,
  openBuiltInReranker,
  sharedReranker,
} from '../models/registry.ts';
import { ParserProcessRegistry } from '../parsing/process/parser-process-registry.ts';
import { openToolEnvironment } from '../parsing/tools/open-tools.ts';
import { findOptionalTools } from '../parsing/tools/optional-tools.ts';
import { type DataDirectory, openDataDirectory } from '../storage/data-directory.ts';
import { ErasureClock } from '../storage/erasure-clock.ts';
import type { Store } from '../storage/store.ts';
import {
  type AccountComponents,
  accountMaintenanceTasks,
  buildAccountComponents,
  buildAccounts,
} from './accounts.ts';
import { buildBilling, createEffectiveTiers, mergePlanLimits } from './billing.ts';
import { type LoadProgress, loadCollections } from './loading.ts';
import { buildMarketplaces } from './marketplaces.ts';
import { createModelFolderWatcher, openModelCatalog } from './models.ts';
import { buildPipeline } from './pipeline.ts';
import { buildQuotas, createStorageUsageReader } from './quotas.ts';
import { buildRequestHandler, localUrl, warnAboutInsecureSettings } from './request-handler.ts';
import { backgroundScheduler, clock, random } from './runtime.ts';
import { buildServices } from './services.ts';
import { buildPools, buildStorage, type Pools } from './storage.ts';

/** Composition root: constructs all components in the order of their dependencies. */

/** A running server. */
export interface App {
  readonly port: number;
  readonly httpServer: 'uws' | 'node';
  /** The first organization of the installation, which owns `newKey` and `QUARRY_API_KEY`. */
  readonly organizationId: string;
  /** The API key created by this start, shown only once; null if one existed. */
  readonly newKey: string | null;
  /** Single-use link that signs in as an owner of the first organization. */
  readonly signInUrl: string;
  /** Resolves when every collection is loaded and the server is ready; rejects if one cannot be loaded. */
  readonly loaded: Promise<void>;
  /** Finishes running work, writes pending data and frees all resources. Idempotent. */
  close(): Promise<void>;
}

/** Close functions of opened resources; called in reverse order of opening. */
class ResourceStack {
  readonly #closers: (() => unknown)[] = [];
  #closing: Promise<void> | null = null;

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Closes all resources even if one fails, then rejects with the first failure. */
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

/** Builds every module, listens, and begins to load collections; requests get 503 until loading is done. */
export async function startApp(settings: Settings): Promise<App> {
  const resources = new ResourceStack();
  try {
    return await openApp(settings, resources);
  } catch (error) {
    await resources.close();
    throw error;
  }
}

async function openApp(settings: Settings, resources: ResourceStack): Promise<App> {
  const logger = createLogger(settings.logLevel);
  const metrics = openMetrics(resources);
  const plans = loadPlans(settings.plansFile);
  const egress = openGuardedEgress(settings, logger);
  const retrieval = await openRetrieval(settings, resources, { egress, logger, metrics });
  const { data, tools, pipeline, pools } = retrieval;
  const installation: Installation = { url: '', organizationId: '' };
  const dependencies = { retrieval, plans, egress, logger, installation };
  const accountSide = await openAccountSide(settings, resources, dependencies);
  const { components, services, accounts, quotas, payments } = accountSide;
  registerMetrics(settings, metrics, retrieval);
  const progress: LoadProgress = { loaded: 0, total: 0, isDone: false };
  const requestHandler = buildRequestHandler(settings, {
    ...{ data, tools, components, services, accounts, pipeline, pools, quotas, progress, egress },
    ...{ metrics, logger, payments: payments.state },
  });
  const { host, port, http: kind, drainSeconds } = settings;
  const bounds = defaultBounds;
  const listening = await startHttpListener({ requestHandler, kind, host, port, bounds, logger });
  resources.add(() => listening.close(drainSeconds * 1_000));
  // After listening, which fails where the address is taken: a new key must be shown once it exists.
  const firstStartResult = await bootstrapInstallation({
    organizations: components.organizations,
    keys: components.keys,
    random,
    operatorKey: settings.apiKey,
  });
  warnAboutInsecureSettings(settings, logger);
  installation.url = settings.baseUrl ?? localUrl(host, listening.port);
  installation.organizationId = firstStartResult.organizationId;
  const erasure = await ErasureClock.open({ store: data.store, clock, logger });
  const loaded = loadCollections(retrieval.storage, pipeline, progress, logger).then(() =>
    startBackgroundWork(settings, { retrieval, accountSide, erasure }),
  );
  return {
    port: listening.port,
    httpServer: listening.kind,
    ...firstStartResult,
    signInUrl: accounts.signIn.createOperatorLink().url,
    loaded,
    close: () => resources.close(),
  };
}

/** Known when the server listens. */
interface Installation {
  url: string;
  organizationId: string;
}

interface AccountSideDependencies {
  readonly retrieval: Retrieval;
  readonly plans: Plans;
  readonly egress: Egress;
  readonly logger: Logger;
  readonly installation: Installation;
}

/** Organizations, their limits, payments and marketplaces, and the services on the data of an organization. */
async function openAccountSide(
  settings: Settings,
  resources: ResourceStack,
  { retrieval, plans, egress, logger, installation }: AccountSideDependencies,
) {
  const { data, storage, pools, pipeline, images, derivedFiles, maintenance } = retrieval;
  const mergedTiers = mergePlanLimits(settings, plans);
  const components = buildAccountComponents(settings, data, { tiers: mergedTiers, egress, logger });
  registerClosers(resources, components);
  const { organizations } = components;
  const tiers = await reconcileAccounts(settings, data.store, components);
  retrieval.hooks.mayLogContent = () => organizations.mayLogContent;
  storage.hooks.isGone = (id) => organizations.find(id) === undefined;
  const limiters = buildQuotas(storage, pipeline, { organizations, logger });
  const { persistedBuckets, quotas, modelAdmission, deleteLimits } = limiters;
  resources.add(() => persistedBuckets.close());
  const { services, removeData } = buildServices({
    ...{ ...components, settings, data, storage, pools, pipeline, modelAdmission, quotas, deleteLimits },
    ...{ tiers, images, derivedFiles, sweep: () => maintenance.sweep() },
    deleteOrganization: (id, by) => removal.deleteOrganization(id, by),
  });
  const publicUrl = () => installation.url;
  const shared = { tiers, components, egress, logger, publicUrl };
  const payments = await buildBilling(settings, { ...shared, plans, storage });
  resources.add(() => payments.close());
  const { meter } = storage;
  const marketplaceComponents = buildMarketplaces(settings, { ...shared, data, payments, meter });
  const { marketplaces } = marketplaceComponents;
  const deleteData = async (id: string) => {
    await marketplaces.deleteOrganization(id);
    await payments.billing.closeAccount(id);
    return removeData(id);
  };
  const removal = new OrganizationRemoval({ ...components, deleteData, logger });
  resources.add(() => removal.close());
  // Closed before the removals, which wait for the sweep that they requested.
  resources.add(() => maintenance.close());
  const accounts = buildAccounts(settings, {
    ...{ data, components, removal, installation, marketplaces, egress },
    ...{ storageOf: createStorageUsageReader(quotas, pipeline), billing: payments.billing },
  });
  return { components, services, accounts, quotas, payments, marketplaceComponents, removal };
}

type AccountSide = Awaited<ReturnType<typeof openAccountSide>>;

/** Starts everything that works on its own once all collections are loaded. */
async function startBackgroundWork(
  settings: Settings,
  {
    retrieval: { modelWatcher, maintenance },
    accountSide: { components, payments, marketplaceComponents, removal },
    erasure,
  }: { readonly retrieval: Retrieval; readonly accountSide: AccountSide; readonly erasure: ErasureClock },
): Promise<void> {
  await modelWatcher.start();
  maintenance.start([
    ...accountMaintenanceTasks(settings, components, erasure),
    ...payments.maintenanceTasks,
    ...marketplaceComponents.maintenanceTasks,
  ]);
  await removal.start();
  await marketplaceComponents.marketplaces.start();
  await payments.start();
}

function openMetrics(resources: ResourceStack): Metrics {
  const metrics = new Metrics();
  const eventLoopDelay = new EventLoopDelay();
  eventLoopDelay.register(metrics);
  resources.add(() => eventLoopDelay.close());
  return metrics;
}

function registerMetrics(
  { memoryBytesMax }: Settings,
  metrics: Metrics,
  { storage, pipeline, pools, tools }: Retrieval,
): void {
  const isolationLevel = tools.isolation.sandbox.level;
  const processMetrics = { metrics, pools: Object.values(pools), memoryBytesMax, isolationLevel };
  registerPipelineMetrics({ ...storage, ...pipeline, ...processMetrics });
}

function registerClosers(
  resources: ResourceStack,
  { mail, sessions, keys, deniedAccessLog }: AccountComponents,
): void {
  resources.add(() => mail.close());
  resources.add(() => sessions.close());
  resources.add(() => keys.flushUses());
  resources.add(() => deniedAccessLog.close());
}

/** Cleans up the account state of earlier runs, before the first request is served. */
async function reconcileAccounts(
  settings: Settings,
  store: Store,
  { organizations, sessions }: AccountComponents,
): Promise<EffectiveTiers> {
  await sessions.endAdministratorSessions();
  const tiers = createEffectiveTiers(settings, store, organizations);
  await tiers.backfillGrantedTiers();
  return tiers;
}

/** From here on, the process connects only to hosts named in the settings. */
function openGuardedEgress(settings: Settings, logger: Logger): Egress {
  const egress = createEgress(settings);
  warnAboutDeniedHosts(egress, logger);
  guardSockets(egress);
  return egress;
}

/** Opens storage, workers and the pipeline of documents and queries; `resources` closes them in reverse order. */
async function openRetrieval(
  settings: Settings,
  resources: ResourceStack,
  {
    egress,
    logger,
    metrics,
  }: { readonly egress: Egress; readonly logger: Logger; readonly metrics: Metrics },
) {
  const { data, storage } = await openStorage(settings, resources, logger);
  const { derivedFiles, tools } = await openTooling(settings, data, logger);
  resources.add(() => tools.toolServer.close());
  const processes = new ParserProcessRegistry();
  const pools = buildPools(settings, processes, tools, logger);
  resources.add(async () => {
    await Promise.all(Object.values(pools).map((pool) => pool.close()));
    processes.killAll();
  });
  // Assigned when the components exist that provide the values.
  const hooks = { mayLogContent: () => false, resumeModel: (_model: string): void => {} };
  const mayLogContent = () => hooks.mayLogContent();
  const catalog = await openModelCatalog(settings, data, logger, {
    metrics,
    egress,
    mayLogReply: mayLogContent,
    onRecovered: (model) => hooks.resumeModel(model),
  });
  const embedder = await openBuiltInEmbedder(defaultEmbeddingModel);
  resources.add(() => embedder.close());
  const reranker = await openBuiltInReranker(sharedReranker);
  resources.add(() => reranker.close());
  const pipeline = await buildPipeline(settings, {
    ...{ storage, pools, derivedFiles, tools, embedder, reranker, catalog, logger, mayLogContent },
  });
  resources.add(() => pipeline.ingest.close());
  hooks.resumeModel = (model) =>
    pipeline.ingest.retryNow(
      (collectionId) => storage.collections.findById(collectionId)?.model?.id === model,
    );
  resources.add(() => pipeline.modelChanges.close());
  const images = createPageImages(pools, data, derivedFiles);
  const snapshotMs = settings.snapshotSeconds * 1_000;
  const { memory } = pipeline;
  const shared = { ...storage, derivedFiles, memory, clock, logger, snapshotMs };
  const maintenance = new MaintenanceScheduler(shared);
  resources.add(() => maintenance.close());
  const modelWatcher = createModelFolderWatcher(settings, { data, storage, pipeline, logger });
  resources.add(() => modelWatcher.close());
  return { data, storage, pools, pipeline, hooks, images, derivedFiles, tools, maintenance, modelWatcher };
}

type Retrieval = Awaited<ReturnType<typeof openRetrieval>>;

async function openStorage(settings: Settings, resources: ResourceStack, logger: Logger) {
  const data = await openDataDirectory({
    path: settings.data,
    reserveBytes: settings.diskReserveBytes,
    logger,
    random,
    backgroundScheduler,
  });
  resources.add(() => data.close());
  const storage = await buildStorage(settings, data, logger);
  storage.meter.start();
  resources.add(() => storage.meter.close());
  resources.add(() => storage.indexes.close());
  return { data, storage };
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
async function openTooling(settings: Settings, data: DataDirectory, logger: Logger) {
  const derivedFiles = await DerivedFiles.open({
    blobs: data.blobs,
    folder: join(data.cachePath, 'pages'),
    bytesMax: settings.pageCacheBytes,
    random,
  });
  const { ocrEngine, ocrLanguages, office, parseThreads, toolsIsolation } = settings;
  const tools = await openToolEnvironment({
    ...{ ocrEngine, ocrLanguages, converted: derivedFiles },
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
  void tools.statesWithVersions.then((states) => {
    logger.info(Object.fromEntries(states.map(({ name, detail }) => [name, detail])), 'optional tools');
  });
  return { derivedFiles, tools };
}
