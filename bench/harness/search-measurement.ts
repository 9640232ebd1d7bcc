import { fileURLToPath } from 'node:url';
import { assert, assertDefined } from '../../src/core/assert.ts';
import type { BenchContext } from './bench-case.ts';
import { type CollectionPlan, type FilledCollection, fillCollections, waitUntilIdle } from './collections.ts';
import { Corpus } from './corpus.ts';
import { LatencyHistogram } from './histogram.ts';
import { LoadGenerator } from './load-generator.ts';
import type { LoadOutcome, LoadTarget } from './load-run.ts';
import { startProcess } from './managed-process.ts';
import { type HttpKind, type QuarryServer, startQuarryServer } from './quarry-server.ts';
import {
  compareAnswers,
  createLoadTarget,
  type Strategies,
  searchBody,
  searchOperation,
} from './questions.ts';
import { interleave } from './rounds.ts';
import { makeSlowModel } from './slow-model.ts';
import { runWrk, type WrkOutcome, wrkVersion } from './wrk.ts';

/** A load configuration for one collection. */
export interface SearchConfiguration {
  readonly name: string;
  readonly http: HttpKind;
  readonly collection: CollectionPlan;
  readonly connections: number;
  /** Requests per second of an open loop; null: closed loop. */
  readonly ratePerSecond: number | null;
  /** "wrk" only in the closed loop, and only if it is installed. */
  readonly client: 'own' | 'wrk';
}

/** Results of one measured window, or of several joined. */
export interface LoadFigures {
  readonly queriesPerSecond: number;
  readonly p50Ms: number | null;
  readonly p90Ms: number | null;
  readonly p99Ms: number | null;
  readonly p999Ms: number | null;
  readonly mostMs: number | null;
  /** Number of latencies that the quantiles are computed from. */
  readonly samples: number;
  readonly abandoned: number;
  readonly serverCpuUs: number | null;
  readonly clientCpuUs: number | null;
  /** Open loop: p99 delay of the generator's own timer. */
  readonly latenessP99Ms: number | null;
}

export interface MeasuredConfiguration {
  readonly configuration: SearchConfiguration;
  /** In the order of the rounds. */
  readonly rounds: readonly LoadFigures[];
  /**
   * All rounds joined: quantiles of all latencies. With wrk, which outputs no histogram, medians of the
   * rounds.
   */
  readonly joined: LoadFigures;
}

export interface SearchMeasurement {
  readonly configurations: readonly MeasuredConfiguration[];
  /** The generator against a trivial server, in the same rounds. */
  readonly ceiling: Omit<MeasuredConfiguration, 'configuration'>;
  readonly filled: readonly FilledCollection[];
  /** By collection, in the order of `filled`; see `AnswerAgreement`. */
  readonly agreement: readonly number[];
  /** By collection, in the order of `filled`; see `AnswerAgreement`. */
  readonly strategies: readonly Strategies[];
  readonly replyBytes: number;
  /** HTTP server in use, by requested kind. */
  readonly answeredBy: Readonly<Record<string, 'uws' | 'node'>>;
  /** CPU milliseconds per text of the bench's own model, measured before; null with the built-in model. */
  readonly modelMs: number | null;
}

const ceilingName = 'trivial server';

interface PreparedServers {
  readonly servers: ReadonlyMap<HttpKind, QuarryServer>;
  readonly corpus: Corpus;
  readonly filled: readonly FilledCollection[];
  readonly agreement: readonly number[];
  readonly strategies: readonly Strategies[];
  readonly replyBytes: number;
}

/**
 * Fills each server's collections with the same corpus, then puts load on each configuration in interleaved
 * rounds, over HTTP and from another process than the server. Errors: rejects if a document fails, a query
 * gets an error status or a connection breaks.
 */
export async function measureSearches(
  configurations: readonly SearchConfiguration[],
  context: BenchContext,
): Promise<SearchMeasurement> {
  const servers = new Map<HttpKind, QuarryServer>();
  const { modelMs } = context.options;
  const model = modelMs === null ? null : await makeSlowModel(modelMs);
  try {
    for (const { http } of configurations) {
      if (servers.has(http)) continue;
      context.progress.note(`starting a server (${http}) with an empty data directory`);
      servers.set(http, await startQuarryServer({ http, modelFolder: model?.folder ?? null }));
    }
    const prepared = await prepare(servers, configurations, context);
    const trivial = await startTrivialServer(prepared.replyBytes);
    try {
      const [, port] = await trivial.ready;
      const measured = await measureRounds(
        configurations,
        prepared,
        { pid: trivial.pid, port: Number(port) },
        context,
      );
      const { filled, agreement, strategies, replyBytes } = prepared;
      const answeredBy = Object.fromEntries([...servers].map(([kind, { http }]) => [kind, http]));
      return {
        ...{ ...measured, filled, agreement, strategies, replyBytes, answeredBy },
        modelMs: model?.ms ?? null,
      };
    } finally {
      await trivial.stop();
    }
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
  }
}

async function prepare(
  servers: ReadonlyMap<HttpKind, QuarryServer>,
  configurations: readonly SearchConfiguration[],
  context: BenchContext,
): Promise<PreparedServers> {
  const documents = Math.max(...configurations.map(({ collection }) => collection.documents));
  const corpus = new Corpus({ ...context.options, documents });
  let first: Omit<PreparedServers, 'servers' | 'corpus'> | null = null;
  for (const [kind, server] of servers) {
    const own = configurations.filter(({ http }) => http === kind).map(({ collection }) => collection);
    const plans = [...new Map(own.map((plan) => [plan.name, plan])).values()];
    const filled = await fillCollections(server, plans, corpus, context);
    const answers = await compareAnswers(server.api, plans, corpus, context);
    await waitUntilIdle(server.pid, context);
    first ??= {
      ...{ filled, replyBytes: answers.replyBytes },
      agreement: plans.map((plan) => answers.agreement.get(plan) ?? 0),
      strategies: plans.map((plan) => answers.strategies.get(plan) ?? {}),
    };
  }
  return { servers, corpus, ...assertDefined(first, 'a case has configurations') };
}

function startTrivialServer(replyBytes: number) {
  return startProcess({
    programArguments: [fileURLToPath(new URL('./trivial-server.js', import.meta.url)), String(replyBytes)],
    environment: process.env,
    ready: /listening on (\d+)\n/,
    readyMsMax: 30_000,
    stopMsMax: 5_000,
  });
}

interface TrivialServer {
  readonly pid: number;
  readonly port: number;
}

/** Result of wrk or of the built-in generator. */
type ClientOutcome = { readonly own: LoadOutcome } | { readonly wrk: WrkOutcome };

async function measureRounds(
  configurations: readonly SearchConfiguration[],
  prepared: PreparedServers,
  trivial: TrivialServer,
  { options, progress, signal, ...context }: BenchContext,
): Promise<Pick<SearchMeasurement, 'configurations' | 'ceiling'>> {
  const whole = { options, progress, signal, ...context };
  const targets = loadTargets(configurations, prepared, trivial, whole);
  const generator = new LoadGenerator(targets);
  const runner = new Runner(prepared, trivial, generator, whole);
  const all: (SearchConfiguration | null)[] = [...configurations, null];
  const outcomes = new Map(all.map((configuration) => [configuration, [] as ClientOutcome[]]));
  try {
    // One unmeasured pass, because a newly started process is slower.
    for (const [done, configuration] of all.entries()) {
      signal.throwIfAborted();
      progress.update('warming up', done, all.length, nameOf(configuration));
      await runner.warmUp(configuration);
    }
    const steps = interleave(all, options.rounds, options.seed);
    for (const [done, { round, configuration }] of steps.entries()) {
      signal.throwIfAborted();
      const label = `round ${round + 1} of ${options.rounds}: ${nameOf(configuration)}`;
      progress.update('measuring', done, steps.length, label);
      outcomes.get(configuration)?.push(await runner.measure(configuration));
    }
  } finally {
    await generator.close();
  }
  const measured = (configuration: SearchConfiguration | null) => {
    const rounds = outcomes.get(configuration) ?? [];
    return { rounds: rounds.map((outcome) => figuresOf([outcome])), joined: figuresOf(rounds) };
  };
  return {
    configurations: configurations.map((configuration) => ({ configuration, ...measured(configuration) })),
    ceiling: measured(null),
  };
}

function nameOf(configuration: SearchConfiguration | null): string {
  return configuration?.name ?? ceilingName;
}

function targetName({ http, collection }: SearchConfiguration): string {
  return `${http} ${collection.name}`;
}

function loadTargets(
  configurations: readonly SearchConfiguration[],
  { servers, corpus }: PreparedServers,
  trivial: TrivialServer,
  context: BenchContext,
): Record<string, LoadTarget> {
  const targets: Record<string, LoadTarget> = {};
  for (const configuration of configurations) {
    const server = assertDefined(servers.get(configuration.http), 'every kind has a server');
    targets[targetName(configuration)] ??= createLoadTarget(
      server,
      configuration.collection.name,
      corpus,
      context,
    );
  }
  const [first] = Object.values(targets);
  return { ...targets, [ceilingName]: { ...assertDefined(first, 'there is load'), port: trivial.port } };
}

/** Runs one configuration once; with null, the trivial server. */
class Runner {
  readonly #prepared: PreparedServers;
  readonly #trivial: TrivialServer;
  readonly #generator: LoadGenerator;
  readonly #context: BenchContext;

  constructor(
    prepared: PreparedServers,
    trivial: TrivialServer,
    generator: LoadGenerator,
    context: BenchContext,
  ) {
    this.#prepared = prepared;
    this.#trivial = trivial;
    this.#generator = generator;
    this.#context = context;
  }

  async warmUp(configuration: SearchConfiguration | null): Promise<void> {
    const measureMs = this.#context.options.warmUpSeconds * 1_000;
    if (measureMs > 0) await this.#run(configuration, { warmUpMs: 0, measureMs });
  }

  async measure(configuration: SearchConfiguration | null): Promise<ClientOutcome> {
    const { options } = this.#context;
    const times = { warmUpMs: options.warmUpSeconds * 1_000, measureMs: options.seconds * 1_000 };
    if (configuration?.client === 'wrk') return { wrk: await this.#runWrk(configuration) };
    return { own: await this.#run(configuration, times) };
  }

  async #run(
    configuration: SearchConfiguration | null,
    times: { readonly warmUpMs: number; readonly measureMs: number },
  ): Promise<LoadOutcome> {
    const { options, signal } = this.#context;
    const server = configuration === null ? this.#trivial : this.#server(configuration);
    const job = {
      ...times,
      // The maximum of the generator is only visible in a closed loop.
      connections: configuration?.connections ?? Math.max(...options.connections),
      ratePerSecond: configuration?.ratePerSecond ?? null,
      serverPid: server.pid,
    };
    const target = configuration === null ? ceilingName : targetName(configuration);
    const outcome = await this.#generator.run(target, job, signal);
    if (outcome.refused > 0) {
      throw new Error(
        `${nameOf(configuration)}: ${outcome.refused} replies were no answers, the first: ${outcome.firstRefusal}`,
      );
    }
    return outcome;
  }

  #runWrk(configuration: SearchConfiguration): Promise<WrkOutcome> {
    const { options } = this.#context;
    const { corpus } = this.#prepared;
    const { pid, port, key } = this.#server(configuration);
    assert(configuration.ratePerSecond === null, 'wrk runs a closed loop only');
    return runWrk({
      ...{ port, key, serverPid: pid, operation: searchOperation, connections: configuration.connections },
      bodies: Array.from({ length: options.questions }, (_, i) =>
        searchBody(configuration.collection.name, corpus.question(i), options.results),
      ),
      warmUpSeconds: options.warmUpSeconds,
      seconds: options.seconds,
    });
  }

  #server({ http }: SearchConfiguration): QuarryServer {
    return assertDefined(this.#prepared.servers.get(http), 'every kind has a server');
  }
}

/** Returns the client of the closed loop; wrk only supports whole seconds and is not used for shorter windows. */
export async function closedLoopClient(
  seconds: number,
): Promise<{ client: 'own' | 'wrk'; description: string }> {
  if (seconds < 1)
    return { client: 'own', description: 'a worker thread of the bench (wrk measures no part of a second)' };
  const version = await wrkVersion();
  if (version === null)
    return { client: 'own', description: 'a worker thread of the bench (wrk is not on the path)' };
  return { client: 'wrk', description: version };
}

function figuresOf(outcomes: readonly ClientOutcome[]): LoadFigures {
  const own = outcomes.flatMap((outcome) => ('own' in outcome ? [outcome.own] : []));
  const wrk = outcomes.flatMap((outcome) => ('wrk' in outcome ? [outcome.wrk] : []));
  assert(own.length === 0 || wrk.length === 0, 'a configuration has one client');
  const all = [...own, ...wrk];
  const sum = <T>(of: readonly T[], value: (one: T) => number) =>
    of.reduce((total, one) => total + value(one), 0);
  const replies = sum(all, (outcome) => outcome.replies);
  const serverKnown = all.every(({ serverCpuMs }) => serverCpuMs !== null);
  const perReplyUs = (ms: number) => (replies === 0 ? null : (ms * 1_000) / replies);
  return {
    queriesPerSecond: (replies * 1_000) / sum(all, ({ windowMs }) => windowMs),
    serverCpuUs: serverKnown ? perReplyUs(sum(all, ({ serverCpuMs }) => serverCpuMs ?? 0)) : null,
    samples: wrk.length > 0 ? replies : sum(own, ({ latencies }) => latencies.values),
    abandoned: sum(own, ({ abandoned }) => abandoned),
    clientCpuUs: wrk.length > 0 ? null : perReplyUs(sum(own, ({ clientCpuMs }) => clientCpuMs)),
    ...(wrk.length > 0 ? wrkQuantiles(wrk) : ownQuantiles(own)),
  };
}

type Quantiles = Pick<LoadFigures, 'p50Ms' | 'p90Ms' | 'p99Ms' | 'p999Ms' | 'mostMs' | 'latenessP99Ms'>;

function ownQuantiles(outcomes: readonly LoadOutcome[]): Quantiles {
  const latencies = new LatencyHistogram();
  const lateness = new LatencyHistogram();
  for (const outcome of outcomes) {
    latencies.add(outcome.latencies);
    lateness.add(outcome.lateness);
  }
  return {
    p50Ms: latencies.quantileMs(0.5),
    p90Ms: latencies.quantileMs(0.9),
    p99Ms: latencies.quantileMs(0.99),
    p999Ms: latencies.quantileMs(0.999),
    mostMs: latencies.mostMs,
    latenessP99Ms: lateness.quantileMs(0.99),
  };
}

function wrkQuantiles(outcomes: readonly WrkOutcome[]): Quantiles {
  const middle = (of: (outcome: WrkOutcome) => number) => {
    const sorted = outcomes.map(of).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  };
  return {
    p50Ms: middle(({ p50Ms }) => p50Ms),
    p90Ms: middle(({ p90Ms }) => p90Ms),
    p99Ms: middle(({ p99Ms }) => p99Ms),
    p999Ms: middle(({ p999Ms }) => p999Ms),
    mostMs: Math.max(...outcomes.map(({ mostMs }) => mostMs)),
    latenessP99Ms: null,
  };
}
