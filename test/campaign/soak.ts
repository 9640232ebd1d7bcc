import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { TestServer } from '../e2e/server.ts';
import { anyCall, fault } from '../e2e/storm.ts';
import type { Measurements, Part, PartContext } from './part.ts';
import { bytesBelow, figuresOf, type ProcessFigures } from './process-figures.ts';
import { growthOf, mean } from './regression.ts';
import { startWithTenants, type Tenant } from './tenant-server.ts';

const defaultMinutes = 60;
const callers = 4;
const pauseMs = 20;
const samplesWanted = 400;
/** Caches and compactions settle in this part of the time, which is not looked at. */
const warmUpShare = 0.3;
/** Memory and disk go up and down by themselves for minutes: a shorter run cannot tell. */
const longMs = 20 * 60_000;

interface Sample extends ProcessFigures {
  readonly ms: number;
  readonly diskBytes: number;
}

/** Growth from the first to the last sample that is still taken for chance. */
const tolerances = [
  { name: 'memory', figure: 'memoryBytes', share: 0.05, more: 16_000_000, needsTime: true },
  { name: 'descriptors', figure: 'descriptors', share: 0.05, more: 8, needsTime: false },
  { name: 'threads', figure: 'threads', share: 0.05, more: 2, needsTime: false },
  { name: 'processes', figure: 'processesBelow', share: 0.05, more: 2, needsTime: false },
  { name: 'disk', figure: 'diskBytes', share: 0.1, more: 32_000_000, needsTime: true },
] as const;

/** Hours of everything, on data that stay as many. */
export const soakPart: Part = {
  name: 'soak',
  description: 'mixed reads and writes on data that stay as many, for minutes to hours',
  guarantees: [
    ...tolerances.map(({ name, share, more }) => ({
      name,
      text: `growth after warm-up at most ${100 * share} % and ${more.toLocaleString('en-US')}`,
    })),
    { name: 'replies', text: 'no reply is a failure of the server or says what cannot be' },
  ],
  async run(context) {
    const { server, tenants } = await startWithTenants(context, { tenants: 2 });
    return new Soak(context, server, tenants).run();
  },
};

class Soak {
  readonly #context: PartContext;
  readonly #server: TestServer;
  readonly #tenants: readonly Tenant[];
  readonly #samples: Sample[] = [];
  /** The leak that is planted: more and more connections that are kept open. */
  readonly #leak = new Set<Socket>();
  #leakSize = 0;
  #calls = 0;

  constructor(context: PartContext, server: TestServer, tenants: readonly Tenant[]) {
    this.#context = context;
    this.#server = server;
    this.#tenants = tenants;
    context.onCleanup(() => {
      for (const socket of this.#leak) socket.destroy();
    });
  }

  async run(): Promise<Measurements> {
    const milliseconds = this.#context.millisecondsFor(defaultMinutes);
    const end = performance.now() + milliseconds;
    const isOver = () => this.#context.signal.aborted || performance.now() >= end;
    const work = this.#tenants.flatMap((tenant) =>
      Array.from({ length: callers }, () => this.#caller(tenant, isOver)),
    );
    await Promise.all([...work, this.#sampleUntil(isOver, milliseconds / samplesWanted)]);
    return this.#judge(milliseconds);
  }

  async #caller({ key }: Tenant, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const [operation, body] = anyCall((limit) => this.#context.random.below(limit));
      const response = await fetch(`${this.#server.url}/v1/${operation}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const reply = JSON.parse(await response.text());
      const wrong = fault(operation, response.status, reply);
      if (wrong !== null) this.#context.violate('replies', `${operation}: ${wrong}`, { body, reply });
      this.#calls += 1;
      await wait(pauseMs);
    }
  }

  async #sampleUntil(isOver: () => boolean, everyMs: number): Promise<void> {
    const started = performance.now();
    while (!isOver()) {
      await wait(Math.max(100, everyMs));
      if (this.#context.plantsFault) await this.#leakMore();
      const figures = figuresOf(this.#server.pid);
      if (figures === null) continue;
      const ms = performance.now() - started;
      this.#samples.push({ ...figures, ms, diskBytes: bytesBelow(this.#server.data) });
      const megabytes = Math.round(figures.memoryBytes / 1_000_000);
      this.#context.progress(
        `${this.#calls} calls, ${megabytes} MB, ${figures.descriptors} descriptors, ${figures.threads} threads`,
      );
    }
  }

  /** One more connection than before, and so a descriptor of the server; those that it closed are replaced. */
  async #leakMore(): Promise<void> {
    this.#leakSize += 1;
    while (this.#leak.size < this.#leakSize) {
      const socket = connect({ host: '127.0.0.1', port: Number(new URL(this.#server.url).port) });
      this.#leak.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#leak.delete(socket));
      await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    }
  }

  #judge(milliseconds: number): Measurements {
    const kept = this.#samples.filter(({ ms }) => ms >= warmUpShare * milliseconds);
    const measured: Record<string, number> = { calls: this.#calls, samples: kept.length };
    for (const { name, figure, share, more, needsTime } of tolerances) {
      const values = kept.map((sample) => [sample.ms, sample[figure]] as const);
      const level = mean(values.map(([, value]) => value));
      const growth = growthOf(values);
      measured[`${figure}Mean`] = level;
      measured[`${figure}Growth`] = growth;
      const limit = share * level + more;
      if (kept.length === 0) this.#context.skip(name, 'the system does not tell');
      else if (needsTime && milliseconds < longMs)
        this.#context.skip(name, 'needs at least 20 minutes: --minutes 20');
      else if (growth > limit)
        this.#context.violate(name, `grows by ${growth.toFixed(0)}, more than ${limit.toFixed(0)}`);
    }
    return measured;
  }
}
