import { setTimeout as sleep } from 'node:timers/promises';
import { assert } from '../../src/core/assert.ts';
import type { BenchApiClient } from './api.ts';
import type { BenchContext } from './bench-case.ts';
import { cpuMsOf } from './cpu-time.ts';
import { documentGroup } from './query-calls.ts';
import { randomStream, shuffle } from './random.ts';
import type { TextCorpus } from './text-corpus.ts';

/** A collection to be filled with the first `documents` of the corpus. */
export interface CollectionPlan {
  readonly name: string;
  readonly shards: number;
  readonly documents: number;
}

/** Ingest measurements of one portion of documents, from the first byte sent until all of it is searchable. */
export interface IngestFigures {
  readonly documents: number;
  readonly textBytes: number;
  readonly ms: number;
  /** CPU of all threads of the server; null if the system does not report it. */
  readonly serverCpuMs: number | null;
}

export interface FilledCollection {
  readonly plan: CollectionPlan;
  readonly portions: readonly IngestFigures[];
}

interface FillTarget {
  readonly api: BenchApiClient;
  readonly pid: number;
}

const fillStream = 5;
const batchDocuments = 64;
/** Concurrent batches of a portion; enough that no worker pool waits for the client. */
const batchesAtOnce = 4;
const idleCpuShareMax = 0.1;
const settleMsMax = 60_000;

/**
 * Adds the documents over HTTP, portion by portion. The order of the collections is random for each portion,
 * so that disturbances of the machine and a cold server affect all alike. Errors: rejects if a document is
 * rejected or fails.
 */
export async function fillCollections(
  server: FillTarget,
  plans: readonly CollectionPlan[],
  corpus: TextCorpus,
  { options, progress, signal }: BenchContext,
): Promise<FilledCollection[]> {
  const portions = new Map(plans.map((plan) => [plan, [] as IngestFigures[]]));
  for (const { name, shards } of plans) {
    await server.api.call('collections/add-collection', { collection_name: name, num_shards: shards });
  }
  progress.update('warming up', 0, 1, 'documents to a collection of their own');
  await server.api.call('collections/add-collection', { collection_name: 'warm-up', num_shards: 1 });
  await addPortion(server, 'warm-up', corpus, {
    first: 0,
    count: Math.min(batchDocuments, corpus.documents),
  });
  const total = plans.reduce((sum, { documents }) => sum + documents, 0);
  let done = 0;
  const hasGroups = options.calls !== null;
  const portionDocuments = batchDocuments * batchesAtOnce;
  for (let first = 0; first < corpus.documents; first += portionDocuments) {
    const activePlans = plans.filter(({ documents }) => documents > first);
    for (const plan of shuffle(activePlans, randomStream(options.seed, fillStream, first))) {
      signal.throwIfAborted();
      progress.update('adding documents', done, total, `of ${total}: ${plan.name}`);
      const count = Math.min(portionDocuments, plan.documents - first);
      portions.get(plan)?.push(await addPortion(server, plan.name, corpus, { first, count, hasGroups }));
      done += count;
    }
  }
  for (const plan of plans) await waitForIndexed(server.api, plan, signal);
  return plans.map((plan) => ({ plan, portions: portions.get(plan) ?? [] }));
}

interface DocumentRange {
  readonly first: number;
  readonly count: number;
  /** Whether the documents have the metadata of `documentGroup`. */
  readonly hasGroups?: boolean;
}

/** Adds documents of the corpus and waits until they are searchable. */
export async function addPortion(
  { api, pid }: FillTarget,
  collection: string,
  corpus: TextCorpus,
  { first, count, hasGroups = false }: DocumentRange,
): Promise<IngestFigures> {
  const all = Array.from({ length: count }, (_, i) => corpus.document(first + i));
  const documents = all.map(({ path, text }, i) => ({
    path,
    content: { type: 'text', text },
    overwrite: true,
    ...(hasGroups ? { metadata: documentGroup(first + i) } : {}),
  }));
  const batches: (typeof documents)[] = [];
  for (let at = 0; at < count; at += batchDocuments) batches.push(documents.slice(at, at + batchDocuments));
  const [startMs, cpuBefore] = [performance.now(), cpuMsOf(pid)];
  await Promise.all(batches.map((batch) => addBatch(api, collection, batch)));
  const cpuAfter = cpuMsOf(pid);
  return {
    documents: count,
    textBytes: all.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
    ms: performance.now() - startMs,
    serverCpuMs: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
  };
}

export async function addBatch(
  api: BenchApiClient,
  collection: string,
  documents: readonly object[],
): Promise<void> {
  const { results } = await api.call<{ results: { path: string; status: number; detail?: string }[] }>(
    'documents/add-documents',
    { collection_name: collection, documents, wait: true },
  );
  const refused = results.find(({ status }) => status !== 201 && status !== 200);
  if (refused !== undefined) throw new Error(`${refused.path}: ${refused.status} ${refused.detail ?? ''}`);
}

async function waitForIndexed(api: BenchApiClient, plan: CollectionPlan, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const status = await api.call<{ num_indexed_documents: number; num_failed_documents: number }>(
      'status/get-status',
      { collection_name: plan.name },
    );
    if (status.num_failed_documents > 0) {
      throw new Error(`${status.num_failed_documents} documents of ${plan.name} failed.`);
    }
    if (status.num_indexed_documents === plan.documents) return;
    assert(status.num_indexed_documents < plan.documents, 'no other client adds documents');
    await sleep(200);
  }
}

/** Waits until the server is idle after ingest. */
export async function waitUntilIdle(pid: number, { progress, signal }: BenchContext): Promise<void> {
  const until = performance.now() + settleMsMax;
  for (;;) {
    signal.throwIfAborted();
    progress.update('waiting until the server is idle', 0, 1, '');
    const [before, startedMs] = [cpuMsOf(pid), performance.now()];
    await sleep(500);
    const after = cpuMsOf(pid);
    if (before === null || after === null) return;
    if (after - before < idleCpuShareMax * (performance.now() - startedMs)) return;
    if (performance.now() > until) {
      throw new Error(`The server is still busy ${settleMsMax / 1_000} s after all documents were indexed.`);
    }
  }
}
