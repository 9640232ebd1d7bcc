import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { PaymentsState } from '../billing/key-health.ts';
import type { Egress } from '../egress/egress.ts';
import type { Readiness } from '../http/pages.ts';
import type { ModelCatalogue } from '../models/catalogue.ts';
import type { OpenedTools } from '../parsing/open-tools.ts';
import type { DataDirectory } from '../store/data-directory.ts';
import type { Operation } from '../store/store.ts';
import { clock } from './given.ts';
import type { Pipeline } from './pipeline.ts';
import type { Storage } from './storage.ts';

/** Collections being loaded, and what /readyz says of it. */

export interface LoadProgress {
  loaded: number;
  all: number;
  done: boolean;
}

/** Counts what an earlier build did not, once, before anything is written. */
async function countWhole({ counts, store }: Storage, collectionId: string): Promise<void> {
  if (!counts.isPartial(collectionId)) return;
  await store.write([counts.put(collectionId, await counts.recount(collectionId))], { mayUseReserve: true });
}

/** Lists the failed documents that an earlier build did not, once, before anything is written. */
async function listFailures({ counts, documents, store }: Storage, collectionId: string): Promise<void> {
  const { parsing_failed: unread, indexing_failed: unindexed } = counts.get(collectionId).documents;
  let missing = unread + unindexed;
  if (missing === 0) return;
  for await (const _ of documents.listFailed(collectionId)) missing -= 1;
  if (missing <= 0) return;
  let group: Operation[] = [];
  for await (const operation of documents.unlistedFailures(collectionId)) {
    group.push(operation);
    if (group.length < limits.sweepOperationsMax) continue;
    await store.write(group, { mayUseReserve: true });
    group = [];
  }
  if (group.length > 0) await store.write(group, { mayUseReserve: true });
}

/** Loads every collection, then lets the pipeline work. */
export async function load(
  storage: Storage,
  pipeline: Pipeline,
  progress: LoadProgress,
  logger: Logger,
): Promise<void> {
  const collections = await storage.collections.all();
  progress.all = collections.length;
  const started = clock.monotonic();
  for (const collection of collections) {
    await countWhole(storage, collection.collectionId);
    await listFailures(storage, collection.collectionId);
    await storage.indexes.open(collection);
    progress.loaded += 1;
  }
  pipeline.ingest.start();
  await pipeline.modelChanges.start();
  progress.done = true;
  const ms = Math.round(clock.monotonic() - started);
  logger.info({ collections: collections.length, unfinished: pipeline.ingest.depth, ms }, 'ready');
}

/** What `/readyz` says: the parts of the server, and which optional tools this machine has. */
export function readiness(
  isLoaded: boolean,
  {
    data,
    tools: { states },
    egress,
    catalogue,
    payments,
  }: {
    data: DataDirectory;
    tools: OpenedTools;
    egress: Egress;
    catalogue: ModelCatalogue;
    payments: PaymentsState | null;
  },
): Readiness {
  // None of them is needed, so what is missing leaves the server ready.
  const tools = states().map(({ name, detail }) => [name, { ready: true, detail }] as const);
  // A service that is away leaves the server ready: documents wait, and queries say that they do without.
  const services = catalogue.providers().map(({ kind, model, state, trouble }) => {
    const detail = `circuit breaker ${state}${trouble === null ? '' : `, ${trouble}`}`;
    return [`${kind} service ${model}`, { ready: trouble === null, detail }] as const;
  });
  return {
    ready: isLoaded,
    components: {
      store: { ready: true, detail: `${data.store.statistics().pendingWrites} writes on their way` },
      disk: { ready: true, detail: `${data.space.freeBytes} bytes free` },
      collections: { ready: isLoaded, detail: isLoaded ? 'loaded' : 'loading' },
      models: { ready: true, detail: modelsDetail(catalogue) },
      egress: { ready: true, detail: egressDetail(egress) },
      // Without payments the server still serves.
      ...(payments === null ? {} : { payments }),
      ...Object.fromEntries(services),
      ...Object.fromEntries(tools),
    },
  };
}

/** Every host that the server may connect to. */
function egressDetail({ mode, hosts }: Egress): string {
  if (mode === 'none') return 'none: every outgoing connection is refused';
  if (hosts.length === 0) return 'configured: no setting names a host';
  const places = hosts.map(
    ({ host, port, purpose }) => `${host}${port === null ? '' : `:${port}`} (${purpose})`,
  );
  return `configured: ${places.join(', ')}`;
}

function modelsDetail(catalogue: ModelCatalogue): string {
  const added = catalogue.added();
  const others = added.length === 0 ? '' : `; added: ${added.join(', ')}`;
  return `new collections use ${catalogue.embeddingDefault.id}${others}`;
}
