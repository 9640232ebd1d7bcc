import { setTimeout as wait } from 'node:timers/promises';
import type { TestServer } from '../e2e/server.ts';
import { LoadFlow, p99Of } from './load-flow.ts';
import type { Measurements, Part, PartContext } from './part.ts';
import { metricOf, samplePeakMemory } from './process-figures.ts';
import { addDocuments, startWithTenants, type Tenant, textOf } from './tenant-server.ts';

const defaultMinutes = 13;
const overloadFactor = 10;
/** How the flood is divided among the organizations that flood; each alone is more than a fair share. */
const floodShares = [0.4, 0.3, 0.2, 0.1] as const;
/** Of the sustainable rate: what the organization sends that keeps to its share. */
const politeShare = 0.05;
const documentsPerTenant = 200;
const sampleMs = 500;
const limits = { idleFactor: 3, refusalMs: 100, memoryFactor: 1.2, share: 0.2, eventLoopMs: 20 } as const;

/** Far more requests than the server can answer, from several organizations. */
export const overloadPart: Part = {
  name: 'overload',
  description: `${overloadFactor} times the rate that the server can sustain, from ${floodShares.length} organizations beside one that keeps to its share`,
  guarantees: [
    { name: 'latency', text: 'p99 of an organization within its share: at most 3 times idle' },
    { name: 'accepted', text: 'p99 of all accepted requests: at most 3 times idle' },
    { name: 'refusals', text: 'p99 of refusals: at most 100 ms' },
    { name: 'memory', text: 'memory at most 1.2 times that at the sustainable rate' },
    { name: 'shares', text: 'accepted requests of each flooding organization within 20 % of their mean' },
    { name: 'event-loop', text: 'p99 of the event loop delay at most 20 ms' },
    { name: 'errors', text: 'every request is accepted, or refused with 429 or 503' },
  ],
  async run(context) {
    const { server, tenants } = await startWithTenants(context, { tenants: floodShares.length + 1 });
    for (const tenant of tenants) {
      context.progress('adding documents');
      await addDocuments(tenant, {
        ...{ collection: 'notes', count: documentsPerTenant },
        below: (limit) => context.random.below(limit),
      });
    }
    return new Overload(context, server, tenants).run();
  },
};

class Overload {
  readonly #context: PartContext;
  readonly #server: TestServer;
  readonly #tenants: readonly Tenant[];

  constructor(context: PartContext, server: TestServer, tenants: readonly Tenant[]) {
    this.#context = context;
    this.#server = server;
    this.#tenants = tenants;
  }

  async run(): Promise<Measurements> {
    const milliseconds = this.#context.millisecondsFor(defaultMinutes);
    const idleMs = await this.#idle(milliseconds * 0.12);
    const { perSecond, memoryBytes } = await this.#sustainable(milliseconds * 0.1);
    await this.#loopDelayMs();
    const flood = this.#flows();
    const polite = this.#flow(this.#tenants.at(-1)!);
    const sampler = samplePeakMemory(this.#context, this.#server.pid);
    const overloadMs = milliseconds * 0.75;
    if (this.#context.plantsFault) void this.#stall(overloadMs);
    const isAborted = () => this.#context.signal.aborted;
    const progress = setInterval(() => this.#show(flood, polite), sampleMs);
    await Promise.all([
      ...flood.map((flow, i) =>
        flow.openLoop(perSecond * overloadFactor * floodShares[i]!, overloadMs, isAborted),
      ),
      polite.openLoop(Math.max(2, perSecond * politeShare), overloadMs, isAborted),
    ]);
    clearInterval(progress);
    const loopDelayMs = await this.#loopDelayMs();
    const measured = {
      ...{ idleP99Ms: idleMs, sustainablePerSecond: perSecond, sustainableMemoryBytes: memoryBytes },
      ...{ peakMemoryBytes: sampler(), eventLoopP99Ms: loopDelayMs ?? 'not exported' },
    };
    return { ...measured, ...this.#judge({ flood, polite, ...measured }) };
  }

  #flow(tenant: Tenant): LoadFlow {
    const { random } = this.#context;
    const query = () => textOf(6, (limit) => random.below(limit));
    const flow = new LoadFlow({
      ...{ url: this.#server.url, key: tenant.key, operation: 'queries/top-snippets' },
      bodyOf: () => ({ collection_name: 'notes', query: query(), k: 10, reranker: 'zerank-1-small' }),
    });
    this.#context.onCleanup(() => flow.close());
    return flow;
  }

  #flows(): LoadFlow[] {
    return this.#tenants.slice(0, floodShares.length).map((tenant) => this.#flow(tenant));
  }

  /** The p99 of one request at a time. */
  async #idle(milliseconds: number): Promise<number> {
    this.#context.progress('idle');
    const flow = this.#flow(this.#tenants.at(-1)!);
    await flow.closedLoop(1, Math.min(2_000, milliseconds / 4));
    const measured = this.#flow(this.#tenants.at(-1)!);
    await measured.closedLoop(1, milliseconds, 10);
    return p99Of(measured.accepted);
  }

  /** Replies a second that a closed loop of some connections of every organization gets. */
  async #sustainable(milliseconds: number): Promise<{ perSecond: number; memoryBytes: number }> {
    this.#context.progress('finding the sustainable rate');
    const flows = this.#tenants.map((tenant) => this.#flow(tenant));
    const sampler = samplePeakMemory(this.#context, this.#server.pid);
    const started = performance.now();
    await Promise.all(flows.map((flow) => flow.closedLoop(4, milliseconds)));
    const seconds = (performance.now() - started) / 1_000;
    const replies = flows.reduce((sum, flow) => sum + flow.accepted.values, 0);
    return { perSecond: replies / seconds, memoryBytes: sampler() };
  }

  /** Since it was read last; null where the server does not export it. */
  async #loopDelayMs(): Promise<number | null> {
    const seconds = await metricOf(this.#server.url, 'quarry_event_loop_delay_seconds', '{quantile="0.99"}');
    return seconds === null ? null : seconds * 1_000;
  }

  /** A server that stands still for a while, as one does whose event loop is blocked. */
  async #stall(overloadMs: number): Promise<void> {
    await wait(overloadMs / 4);
    process.kill(this.#server.pid, 'SIGSTOP');
    await wait(Math.max(1_000, overloadMs / 4));
    process.kill(this.#server.pid, 'SIGCONT');
  }

  #show(flood: readonly LoadFlow[], polite: LoadFlow): void {
    const sum = (of: (flow: LoadFlow) => number) => flood.reduce((total, flow) => total + of(flow), 0);
    this.#context.progress(
      `${sum(({ accepted }) => accepted.values)} accepted, ${sum(({ refused }) => refused.values)} refused, within its share p99 ${p99Of(polite.accepted).toFixed(0)} ms`,
    );
  }

  #judge(found: {
    readonly flood: readonly LoadFlow[];
    readonly polite: LoadFlow;
    readonly idleP99Ms: number;
    readonly sustainableMemoryBytes: number;
    readonly peakMemoryBytes: number;
    readonly eventLoopP99Ms: number | string;
  }): Measurements {
    const { flood, polite, idleP99Ms } = found;
    const all = [...flood, polite];
    const politeP99Ms = p99Of(polite.accepted);
    const floodP99Ms = Math.max(...flood.map(({ accepted }) => p99Of(accepted)));
    const refusalP99Ms = Math.max(...all.map(({ refused }) => p99Of(refused)));
    const counts = flood.map(({ accepted }) => accepted.values);
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    const shareOff = Math.max(...counts.map((count) => Math.abs(count - mean) / Math.max(1, mean)));
    const odd = all.flatMap((flow) => [...flow.odd]);
    this.#most('latency', politeP99Ms, limits.idleFactor * idleP99Ms, 'ms within its share');
    this.#most('accepted', Math.max(politeP99Ms, floodP99Ms), limits.idleFactor * idleP99Ms, 'ms accepted');
    this.#most('refusals', refusalP99Ms, limits.refusalMs, 'ms refused');
    this.#most('shares', shareOff, limits.share, 'of the mean');
    const memory = limits.memoryFactor * found.sustainableMemoryBytes;
    if (found.peakMemoryBytes === 0)
      this.#context.skip('memory', 'the memory of the server cannot be read: it needs /proc');
    else this.#most('memory', found.peakMemoryBytes, memory, 'bytes');
    if (typeof found.eventLoopP99Ms === 'string')
      this.#context.violate('event-loop', 'the server does not export quarry_event_loop_delay_seconds');
    else this.#most('event-loop', found.eventLoopP99Ms, limits.eventLoopMs, 'ms');
    if (polite.refused.values > 0)
      this.#context.violate('latency', `${polite.refused.values} requests within the share were refused`);
    for (const [status, count] of odd)
      this.#context.violate('errors', `${count} requests were answered ${status}`);
    return {
      ...{ politeP99Ms, floodP99Ms, refusalP99Ms, shareOff, politeRefused: polite.refused.values },
      accepted: all.reduce((sum, flow) => sum + flow.accepted.values, 0),
      refused: all.reduce((sum, flow) => sum + flow.refused.values, 0),
      unsent: all.reduce((sum, flow) => sum + flow.unsent, 0),
      ...Object.fromEntries(counts.map((count, i) => [`acceptedOfFlood${i + 1}`, count])),
    };
  }

  #most(guarantee: string, found: number, limit: number, unit: string): void {
    if (found <= limit) return;
    this.#context.violate(guarantee, `${found.toPrecision(4)} ${unit} is over ${limit.toPrecision(4)}`);
  }
}
