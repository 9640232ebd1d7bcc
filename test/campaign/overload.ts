import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { TestServer } from '../e2e/server.ts';
import { createMeasurementWindows, type MeasurementWindows } from './measurement-windows.ts';
import type { Measurements, Part, PartContext } from './part.ts';
import { readMetric, samplePeakMemory } from './process-metrics.ts';
import { p99Of, RequestGenerator } from './request-generator.ts';
import { addDocuments, type CampaignTenant, randomText, startServerWithTenants } from './tenant-server.ts';

const defaultMinutes = 13;
const overloadFactor = 10;
/** Share of the flood sent by each flooding organization; each alone exceeds a fair share. */
const floodShares = [0.4, 0.3, 0.2, 0.1] as const;
/** Fraction of the sustainable rate sent by the organization that stays within its share. */
const wellBehavedShare = 0.05;
const documentsPerTenant = 200;
/** Documents this long make a reranked query expensive, so that rejections are a small part of the server's work. */
const wordsPerDocument = 1_200;
const sampleMs = 500;
/** Undisturbed latencies of an idle server that each half of its measurement needs: p99 then has three beyond it. */
const idleSamplesMin = 300;
/** How often the measurement of an idle server is repeated on a host that disturbs it. */
const idleAttemptsMax = 4;
const limits = { idleFactor: 3, rejectionMs: 100, memoryFactor: 1.2, share: 0.2, eventLoopMs: 20 } as const;

/** Far more requests than the server can handle, from several organizations. */
export const overloadPart: Part = {
  name: 'overload',
  description: `${overloadFactor} times the rate that the server can sustain, from ${floodShares.length} organizations, while another one stays within its share`,
  guarantees: [
    {
      name: 'latency',
      text: 'p99 of an organization within its share: at most 3 times that of an idle server',
    },
    { name: 'accepted', text: 'p99 of all accepted requests: at most 3 times that of an idle server' },
    { name: 'refusals', text: 'p99 of rejections: at most 100 ms' },
    { name: 'memory', text: 'memory at most 1.2 times that at the sustainable rate' },
    { name: 'shares', text: 'accepted requests of each flooding organization within 20 % of their mean' },
    { name: 'event-loop', text: 'p99 of the event loop delay at most 20 ms' },
    { name: 'errors', text: 'every request is accepted, or rejected with 429 or 503' },
  ],
  async run(context) {
    const { server, tenants } = await startServerWithTenants(context, { tenants: floodShares.length + 1 });
    for (const tenant of tenants) {
      context.progress('adding documents');
      await addDocuments(tenant, {
        collection: 'notes',
        count: documentsPerTenant,
        words: wordsPerDocument,
        randomBelow: (limit) => context.random.below(limit),
      });
    }
    return new OverloadRun(context, server, tenants).run();
  },
};

class OverloadRun {
  readonly #context: PartContext;
  readonly #server: TestServer;
  readonly #tenants: readonly CampaignTenant[];
  readonly #windows: MeasurementWindows;
  #idleSamplesSuffice = true;

  constructor(context: PartContext, server: TestServer, tenants: readonly CampaignTenant[]) {
    this.#context = context;
    this.#windows = createMeasurementWindows(context);
    this.#server = server;
    this.#tenants = tenants;
  }

  async run(): Promise<Measurements> {
    const milliseconds = this.#context.millisecondsFor(defaultMinutes);
    const alone = this.#generatorFor(this.#tenants.at(-1)!);
    await this.#measureIdle(alone, milliseconds * 0.06);
    const { perSecond, memoryBytes } = await this.#measureSustainableRate(milliseconds * 0.1);
    // Half before and half after the overload, because the speed of a machine changes within minutes.
    const idle = this.#generatorFor(this.#tenants.at(-1)!);
    await this.#measureIdleBesideFlood(idle, perSecond, milliseconds * 0.05);
    await this.#loopDelayMs();
    const floodGenerators = this.#generators();
    const wellBehaved = this.#generatorFor(this.#tenants.at(-1)!);
    const sampler = samplePeakMemory(this.#context, this.#server.pid);
    const overloadMs = milliseconds * 0.75;
    if (this.#context.plantsFault) void this.#blockServer(overloadMs);
    const progress = setInterval(() => this.#showProgress(floodGenerators, wellBehaved), sampleMs);
    await Promise.all([
      ...this.#flood(floodGenerators, perSecond, overloadMs),
      wellBehaved.openLoop(Math.max(2, perSecond * wellBehavedShare), overloadMs, this.#isAborted),
    ]);
    clearInterval(progress);
    const loopDelayMs = await this.#loopDelayMs();
    const peakMemoryBytes = sampler();
    const idleP99MsBefore = p99Of(idle.accepted);
    await this.#measureIdleBesideFlood(idle, perSecond, milliseconds * 0.05);
    const measured = {
      aloneP99Ms: p99Of(alone.accepted),
      idleP99Ms: p99Of(idle.accepted),
      idleP99MsBefore,
      sustainablePerSecond: perSecond,
      sustainableMemoryBytes: memoryBytes,
      peakMemoryBytes,
      eventLoopP99Ms: loopDelayMs ?? 'not exported',
      windows: this.#windows.count,
      disturbedWindows: this.#windows.disturbedCount,
    };
    return { ...measured, ...this.#evaluate({ floodGenerators, wellBehaved, ...measured }) };
  }

  readonly #isAborted = () => this.#context.signal.aborted;

  #flood(generators: readonly RequestGenerator[], perSecond: number, milliseconds: number): Promise<void>[] {
    return generators.map((generator, i) =>
      generator.openLoop(perSecond * overloadFactor * floodShares[i]!, milliseconds, this.#isAborted),
    );
  }

  #generatorFor(tenant: CampaignTenant, url = this.#server.url): RequestGenerator {
    const { random } = this.#context;
    const query = () => randomText(6, (limit) => random.below(limit));
    const generator = new RequestGenerator({
      url,
      key: tenant.key,
      operation: 'queries/top-snippets',
      bodyOf: () => ({ collection_name: 'notes', query: query(), k: 10, reranker: 'zerank-1-small' }),
      windows: this.#windows,
    });
    this.#context.onCleanup(() => generator.close());
    return generator;
  }

  #generators(url?: string): RequestGenerator[] {
    return this.#tenants.slice(0, floodShares.length).map((tenant) => this.#generatorFor(tenant, url));
  }

  /** Records the latencies of requests with one in flight, after a warm-up. */
  async #measureIdle(generator: RequestGenerator, milliseconds: number): Promise<void> {
    this.#context.progress('idle');
    await this.#generatorFor(this.#tenants.at(-1)!).closedLoop(1, Math.min(2_000, milliseconds / 4));
    await generator.closedLoop(1, milliseconds, 10);
  }

  /**
   * Records the latencies of requests with one in flight, beside the same flood sent to another server. The flood takes
   * its processor time on this machine too, so that the difference is that of the server. Repeats the measurement while
   * the hypervisor leaves too few latencies.
   */
  async #measureIdleBesideFlood(
    generator: RequestGenerator,
    perSecond: number,
    milliseconds: number,
  ): Promise<void> {
    const { latencies } = generator.accepted;
    const needed = latencies.values + Math.min(idleSamplesMin, milliseconds / 100);
    for (let attempt = 0; attempt < idleAttemptsMax && latencies.values < needed; attempt++)
      await this.#measureIdleOnce(generator, perSecond, milliseconds);
    this.#idleSamplesSuffice &&= latencies.values >= needed;
  }

  async #measureIdleOnce(
    generator: RequestGenerator,
    perSecond: number,
    milliseconds: number,
  ): Promise<void> {
    const worker = new Worker(new URL('./rejecting-server-worker.js', import.meta.url));
    this.#context.onCleanup(() => worker.terminate());
    const [port] = (await once(worker, 'message')) as [number];
    const flood = this.#flood(this.#generators(`http://127.0.0.1:${port}`), perSecond, milliseconds);
    await Promise.all([this.#measureIdle(generator, milliseconds * 0.8), ...flood]);
    await worker.terminate();
  }

  /** Replies per second in a closed loop of several connections per organization. */
  async #measureSustainableRate(milliseconds: number): Promise<{ perSecond: number; memoryBytes: number }> {
    this.#context.progress('finding the sustainable rate');
    const generators = this.#tenants.map((tenant) => this.#generatorFor(tenant));
    const sampler = samplePeakMemory(this.#context, this.#server.pid);
    const started = performance.now();
    await Promise.all(generators.map((generator) => generator.closedLoop(4, milliseconds)));
    const seconds = (performance.now() - started) / 1_000;
    const replies = generators.reduce((sum, generator) => sum + generator.accepted.count, 0);
    return { perSecond: replies / seconds, memoryBytes: sampler() };
  }

  /** p99 event loop delay since the previous read; null if the server does not export it. */
  async #loopDelayMs(): Promise<number | null> {
    const seconds = await readMetric(
      this.#server.url,
      'quarry_event_loop_delay_seconds',
      '{quantile="0.99"}',
    );
    return seconds === null ? null : seconds * 1_000;
  }

  /** Stops the server process for a while, as if its event loop were blocked. */
  async #blockServer(overloadMs: number): Promise<void> {
    await wait(overloadMs / 4);
    process.kill(this.#server.pid, 'SIGSTOP');
    await wait(Math.max(1_000, overloadMs / 4));
    process.kill(this.#server.pid, 'SIGCONT');
  }

  #showProgress(floodGenerators: readonly RequestGenerator[], wellBehaved: RequestGenerator): void {
    const sum = (of: (generator: RequestGenerator) => number) =>
      floodGenerators.reduce((total, flow) => total + of(flow), 0);
    this.#context.progress(
      `${sum(({ accepted }) => accepted.count)} accepted, ${sum(({ rejected }) => rejected.count)} rejected, within its share p99 ${p99Of(wellBehaved.accepted).toFixed(0)} ms`,
    );
  }

  #evaluate(found: {
    readonly floodGenerators: readonly RequestGenerator[];
    readonly wellBehaved: RequestGenerator;
    readonly idleP99Ms: number;
    readonly sustainableMemoryBytes: number;
    readonly peakMemoryBytes: number;
    readonly eventLoopP99Ms: number | string;
  }): Measurements {
    const { floodGenerators, wellBehaved, idleP99Ms } = found;
    const all = [...floodGenerators, wellBehaved];
    const wellBehavedP99Ms = p99Of(wellBehaved.accepted);
    const floodP99Ms = Math.max(...floodGenerators.map(({ accepted }) => p99Of(accepted)));
    const rejectionP99Ms = Math.max(...all.map(({ rejected }) => p99Of(rejected)));
    const counts = floodGenerators.map(({ accepted }) => accepted.count);
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    const shareOff = Math.max(...counts.map((count) => Math.abs(count - mean) / Math.max(1, mean)));
    const odd = all.flatMap((generator) => [...generator.unexpected]);
    const acceptedP99Ms = Math.max(wellBehavedP99Ms, floodP99Ms);
    const acceptedMsMax = limits.idleFactor * idleP99Ms;
    this.#checkLatency('latency', wellBehavedP99Ms, acceptedMsMax, 'ms within its share');
    this.#checkLatency('accepted', acceptedP99Ms, acceptedMsMax, 'ms accepted');
    this.#checkLatency('refusals', rejectionP99Ms, limits.rejectionMs, 'ms rejected');
    this.#checkMaximum('shares', shareOff, limits.share, 'of the mean');
    const memory = limits.memoryFactor * found.sustainableMemoryBytes;
    if (found.peakMemoryBytes === 0)
      this.#context.skip('memory', 'the memory of the server cannot be read without /proc');
    else this.#checkMaximum('memory', found.peakMemoryBytes, memory, 'bytes');
    if (typeof found.eventLoopP99Ms === 'string')
      this.#context.violate('event-loop', 'the server does not export quarry_event_loop_delay_seconds');
    else this.#checkMaximum('event-loop', found.eventLoopP99Ms, limits.eventLoopMs, 'ms');
    if (wellBehaved.rejected.count > 0)
      this.#context.violate(
        'latency',
        `${wellBehaved.rejected.count} requests within the share were rejected`,
      );
    for (const [status, count] of odd)
      this.#context.violate('errors', `${count} requests returned ${status}`);
    return {
      withinShareP99Ms: wellBehavedP99Ms,
      floodP99Ms,
      rejectionP99Ms,
      shareOff,
      withinShareRejected: wellBehaved.rejected.count,
      accepted: all.reduce((sum, generator) => sum + generator.accepted.count, 0),
      refused: all.reduce((sum, generator) => sum + generator.rejected.count, 0),
      unsent: all.reduce((sum, generator) => sum + generator.skipped, 0),
      ...Object.fromEntries(counts.map((count, i) => [`acceptedOfFlood${i + 1}`, count])),
    };
  }

  #checkLatency(guarantee: string, found: number, limit: number, unit: string): void {
    const reason = this.#idleSamplesSuffice
      ? this.#windows.reasonToSkip()
      : 'the hypervisor disturbed the measurement of the idle server';
    if (reason === null) this.#checkMaximum(guarantee, found, limit, unit);
    else this.#context.skip(guarantee, reason);
  }

  #checkMaximum(guarantee: string, found: number, limit: number, unit: string): void {
    if (found <= limit) return;
    this.#context.violate(guarantee, `${found.toPrecision(4)} ${unit} exceeds ${limit.toPrecision(4)}`);
  }
}
