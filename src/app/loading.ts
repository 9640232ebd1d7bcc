import type { PaymentsReadiness } from '../billing/stripe-key-health.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Egress } from '../egress/egress.ts';
import type { Readiness } from '../http/pages.ts';
import type { ModelCatalog } from '../models/catalog.ts';
import type { ToolEnvironment } from '../parsing/tools/open-tools.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import type { WriteOperation } from '../storage/store.ts';
import type { Pipeline } from './pipeline.ts';
import { clock } from './runtime.ts';
import { describePostgres, isDetached } from './shared-storage.ts';
import type { Storage } from './storage.ts';

/** Loads collections at startup and reports readiness. */

export class LoadProgress {
  loaded = 0;
  total = 0;
  isDone = false;
  #resolve = () => {};
  /** Resolves when all collections are loaded. */
  readonly done = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });

  finish(): void {
    this.isDone = true;
    this.#resolve();
  }
}

/** Adds counters that earlier versions did not keep. Runs once, before the first write. */
async function backfillCounts({ counts, store }: Storage, collectionId: string): Promise<void> {
  if (!counts.isIncomplete(collectionId)) return;
  await store.write([counts.put(collectionId, await counts.recount(collectionId))], { mayUseReserve: true });
}

/** Adds the list of failed documents that earlier versions did not keep. Runs once, before the first write. */
async function backfillFailedDocuments(
  { counts, documents, store }: Storage,
  collectionId: string,
): Promise<void> {
  const { parsing_failed: parsingFailed, indexing_failed: indexingFailed } =
    counts.get(collectionId).documents;
  let missing = parsingFailed + indexingFailed;
  if (missing === 0) return;
  for await (const _ of documents.listFailed(collectionId)) missing -= 1;
  if (missing <= 0) return;
  let group: WriteOperation[] = [];
  for await (const operation of documents.listMissingFailures(collectionId)) {
    group.push(operation);
    if (group.length < limits.sweepOperationsMax) continue;
    await store.write(group, { mayUseReserve: true });
    group = [];
  }
  if (group.length > 0) await store.write(group, { mayUseReserve: true });
}

/** Loads every collection, then starts the pipeline. */
export async function loadCollections(
  storage: Storage,
  pipeline: Pipeline,
  progress: LoadProgress,
  logger: Logger,
): Promise<void> {
  const collections = await storage.collections.listAll();
  progress.total = collections.length;
  const started = clock.monotonic();
  for (const collection of collections) {
    await backfillCounts(storage, collection.collectionId);
    await backfillFailedDocuments(storage, collection.collectionId);
    await storage.indexes.open(collection);
    progress.loaded += 1;
  }
  pipeline.ingest.start();
  await pipeline.modelChanges.start();
  progress.finish();
  const ms = Math.round(clock.monotonic() - started);
  logger.info({ collections: collections.length, unfinished: pipeline.ingest.depth, ms }, 'ready');
}

/** Content of `/readyz`: the state of each component and of the optional tools. */
export function describeReadiness(
  isLoaded: boolean,
  {
    data,
    tools: { listStates: states },
    egress,
    catalog,
    payments,
    backups,
    tls,
  }: {
    data: DataDirectory;
    tools: ToolEnvironment;
    egress: Egress;
    catalog: ModelCatalog;
    payments: PaymentsReadiness | null;
    backups: Readiness['components'][string] | null;
    tls: Readiness['components'][string] | null;
  },
): Readiness {
  // Tools are optional: a missing tool leaves the server ready.
  const tools = states().map(({ name, detail }) => [name, { ready: true, detail }] as const);
  // An unavailable model service leaves the server ready: documents wait, and replies to queries have a warning.
  const services = catalog.listProviders().map(({ kind, model, lastError, endpoints }) => {
    const detail = endpoints
      .map((endpoint, i) => {
        const number = endpoints.length === 1 ? '' : `endpoint ${i + 1}: `;
        return `${number}circuit breaker ${endpoint.state}${endpoint.lastError === null ? '' : `, ${endpoint.lastError}`}`;
      })
      .join('; ');
    return [`${kind} service ${model}`, { ready: lastError === null, detail }] as const;
  });
  const postgres = describePostgres(data);
  return {
    ready: isLoaded && !isDetached(data),
    components: {
      store: { ready: true, detail: `${data.store.statistics().pendingWrites} pending writes` },
      ...(postgres === null ? {} : { postgresql: postgres }),
      disk: { ready: true, detail: `${data.space.freeBytes} bytes free` },
      collections: { ready: isLoaded, detail: isLoaded ? 'loaded' : 'loading' },
      models: { ready: true, detail: describeModels(catalog) },
      egress: { ready: true, detail: describeEgress(egress) },
      // The server is also ready without Stripe.
      ...(payments === null ? {} : { payments }),
      ...(backups === null ? {} : { backups }),
      ...(tls === null ? {} : { tls }),
      ...Object.fromEntries(services),
      ...Object.fromEntries(tools),
    },
  };
}

/** Lists every host that the server may connect to. */
function describeEgress({ mode, hosts }: Egress): string {
  if (mode === 'none') return 'none: all outgoing connections are blocked';
  if (hosts.length === 0) return 'configured: no hosts in the settings';
  const hostNames = hosts.map(
    ({ host, port, purpose }) => `${host}${port === null ? '' : `:${port}`} (${purpose})`,
  );
  return `configured: ${hostNames.join(', ')}`;
}

function describeModels(catalog: ModelCatalog): string {
  const added = catalog.listAddedNames();
  const addedModels = added.length === 0 ? '' : `; custom models: ${added.join(', ')}`;
  return `new collections use ${catalog.defaultEmbedding.id}${addedModels}`;
}
