import { bootstrapInstallation } from '../accounts/bootstrap.ts';
import type { EffectiveTiers } from '../billing/effective-tiers.ts';
import { loadPlans, type Plans } from '../billing/plans.ts';
import type { Settings } from '../config/schema.ts';
import type { InheritedSocket, LoadedSettings } from '../config/settings.ts';
import { LogTail } from '../core/log-tail.ts';
import { createLogger, type Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { createEgress, warnAboutDeniedHosts } from '../egress/create-egress.ts';
import type { Egress } from '../egress/egress.ts';
import { guardSockets } from '../egress/guard-sockets.ts';
import { createExpirationTask } from '../ingest/expiration.ts';
import type { SlowQueryLog } from '../services/slow-query-log.ts';
import { type DataDirectory, openDataDirectory } from '../storage/data-directory.ts';
import { ErasureClock } from '../storage/erasure-clock.ts';
import type { Store } from '../storage/store.ts';
import { type AccountComponents, buildAccountComponents } from './account-components.ts';
import { accountMaintenanceTasks, buildAccounts, createOrganizationRemoval } from './accounts.ts';
import { type Backups, openBackups } from './backups.ts';
import { buildBilling, createEffectiveTiers, mergePlanLimits } from './billing.ts';
import { openCertificates } from './certificates.ts';
import { createChangeTrimTask } from './changes.ts';
import { createHistoryTask } from './history.ts';
import { Installation } from './installation.ts';
import { openIntegrations } from './integrations.ts';
import { checkInheritedSocket, openListeners } from './listeners.ts';
import { LoadProgress, loadCollections } from './loading.ts';
import { buildMarketplaces } from './marketplaces.ts';
import { openMetrics, registerMetrics } from './metrics.ts';
import { buildQuotas, createStorageUsageReader } from './quotas.ts';
import { openAfterPredecessor } from './replacement-process.ts';
import {
  buildReadiness,
  buildRequestHandler,
  localUrl,
  warnAboutInsecureSettings,
} from './request-handler.ts';
import { ResourceStack } from './resource-stack.ts';
import { createToolVersionsTask, openRetrieval, type Retrieval } from './retrieval.ts';
import { backgroundScheduler, clock, random } from './runtime.ts';
import { buildServices, createCollectionServices, createDataRemoval } from './services.ts';
import { openSharedStorage } from './shared-storage.ts';
import { openSlowQueryLog } from './slow-queries.ts';
import type { Storage } from './storage.ts';
import { openVocabularies } from './suggestions.ts';
import { openTracer } from './tracing.ts';

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
  /** Number of collections found at the start. */
  countCollections(): number;
  countRunningRequests(): number;
  /** Declares that another process continues with the listening socket; `close` then rejects no request. */
  shareSocket(): void;
  /** Finishes running work, writes pending data and frees all resources. Idempotent. */
  close(): Promise<void>;
}

/** Builds every module, listens, and begins to load collections; requests get 503 until loading is done. */
export async function startApp(
  loaded: LoadedSettings,
  inheritedSocket: InheritedSocket | null,
): Promise<App> {
  checkInheritedSocket(loaded.settings, inheritedSocket);
  const resources = new ResourceStack();
  try {
    return await openApp(loaded, resources, inheritedSocket);
  } catch (error) {
    await resources.close();
    throw error;
  }
}

async function openApp(
  loaded: LoadedSettings,
  resources: ResourceStack,
  inheritedSocket: InheritedSocket | null,
): Promise<App> {
  const { settings } = loaded;
  const base = await openBase(settings, resources, inheritedSocket);
  const { logger, metrics, egress, certificates, tracer, data, backups, components } = base;
  const inputs = { data, organizations: components.organizations, egress, logger, metrics, tracer };
  const retrieval = await openRetrieval(settings, resources, inputs);
  const { tools, pipeline, pools } = retrieval;
  const installation = new Installation(loaded, base.logTail);
  const slowQueries = openSlowQueryLog(settings, { logger, metrics });
  const moduleDependencies = { ...base, components, retrieval, installation, slowQueries };
  const accountModules = await openAccountModules(settings, resources, moduleDependencies);
  const { services, accounts, quotas, payments } = accountModules;
  registerMetrics(settings, metrics, { data, retrieval });
  const progress = new LoadProgress();
  const readiness = buildReadiness({ ...base, tools, pipeline, progress, payments: payments.state });
  const requestHandler = buildRequestHandler(settings, {
    ...base,
    tools,
    components,
    services,
    accounts,
    pipeline,
    pools,
    quotas,
    progress,
    readiness,
    waitsForStart: inheritedSocket !== null,
  });
  const listenerInputs = { requestHandler, certificates, inheritedSocket, logger };
  const listening = await openListeners(settings, resources, listenerInputs);
  // Runs after listening, which can fail because the address is in use: a key that was created must be shown.
  const { organizationId, newKey } = await bootstrap(settings, components);
  warnAboutInsecureSettings(settings, logger);
  const url = settings.baseUrl ?? localUrl(settings, listening.port);
  installation.setListening({ url, organizationId, httpServer: listening.kind, readiness });
  const erasure = await ErasureClock.open({ store: data.store, clock, logger });
  backups.shipper?.start();
  const loading = loadCollections(retrieval.storage, pipeline, progress, logger).then(() =>
    startBackgroundWork(settings, { backups, components, retrieval, accountModules, erasure, logger }),
  );
  return {
    port: listening.port,
    httpServer: listening.kind,
    organizationId,
    newKey,
    signInUrl: accounts.signIn.createOperatorLink().url,
    loaded: loading,
    countCollections: () => progress.total,
    countRunningRequests: () => listening.runningRequests,
    shareSocket: () => listening.shareSocket(),
    close: () => resources.close(),
  };
}

/** Opens the components that depend on the settings only, the data directory, and the accounts in it. */
async function openBase(
  settings: Settings,
  resources: ResourceStack,
  inheritedSocket: InheritedSocket | null,
) {
  const isReplacement = inheritedSocket?.isFromPredecessor === true;
  const logTail = new LogTail();
  const logger = createLogger(settings.logLevel, settings.logFormat, logTail);
  const metrics = openMetrics(resources);
  const plans = loadPlans(settings.plansFile);
  const egress = openGuardedEgress(settings, logger);
  const certificates = await openCertificates(settings, { clock, logger, metrics });
  const tracer = openTracer(settings, resources, { egress, logger, metrics });
  const openDirectory = () => openData(settings, resources, logger);
  const data = await (isReplacement ? openAfterPredecessor(openDirectory) : openDirectory());
  const backups = openBackups(settings, resources, { data, logger, metrics });
  const components = buildAccountComponents(settings, data, {
    tiers: mergePlanLimits(settings, plans),
    egress,
    logger,
  });
  registerClosers(resources, components);
  return { logTail, logger, metrics, plans, egress, certificates, tracer, data, backups, components };
}

function bootstrap(settings: Settings, { organizations, keys }: AccountComponents) {
  return bootstrapInstallation({ organizations, keys, random, operatorKey: settings.apiKey });
}

interface AccountModuleDependencies {
  readonly data: DataDirectory;
  readonly backups: Backups;
  readonly components: AccountComponents;
  readonly retrieval: Retrieval;
  readonly plans: Plans;
  readonly egress: Egress;
  readonly logger: Logger;
  readonly installation: Installation;
  readonly slowQueries: SlowQueryLog | null;
  readonly metrics: Metrics;
}

/** Limits, payments and marketplaces of organizations, and the services on the data of an organization. */
async function openAccountModules(
  settings: Settings,
  resources: ResourceStack,
  dependencies: AccountModuleDependencies,
) {
  const { data, backups, components, retrieval, plans, egress, logger, installation, metrics } = dependencies;
  const { storage, pools, pipeline, images, derivedFiles, maintenance } = retrieval;
  const { organizations, keys, audit, directory, secondFactors } = components;
  const tiers = await reconcileAccounts(settings, data.store, components);
  const limiters = buildQuotas(storage, pipeline, { organizations, logger });
  const { persistedBuckets, quotas, modelAdmission, deleteLimits } = limiters;
  resources.add(() => persistedBuckets.close());
  const publicUrl = () => installation.url;
  const paymentDependencies = { data, components, storage, plans, tiers, egress, logger, publicUrl };
  const { payments, marketplaceComponents } = await openPayments(settings, resources, paymentDependencies);
  const { marketplaces } = marketplaceComponents;
  const vocabularies = openVocabularies(storage, resources, logger);
  const collections = createCollectionServices({ storage, pipeline, audit, vocabularies });
  const inputs = { data, storage, pipeline, quotas, organizations, audit, logger, metrics };
  const { sources, scheduler, webhooks, dispatcher } = openIntegrations(settings, resources, inputs);
  const sweep = () => maintenance.sweep();
  const deleteDocuments = createDataRemoval({ sources, webhooks, collections, storage, sweep, deleteLimits });
  const deleteData = async (id: string) => {
    await marketplaces.deleteOrganization(id);
    await payments.billing.closeAccount(id);
    return deleteDocuments(id);
  };
  const removal = createOrganizationRemoval(components, deleteData, logger);
  resources.add(() => removal.close());
  // Closed before the removals, which wait for the sweep that they requested.
  resources.add(() => maintenance.close());
  const services = buildServices({
    settings,
    webhooks,
    data,
    backups,
    storage,
    pools,
    pipeline,
    metrics,
    organizations,
    tiers,
    keys,
    audit,
    directory,
    secondFactors,
    publicUrl,
    collections,
    deleteOrganization: (id, by) => removal.deleteOrganization(id, by),
    modelAdmission,
    quotas,
    images,
    derivedFiles,
    slowQueries: dependencies.slowQueries,
    vocabularies,
    installation,
    sources,
  });
  const accounts = buildAccounts(settings, {
    data,
    components,
    removal,
    installation,
    storageOf: createStorageUsageReader(quotas, pipeline),
    billing: payments.billing,
    marketplaces,
    egress,
  });
  return { services, accounts, quotas, payments, marketplaceComponents, removal, scheduler, dispatcher };
}

interface PaymentDependencies {
  readonly data: DataDirectory;
  readonly components: AccountComponents;
  readonly storage: Storage;
  readonly plans: Plans;
  readonly tiers: EffectiveTiers;
  readonly egress: Egress;
  readonly logger: Logger;
  readonly publicUrl: () => string;
}

async function openPayments(
  settings: Settings,
  resources: ResourceStack,
  { data, components, storage, plans, tiers, egress, logger, publicUrl }: PaymentDependencies,
) {
  const payments = await buildBilling(settings, {
    plans,
    tiers,
    storage,
    components,
    logger,
    publicUrl,
    egress,
  });
  resources.add(() => payments.close());
  const marketplaceComponents = buildMarketplaces(settings, {
    data,
    components,
    meter: storage.meter,
    publicUrl,
    egress,
    logger,
    payments,
    tiers,
  });
  return { payments, marketplaceComponents };
}

type AccountModules = Awaited<ReturnType<typeof openAccountModules>>;

interface BackgroundWorkDependencies {
  readonly backups: Backups;
  readonly components: AccountComponents;
  readonly retrieval: Retrieval;
  readonly accountModules: AccountModules;
  readonly erasure: ErasureClock;
  readonly logger: Logger;
}

/** Starts all background work once all collections are loaded. */
async function startBackgroundWork(
  settings: Settings,
  {
    backups,
    components,
    retrieval: { modelWatcher, maintenance, storage, pipeline, tools },
    accountModules: { payments, marketplaceComponents, removal, scheduler, dispatcher },
    erasure,
    logger,
  }: BackgroundWorkDependencies,
): Promise<void> {
  await modelWatcher.start();
  maintenance.start([
    ...accountMaintenanceTasks(settings, components, erasure),
    createExpirationTask({ ...storage, writer: pipeline.writer, now: () => erasure.now(), logger }),
    createChangeTrimTask(storage.feeds),
    createHistoryTask(storage, erasure),
    createToolVersionsTask(tools, logger),
    ...payments.maintenanceTasks,
    ...marketplaceComponents.maintenanceTasks,
  ]);
  await removal.start();
  await marketplaceComponents.marketplaces.start();
  await dispatcher.start();
  await payments.start();
  await scheduler.start();
  backups.manager.start();
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

async function openData(
  settings: Settings,
  resources: ResourceStack,
  logger: Logger,
): Promise<DataDirectory> {
  const shared = openSharedStorage(settings);
  const hasJournal = settings.backupTarget !== null && settings.backupJournalSeconds > 0;
  const data = await openDataDirectory({
    path: settings.data,
    reserveBytes: settings.diskReserveBytes,
    compression: settings.storeCompression,
    logger,
    random,
    backgroundScheduler,
    ...(hasJournal ? { journalClock: clock } : {}),
    ...(shared === null ? {} : { shared }),
  });
  resources.add(() => data.close());
  return data;
}
