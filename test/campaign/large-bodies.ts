import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { TestServer } from '../e2e/server.ts';
import type { LargeBodiesTask } from './large-bodies-worker.ts';
import { createMeasurementWindows, type MeasurementWindows } from './measurement-windows.ts';
import type { Measurements, Part, PartContext } from './part.ts';
import { readProcessMetrics, samplePeakMemory } from './process-metrics.ts';
import { p99Of, RequestGenerator } from './request-generator.ts';
import { addDocuments, type CampaignTenant, randomText, startServerWithTenants } from './tenant-server.ts';

const defaultMinutes = 2;
const connections = 40;
const pauseMs = 10;
const limits = { idleFactor: 3, memoryFactor: 1.2 } as const;

/** Bodies of 1.9 million JSON values on many connections of one organization, beside queries of another one. */
export const largeBodiesPart: Part = {
  name: 'bodies',
  description: `${connections} connections of one organization that send bodies of 1.9 million values, during queries of another organization`,
  guarantees: [
    { name: 'latency', text: 'p99 of the queries of another organization: at most 3 times idle' },
    { name: 'memory', text: 'memory at most 1.2 times that of ordinary queries on as many connections' },
    { name: 'errors', text: 'every query succeeds' },
  ],
  async run(context) {
    const { server, tenants } = await startServerWithTenants(context, { tenants: 2 });
    for (const tenant of tenants)
      await addDocuments(tenant, {
        collection: 'notes',
        count: 200,
        randomBelow: (limit) => context.random.below(limit),
      });
    return await measure(context, server, tenants);
  },
};

async function measure(
  context: PartContext,
  server: TestServer,
  [sender, other]: readonly CampaignTenant[],
): Promise<Measurements> {
  const milliseconds = context.millisecondsFor(defaultMinutes);
  const windows = createMeasurementWindows(context);
  const ofOther = { tenant: other!, windows };
  context.progress('idle');
  await queries(context, server, { ...ofOther, milliseconds: milliseconds * 0.1 });
  const idle = await queries(context, server, { ...ofOther, milliseconds: milliseconds * 0.2 });
  const idleMemoryBytes = readProcessMetrics(server.pid)?.memoryBytes ?? null;
  context.progress('ordinary queries');
  const ordinary = samplePeakMemory(context, server.pid);
  await queries(context, server, { tenant: sender!, windows, milliseconds: milliseconds * 0.2, connections });
  const memoryBytes = ordinary();
  context.progress('large bodies');
  const port = Number(new URL(server.url).port);
  const workerData: LargeBodiesTask = { port, key: sender!.key, connections };
  const worker = new Worker(new URL('./large-bodies-worker.js', import.meta.url), { workerData });
  context.onCleanup(() => worker.terminate());
  const sampler = samplePeakMemory(context, server.pid);
  const idleP99Ms = p99Of(idle.accepted);
  const sending = queries(context, server, { ...ofOther, milliseconds: milliseconds * 0.5 });
  if (context.plantsFault)
    await blockServer(server, { until: sending, stopMs: Math.max(500, 10 * idleP99Ms) });
  const generator = await sending;
  const peakMemoryBytes = sampler();
  await worker.terminate();
  const p99Ms = p99Of(generator.accepted);
  const most = (guarantee: string, found: number, limit: number, unit: string) => {
    if (found > limit)
      context.violate(guarantee, `${found.toPrecision(4)} ${unit} exceeds ${limit.toPrecision(4)}`);
  };
  const reason = windows.reasonToSkip();
  if (reason === null) most('latency', p99Ms, limits.idleFactor * idleP99Ms, 'ms');
  else context.skip('latency', reason);
  if (idleMemoryBytes === null)
    context.skip('memory', 'the memory of the server cannot be read without /proc');
  else most('memory', peakMemoryBytes, limits.memoryFactor * memoryBytes, 'bytes');
  for (const [status, count] of generator.unexpected)
    context.violate('errors', `${count} queries returned ${status}`);
  if (generator.rejected.count > 0)
    context.violate('errors', `${generator.rejected.count} queries were rejected`);
  return {
    idleP99Ms,
    p99Ms,
    queries: generator.accepted.count,
    windows: windows.count,
    disturbedWindows: windows.disturbedCount,
    idleMemoryBytes: idleMemoryBytes ?? 0,
    memoryBytes,
    peakMemoryBytes,
  };
}

/** Sends queries for the given time, one in flight on each connection. */
async function queries(
  context: PartContext,
  server: TestServer,
  {
    tenant,
    windows,
    milliseconds,
    connections: count = 1,
  }: {
    readonly tenant: CampaignTenant;
    readonly windows: MeasurementWindows;
    readonly milliseconds: number;
    readonly connections?: number;
  },
): Promise<RequestGenerator> {
  const query = () => randomText(6, (limit) => context.random.below(limit));
  const generator = new RequestGenerator({
    url: server.url,
    key: tenant.key,
    operation: 'queries/top-snippets',
    bodyOf: () => ({ collection_name: 'notes', query: query(), k: 10 }),
    windows,
  });
  context.onCleanup(() => generator.close());
  await generator.closedLoop(count, milliseconds, count === 1 ? pauseMs : 0);
  return generator;
}

/**
 * Stops the server process again and again until the promise settles, as if its event loop were blocked. The client
 * completes at most `runMs / pauseMs` queries between two stops, so at least one of 20 waits for a stop.
 */
async function blockServer(
  server: TestServer,
  { until, stopMs }: { readonly until: Promise<unknown>; readonly stopMs: number },
): Promise<void> {
  const runMs = 20 * pauseMs;
  let isOver = false;
  const end = () => (isOver = true);
  void until.then(end, end);
  while (!isOver) {
    process.kill(server.pid, 'SIGSTOP');
    await wait(stopMs);
    process.kill(server.pid, 'SIGCONT');
    await wait(runMs);
  }
}
