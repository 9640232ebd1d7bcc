import { assert, assertDefined } from '../../src/core/assert.ts';
import type { BenchContext } from './bench-case.ts';
import { isInterrupted } from './interruption.ts';
import { type ClientOutcome, joinOutcomes } from './load-figures.ts';
import { LoadGenerator } from './load-generator.ts';
import type { LoadOutcome, LoadTarget } from './load-run.ts';
import { createLoadTarget, requestBodies } from './questions.ts';
import { interleave } from './rounds.ts';
import type { MeasuredConfiguration, PreparedServers, SearchConfiguration } from './search-measurement.ts';
import { profileServer, type ServerProfile } from './server-profile.ts';
import { runWrk, type WrkOutcome } from './wrk.ts';

const ceilingName = 'trivial server';

/** Result of the rounds; without configurations that have no round. */
export interface MeasuredRounds {
  readonly measured: readonly MeasuredConfiguration[];
  /** The generator against a trivial server. */
  readonly ceiling: Omit<MeasuredConfiguration, 'configuration'>;
  /** False if the run was interrupted. */
  readonly complete: boolean;
}

/** Measures every configuration in interleaved rounds, and the trivial server with them. */
export async function measureRounds(
  configurations: readonly SearchConfiguration[],
  prepared: PreparedServers,
  context: BenchContext,
): Promise<MeasuredRounds> {
  const { options, progress, signal } = context;
  const all: (SearchConfiguration | null)[] = [...configurations, null];
  const outcomes = new Map(all.map((configuration) => [configuration, [] as ClientOutcome[]]));
  const complete = await withRunner(configurations, prepared, context, async (runner) => {
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
  });
  const figures = (configuration: SearchConfiguration | null) => {
    const rounds = outcomes.get(configuration) ?? [];
    return { rounds: rounds.map((outcome) => joinOutcomes([outcome])), joined: joinOutcomes(rounds) };
  };
  const measured = configurations.filter((one) => outcomes.get(one)?.length !== 0);
  if (measured.length === 0 || outcomes.get(null)?.length === 0) signal.throwIfAborted();
  return {
    measured: measured.map((configuration) => ({ configuration, ...figures(configuration) })),
    ceiling: figures(null),
    complete,
  };
}

/** Runs a step with a runner. Returns false if the run was interrupted meanwhile. */
async function withRunner(
  configurations: readonly SearchConfiguration[],
  prepared: PreparedServers,
  context: BenchContext,
  step: (runner: Runner) => Promise<void>,
): Promise<boolean> {
  const generator = new LoadGenerator(loadTargets(configurations, prepared, context));
  try {
    await step(new Runner(prepared, generator, context));
    return true;
  } catch (error) {
    if (!(await isInterrupted(context.signal))) throw error;
    return false;
  } finally {
    await generator.close();
  }
}

/**
 * Profiles the servers under a closed loop of the bench's own client, one configuration after the other, apart
 * from the measured rounds, because profiling takes CPU. Empty without --cpu-profile. Keys: kind of the HTTP
 * server and name of the call.
 */
export async function profileCalls(
  configurations: readonly SearchConfiguration[],
  prepared: PreparedServers,
  context: BenchContext,
): Promise<Map<string, ServerProfile>> {
  const profiles = new Map<string, ServerProfile>();
  if (!context.options.isProfiling) return profiles;
  await withRunner(configurations, prepared, context, async (runner) => {
    for (const configuration of configurations) {
      const { http, call } = configuration;
      context.signal.throwIfAborted();
      context.progress.update('profiling', profiles.size, configurations.length, configuration.name);
      const { pid, profileFile } = assertDefined(prepared.servers.get(http), 'every kind has a server');
      assert(profileFile !== null, 'a profiled server has a file for its profile');
      const load = () => runner.warmUp(configuration, context.options.seconds);
      profiles.set(`${http} ${call.name}`, await profileServer({ pid, profileFile }, load));
    }
  });
  return profiles;
}

function nameOf(configuration: SearchConfiguration | null): string {
  return configuration?.name ?? ceilingName;
}

function targetName({ subject, http, collection, call }: SearchConfiguration): string {
  return `${subject} ${http} ${collection.name} ${call.name}`;
}

function loadTargets(
  configurations: readonly SearchConfiguration[],
  prepared: PreparedServers,
  context: BenchContext,
): Record<string, LoadTarget> {
  const targets: Record<string, LoadTarget> = {};
  for (const configuration of configurations) {
    const { collection, call } = configuration;
    const server = serverOf(configuration, prepared);
    const load = { collection: collection.name, call, operation: server.operation };
    targets[targetName(configuration)] ??= createLoadTarget(server, load, prepared.corpus, context);
  }
  const [first] = Object.values(targets);
  return {
    ...targets,
    [ceilingName]: { ...assertDefined(first, 'there is load'), port: prepared.trivial.port },
  };
}

interface LoadServer {
  readonly pid: number;
  readonly port: number;
  readonly key: string;
  /** Operation in the path of the request. */
  readonly operation: string;
}

function serverOf(
  { subject, http, call }: SearchConfiguration,
  { servers, echoServers, replyBytes }: PreparedServers,
): LoadServer {
  const { operation } = call;
  if (subject === 'quarry')
    return { ...pick(assertDefined(servers.get(http), 'every kind has a server')), operation };
  const echo = assertDefined(echoServers.get(http), 'echo servers that are unavailable are not measured');
  return { pid: echo.pid, port: echo.port, key: 'echo', operation: `echo/${replyBytes.get(call.name)}` };
}

function pick({ pid, port, key }: Omit<LoadServer, 'operation'>): Omit<LoadServer, 'operation'> {
  return { pid, port, key };
}

/** Runs one configuration once; with null, the trivial server. */
class Runner {
  readonly #prepared: PreparedServers;
  readonly #generator: LoadGenerator;
  readonly #context: BenchContext;

  constructor(prepared: PreparedServers, generator: LoadGenerator, context: BenchContext) {
    this.#prepared = prepared;
    this.#generator = generator;
    this.#context = context;
  }

  async warmUp(
    configuration: SearchConfiguration | null,
    seconds = this.#context.options.warmUpSeconds,
  ): Promise<void> {
    const measureMs = seconds * 1_000;
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
    const { trivial } = this.#prepared;
    const server = configuration === null ? trivial : serverOf(configuration, this.#prepared);
    const job = {
      ...times,
      // The maximum of the generator is only visible in a closed loop.
      connections: configuration?.connections ?? Math.max(...options.connections),
      ratePerSecond: configuration?.ratePerSecond ?? null,
      serverPid: server.pid,
    };
    const target = configuration === null ? ceilingName : targetName(configuration);
    const outcome = await this.#generator.run(target, job, signal);
    if (outcome.rejected > 0) {
      throw new Error(
        `${nameOf(configuration)}: ${outcome.rejected} requests failed, the first: ${outcome.firstRejection}`,
      );
    }
    return outcome;
  }

  #runWrk(configuration: SearchConfiguration): Promise<WrkOutcome> {
    const { options } = this.#context;
    const { call, collection, connections } = configuration;
    const { pid, port, key, operation } = serverOf(configuration, this.#prepared);
    assert(configuration.ratePerSecond === null, 'wrk runs a closed loop only');
    return runWrk({
      port,
      key,
      serverPid: pid,
      operation,
      connections,
      bodies: requestBodies({ collection: collection.name, call }, this.#prepared.corpus, options),
      warmUpSeconds: options.warmUpSeconds,
      seconds: options.seconds,
    });
  }
}
