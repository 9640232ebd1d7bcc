import { join } from 'node:path';
import { firstStart } from '../accounts/first-start.ts';
import { OrganisationRemoval } from '../accounts/organisation-removal.ts';
import { organizationSemaphore } from '../admission/organization-semaphore.ts';
import { EventLoopDelay } from '../base/event-loop-delay.ts';
import { limits } from '../base/limits.ts';
import { createLogger, type Logger } from '../base/logger.ts';
import { Metrics } from '../base/metrics.ts';
import type { EffectiveTiers } from '../billing/effective-tier.ts';
import { loadPlans } from '../billing/plans.ts';
import type { Settings } from '../config/schema.ts';
import type { Egress } from '../egress/egress.ts';
import { guardSockets } from '../egress/guard-sockets.ts';
import { openEgress, warnOfRefused } from '../egress/open-egress.ts';
import { defaultBounds, openDoor } from '../http/listen.ts';
import { defaultEmbeddingModel, openBuiltInEmbedder } from '../models/registry.ts';
import { openTools } from '../parsing/open-tools.ts';
import { optionalTools } from '../parsing/optional-tools.ts';
import { ParserProcesses } from '../parsing/parser-processes.ts';
import { DerivedFiles } from '../pipeline/derived-files.ts';
import { Housekeeping } from '../pipeline/housekeeping.ts';
import { registerPipelineMetrics } from '../pipeline/metrics.ts';
import { PageImages } from '../pipeline/page-images.ts';
import { type DataDirectory, openDataDirectory } from '../store/data-directory.ts';
import { ErasureClock } from '../store/erasure-clock.ts';
import type { Store } from '../store/store.ts';
import { type AccountRooms, accountChores, buildAccountRooms, buildAccounts } from './accounts.ts';
import { buildBilling, effectiveTiers, tiersWithPlans } from './billing.ts';
import { buildDoor, localUrl, warnOfLeaks } from './door.ts';
import { chance, clock, turns } from './given.ts';
import { type LoadProgress, load } from './loading.ts';
import { buildMarketplaces } from './marketplaces.ts';
import { openModels, watchModels } from './models.ts';
import { buildPipeline } from './pipeline.ts';
import { buildQuotas, storageOf } from './quotas.ts';
import { buildServices } from './services.ts';
import { buildPools, buildStorage } from './storage.ts';

/** Opens a server from its settings: the rooms in the order in which they need each other. */

/** A running server. */
export interface App {
  readonly port: number;
  readonly httpServer: 'uws' | 'node';
  /** The first organisation of the installation, which the keys of `newKey` and QUARRY_API_KEY belong to. */
  readonly organizationId: string;
  /** A key that was issued just now and will never be shown again; null when there was one. */
  readonly newKey: string | null;
  /** Signs in as an owner of the first organisation, once. */
  readonly signInUrl: string;
  /** Resolves when every collection is loaded and the server is ready; rejects when one cannot be loaded. */
  readonly loaded: Promise<void>;
  /** Finishes what runs, writes what is left and frees everything. Twice is once. */
  close(): Promise<void>;
}

/** Things that were opened and how to close them, last opened first. */
class Opened {
  readonly #closers: (() => unknown)[] = [];
  #closing: Promise<void> | null = null;

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Closes all even when one fails; then rejects with the first failure. */
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

/** Builds every room, opens the door and begins to load; the door answers 503 until that is done. */
export async function startApp(settings: Settings): Promise<App> {
  const opened = new Opened();
  try {
    return await openApp(settings, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function openApp(settings: Settings, opened: Opened): Promise<App> {
  const logger = createLogger(settings.logLevel);
  const metrics = openMetrics(opened);
  const plans = loadPlans(settings.plansFile);
  const egress = guardedEgress(settings, logger);
  const retrieval = await openRetrieval(settings, opened, { egress, logger, metrics });
  const { data, storage, pools, pipeline, images, made, tools, housekeeping, modelWatch } = retrieval;
  const rooms = buildAccountRooms(settings, data, { tiers: tiersWithPlans(settings, plans), egress, logger });
  closeWith(opened, rooms);
  const { organisations, keys } = rooms;
  const tiers = await settleAccounts(settings, data.store, rooms);
  retrieval.hooks.mayQuote = () => organisations.mayQuote;
  storage.hooks.isGone = (id) => organisations.find(id) === undefined;
  const { kept, quotas, gate, forget } = buildQuotas(storage, pipeline, { organisations, logger });
  opened.add(() => kept.close());
  registerMetrics(settings, metrics, retrieval);
  const { services, removeData } = buildServices({
    ...{ ...rooms, settings, data, storage, pools, pipeline, gate, quotas, forget },
    ...{ tiers, images, made, sweep: () => housekeeping.sweep() },
    endOrganisation: (id, by) => removal.begin(id, by),
  });
  const installation = { url: '', organizationId: '' }; // known when the server listens
  const linkBase = () => installation.url;
  const payments = await buildBilling(settings, { plans, tiers, storage, rooms, egress, logger, linkBase });
  opened.add(() => payments.close());
  const atMarkets = { data, rooms, tiers, egress, logger, linkBase, payments, meter: storage.meter };
  const { marketplaces, ...selling } = buildMarketplaces(settings, atMarkets);
  const endOrganization = async (id: string) => {
    await marketplaces.forget(id);
    await payments.billing.end(id);
    return removeData(id);
  };
  const removal = new OrganisationRemoval({ ...rooms, removeData: endOrganization, logger });
  opened.add(() => removal.close());
  // Before that: a removal waits for the sweep that it asked for.
  opened.add(() => housekeeping.close());
  const accounts = buildAccounts(settings, {
    ...{ data, rooms, removal, installation, marketplaces, egress },
    ...{ storageOf: storageOf(quotas, pipeline), billing: payments.billing },
  });
  const progress: LoadProgress = { loaded: 0, all: 0, done: false };
  const door = buildDoor(settings, {
    ...{ data, tools, rooms, services, accounts, pipeline, pools, quotas, progress, egress },
    ...{ metrics, logger, payments: payments.state },
  });
  const { host, port, http: kind, drainSeconds } = settings;
  const listening = await openDoor({ door, kind, host, port, bounds: defaultBounds, logger });
  opened.add(() => listening.close(drainSeconds * 1_000));
  // After the door, which may be refused its address: a key that is issued must also get to be shown.
  const first = await firstStart({ organisations, keys, chance, operatorKey: settings.apiKey });
  warnOfLeaks(settings, logger);
  installation.url = settings.baseUrl ?? localUrl(host, listening.port);
  installation.organizationId = first.organizationId;
  const erasure = await ErasureClock.open({ store: data.store, clock, logger });
  const loaded = load(storage, pipeline, progress, logger).then(async () => {
    await modelWatch.start();
    housekeeping.start([...accountChores(settings, rooms, erasure), ...payments.chores, ...selling.chores]);
    await removal.start();
    await marketplaces.start();
    await payments.start();
  });
  return {
    port: listening.port,
    httpServer: listening.kind,
    ...first,
    signInUrl: accounts.signIn.operatorLink().url,
    loaded,
    close: () => opened.close(),
  };
}

function openMetrics(opened: Opened): Metrics {
  const metrics = new Metrics();
  const eventLoopDelay = new EventLoopDelay();
  eventLoopDelay.register(metrics);
  opened.add(() => eventLoopDelay.close());
  return metrics;
}

function registerMetrics(
  { memoryBytesMax }: Settings,
  metrics: Metrics,
  { storage, pipeline, pools, tools }: Awaited<ReturnType<typeof openRetrieval>>,
): void {
  const isolationLevel = tools.isolation.sandbox.level;
  const measured = { metrics, pools: Object.values(pools), memoryBytesMax, isolationLevel };
  registerPipelineMetrics({ ...storage, ...pipeline, ...measured });
}

function closeWith(opened: Opened, { mail, sessions, keys, refusals }: AccountRooms): void {
  opened.add(() => mail.close());
  opened.add(() => sessions.close());
  opened.add(() => keys.writeUses());
  opened.add(() => refusals.close());
}

/** What earlier runs left of accounts, before anybody is served. */
async function settleAccounts(
  settings: Settings,
  store: Store,
  { organisations, sessions }: AccountRooms,
): Promise<EffectiveTiers> {
  await sessions.endAdministrators();
  const tiers = effectiveTiers(settings, store, organisations);
  await tiers.recordGrants();
  return tiers;
}

/** From here on the process connects only to what the settings name. */
function guardedEgress(settings: Settings, logger: Logger): Egress {
  const egress = openEgress(settings);
  warnOfRefused(egress, logger);
  guardSockets(egress);
  return egress;
}

/** Everything behind the door that needs closing, in the order in which it is opened. */
async function openRetrieval(
  settings: Settings,
  opened: Opened,
  {
    egress,
    logger,
    metrics,
  }: { readonly egress: Egress; readonly logger: Logger; readonly metrics: Metrics },
) {
  const data = await openDataDirectory({
    path: settings.data,
    reserveBytes: settings.diskReserveBytes,
    logger,
    chance,
    turns,
  });
  opened.add(() => data.close());
  const storage = await buildStorage(settings, data, logger);
  storage.meter.start();
  opened.add(() => storage.meter.close());
  opened.add(() => storage.indexes.close());
  const { made, tools } = await openTooling(settings, data, logger);
  opened.add(() => tools.desk.close());
  const processes = new ParserProcesses();
  const pools = buildPools(settings, processes, tools, logger);
  opened.add(async () => {
    await Promise.all(Object.values(pools).map((pool) => pool.close()));
    processes.killAll();
  });
  // What knows the answers is built later.
  const hooks = { mayQuote: () => false, goOn: (_model: string): void => {} };
  const mayQuote = () => hooks.mayQuote();
  const catalogue = await openModels(settings, data, logger, {
    metrics,
    egress,
    mayQuote,
    onRecovered: (model) => hooks.goOn(model),
  });
  const embedder = await openBuiltInEmbedder(defaultEmbeddingModel);
  opened.add(() => embedder.close());
  const pipeline = await buildPipeline(settings, {
    ...{ storage, pools, made, tools, embedder, catalogue, logger, mayQuote },
  });
  opened.add(() => pipeline.ingest.close());
  hooks.goOn = (model) =>
    pipeline.ingest.hasten((collectionId) => storage.collections.byId(collectionId)?.model?.id === model);
  opened.add(() => pipeline.modelChanges.close());
  const images = new PageImages({
    pool: pools.draw,
    semaphore: organizationSemaphore({
      permits: pools.draw.threads,
      waitingMax: limits.pageImagesWaitingMax,
      what: 'page images',
    }),
    clock,
    blobs: data.blobs,
    files: made,
  });
  const snapshotMs = settings.snapshotSeconds * 1_000;
  const { memory } = pipeline;
  const housekeeping = new Housekeeping({ ...storage, images: made, memory, clock, logger, snapshotMs });
  opened.add(() => housekeeping.close());
  const modelWatch = watchModels(settings, { data, storage, pipeline, logger });
  opened.add(() => modelWatch.close());
  return { data, storage, pools, pipeline, hooks, images, made, tools, housekeeping, modelWatch };
}

/** What was made of files, and the programs that make it. */
async function openTooling(settings: Settings, data: DataDirectory, logger: Logger) {
  const made = await DerivedFiles.open({
    blobs: data.blobs,
    folder: join(data.cachePath, 'pages'),
    bytesMax: settings.pageCacheBytes,
    chance,
  });
  const { ocrEngine, ocrLanguages, office, parseThreads, toolsIsolation } = settings;
  const tools = await openTools({
    ...{ ocrEngine, ocrLanguages, converted: made },
    ocrDataFolder: settings.ocrDataFolder ?? null,
    office: office === 'auto',
    runningMax: parseThreads,
    found: optionalTools(),
    isolation: toolsIsolation,
    dataFolder: data.path,
    folder: join(data.cachePath, 'tools'),
    freshName: () => chance.uuid(),
  });
  const report = tools.isolation.isFull ? 'info' : 'warn';
  logger[report](
    { isolation: tools.isolation.sandbox.level, detail: tools.isolation.detail },
    'isolation of tools and parsers',
  );
  void tools.asked.then((states) => {
    logger.info(Object.fromEntries(states.map(({ name, detail }) => [name, detail])), 'optional tools');
  });
  return { made, tools };
}
