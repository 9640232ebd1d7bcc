import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { randomCall, replyProblem } from '../e2e/random-load.ts';
import type { TestServer } from '../e2e/server.ts';
import { linearGrowth, mean } from './linear-trend.ts';
import type { Measurements, Part, PartContext } from './part.ts';
import { folderBytes, type ProcessMetrics, readProcessMetrics } from './process-metrics.ts';
import { type CampaignTenant, startServerWithTenants } from './tenant-server.ts';

const defaultMinutes = 60;
const clientCount = 4;
const pauseMs = 20;
const sampleCount = 400;
/** Share of the time in which caches and compactions settle; excluded from the evaluation. */
const warmUpFraction = 0.3;
/** Memory and disk usage fluctuate for minutes: a shorter run cannot show growth. */
const memoryCheckMsMin = 20 * 60_000;

interface Sample extends ProcessMetrics {
  readonly ms: number;
  readonly diskBytes: number;
}

/** Growth from the first to the last sample that counts as noise: a share of the mean plus a constant. */
const tolerances = [
  { name: 'memory', metric: 'memoryBytes', share: 0.05, slack: 16_000_000, needsTime: true },
  { name: 'descriptors', metric: 'descriptors', share: 0.05, slack: 8, needsTime: false },
  { name: 'threads', metric: 'threads', share: 0.05, slack: 2, needsTime: false },
  { name: 'processes', metric: 'processesBelow', share: 0.05, slack: 2, needsTime: false },
  { name: 'disk', metric: 'diskBytes', share: 0.1, slack: 32_000_000, needsTime: true },
] as const;

/** Mixed reads and writes for hours on a constant amount of data. */
export const soakPart: Part = {
  name: 'soak',
  description: 'mixed reads and writes on a constant amount of data, for minutes to hours',
  guarantees: [
    ...tolerances.map(({ name, share, slack }) => ({
      name,
      text: `growth after the warm-up: at most ${100 * share} % of the mean plus ${slack.toLocaleString('en-US')}`,
    })),
    { name: 'replies', text: 'no reply is an internal error or contradicts the data' },
  ],
  async run(context) {
    const { server, tenants } = await startServerWithTenants(context, { tenants: 2 });
    return new SoakRun(context, server, tenants).run();
  },
};

class SoakRun {
  readonly #context: PartContext;
  readonly #server: TestServer;
  readonly #tenants: readonly CampaignTenant[];
  readonly #samples: Sample[] = [];
  /** Planted leak: a growing number of connections that stay open. */
  readonly #leakedSockets = new Set<Socket>();
  #leakedPerSample = 0;
  #calls = 0;

  constructor(context: PartContext, server: TestServer, tenants: readonly CampaignTenant[]) {
    this.#context = context;
    this.#server = server;
    this.#tenants = tenants;
    context.onCleanup(() => {
      for (const socket of this.#leakedSockets) socket.destroy();
    });
  }

  async run(): Promise<Measurements> {
    const milliseconds = this.#context.millisecondsFor(defaultMinutes);
    const end = performance.now() + milliseconds;
    const isOver = () => this.#context.signal.aborted || performance.now() >= end;
    const work = this.#tenants.flatMap((tenant) =>
      Array.from({ length: clientCount }, () => this.#runClient(tenant, isOver)),
    );
    await Promise.all([...work, this.#collectSamples(isOver, milliseconds / sampleCount)]);
    return this.#evaluate(milliseconds);
  }

  async #runClient({ key }: CampaignTenant, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const [operation, body] = randomCall((limit) => this.#context.random.below(limit));
      const response = await fetch(`${this.#server.url}/v1/${operation}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const reply = JSON.parse(await response.text());
      const wrong = replyProblem(operation, response.status, reply);
      if (wrong !== null) this.#context.violate('replies', `${operation}: ${wrong}`, { body, reply });
      this.#calls += 1;
      await wait(pauseMs);
    }
  }

  async #collectSamples(isOver: () => boolean, everyMs: number): Promise<void> {
    const started = performance.now();
    while (!isOver()) {
      await wait(Math.max(100, everyMs));
      if (this.#context.plantsFault) await this.#leakSockets();
      const metrics = readProcessMetrics(this.#server.pid);
      if (metrics === null) continue;
      const ms = performance.now() - started;
      this.#samples.push({ ...metrics, ms, diskBytes: folderBytes(this.#server.data) });
      const megabytes = Math.round(metrics.memoryBytes / 1_000_000);
      this.#context.progress(
        `${this.#calls} calls, ${megabytes} MB, ${metrics.descriptors} descriptors, ${metrics.threads} threads`,
      );
    }
  }

  /** Opens one connection more than last time, each a descriptor of the server; replaces those it has closed. */
  async #leakSockets(): Promise<void> {
    this.#leakedPerSample += 1;
    while (this.#leakedSockets.size < this.#leakedPerSample) {
      const socket = connect({ host: '127.0.0.1', port: Number(new URL(this.#server.url).port) });
      this.#leakedSockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#leakedSockets.delete(socket));
      await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    }
  }

  #evaluate(milliseconds: number): Measurements {
    const measuredSamples = this.#samples.filter(({ ms }) => ms >= warmUpFraction * milliseconds);
    const measured: Record<string, number> = { calls: this.#calls, samples: measuredSamples.length };
    for (const { name, metric, share, slack, needsTime } of tolerances) {
      const values = measuredSamples.map((sample) => [sample.ms, sample[metric]] as const);
      const level = mean(values.map(([, value]) => value));
      const growth = linearGrowth(values);
      measured[`${metric}Mean`] = level;
      measured[`${metric}Growth`] = growth;
      const limit = share * level + slack;
      if (measuredSamples.length === 0) this.#context.skip(name, 'cannot be read without /proc');
      else if (needsTime && milliseconds < memoryCheckMsMin)
        this.#context.skip(name, 'requires at least 20 minutes (--minutes 20)');
      else if (growth > limit)
        this.#context.violate(name, `grows by ${growth.toFixed(0)}, more than ${limit.toFixed(0)}`);
    }
    return measured;
  }
}
