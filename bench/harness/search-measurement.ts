import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertDefined } from '../../src/core/assert.ts';
import type { BenchContext } from './bench-case.ts';
import { type CollectionPlan, type FilledCollection, fillCollections, waitUntilIdle } from './collections.ts';
import type { LoadFigures } from './load-figures.ts';
import { type HttpKind, type QuarryServer, startQuarryServer } from './quarry-server.ts';
import { type QueryCall, snippetsCall } from './query-calls.ts';
import { compareAnswers, measureReplyBytes, type Strategies } from './questions.ts';
import { type ReferenceServer, startEchoServer, startTrivialServer } from './reference-servers.ts';
import { measureRounds, profileCalls } from './search-rounds.ts';
import type { ServerProfile } from './server-profile.ts';
import { makeSlowModel } from './slow-model.ts';
import { measureStageTimes, type StageTimes } from './stage-times.ts';
import type { CorpusContext, CorpusSource, TextCorpus } from './text-corpus.ts';

/** A load configuration for one collection. */
export interface SearchConfiguration {
  readonly name: string;
  /** The product, or the echo server that bounds what HTTP allows. */
  readonly subject: 'quarry' | 'echo';
  readonly http: HttpKind;
  readonly call: QueryCall;
  readonly collection: CollectionPlan;
  readonly connections: number;
  /** Requests per second of an open loop; null: closed loop. */
  readonly ratePerSecond: number | null;
  /** "wrk" only in the closed loop, and only if it is installed. */
  readonly client: 'own' | 'wrk';
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

/** Figures of a call that do not depend on the load. */
export interface CallFacts {
  readonly call: QueryCall;
  readonly http: HttpKind;
  /** Mean size of a reply. */
  readonly replyBytes: number;
  /** Null for a run that was interrupted before. */
  readonly stageTimes: StageTimes | null;
  /** Null without --cpu-profile. */
  readonly profile: ServerProfile | null;
}

export interface SearchMeasurement {
  /** Without those of the echo server. */
  readonly configurations: readonly MeasuredConfiguration[];
  readonly echoes: readonly MeasuredConfiguration[];
  readonly calls: readonly CallFacts[];
  readonly source: CorpusSource;
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
  /** False if the run was interrupted. */
  readonly complete: boolean;
}

export interface PreparedServers {
  readonly servers: ReadonlyMap<HttpKind, QuarryServer>;
  readonly echoServers: ReadonlyMap<HttpKind, ReferenceServer>;
  readonly trivial: ReferenceServer;
  readonly corpus: TextCorpus;
  readonly filled: readonly FilledCollection[];
  readonly agreement: readonly number[];
  readonly strategies: readonly Strategies[];
  /** Mean size of a reply by name of the call. */
  readonly replyBytes: ReadonlyMap<string, number>;
}

/**
 * Fills each server's collections with the same corpus, then puts load on each configuration in interleaved
 * rounds, over HTTP and from another process than the server. An interruption ends the rounds early; the
 * result then has the configurations with at least one round. Errors: rejects if a document fails, a query
 * gets an error status, a connection breaks, or the run is interrupted before the first round.
 */
export async function measureSearches(
  configurations: readonly SearchConfiguration[],
  { corpus, source, context }: CorpusContext,
): Promise<SearchMeasurement> {
  const { modelMs, isProfiling } = context.options;
  const model = modelMs === null ? null : await makeSlowModel(modelMs);
  const folder = await mkdtemp(join(tmpdir(), 'quarry-bench-profile-'));
  const closing: { stop(): Promise<void> }[] = [];
  try {
    const servers = new Map<HttpKind, QuarryServer>();
    for (const http of kindsOf(configurations, 'quarry')) {
      context.progress.note(`starting a server (${http}) with an empty data directory`);
      const profileFile = isProfiling ? join(folder, `${http}.cpuprofile`) : null;
      const server = await startQuarryServer({ http, modelFolder: model?.folder ?? null, profileFile });
      closing.push(server);
      servers.set(http, server);
    }
    const prepared = await prepare(servers, { corpus, configurations, closing }, context);
    const available = configurations.filter(
      ({ subject, http }) => subject === 'quarry' || prepared.echoServers.has(http),
    );
    const rounds = await measureRounds(available, prepared, context);
    const calls = await measureCalls(available, prepared, context);
    const { filled, agreement, strategies, replyBytes } = prepared;
    return {
      calls,
      source,
      filled,
      agreement,
      strategies,
      ceiling: rounds.ceiling,
      complete: rounds.complete && calls.every(({ stageTimes }) => stageTimes !== null),
      configurations: rounds.measured.filter(({ configuration }) => configuration.subject === 'quarry'),
      echoes: rounds.measured.filter(({ configuration }) => configuration.subject === 'echo'),
      replyBytes: replyBytes.get(snippetsCall.name) ?? Math.max(...replyBytes.values()),
      answeredBy: Object.fromEntries([...servers].map(([kind, { http }]) => [kind, http])),
      modelMs: model?.ms ?? null,
    };
  } finally {
    await Promise.all(closing.map((server) => server.stop()));
    await rm(folder, { recursive: true, force: true });
  }
}

function kindsOf(
  configurations: readonly SearchConfiguration[],
  subject: SearchConfiguration['subject'],
): Set<HttpKind> {
  return new Set(configurations.filter((one) => one.subject === subject).map(({ http }) => http));
}

interface Preparation {
  readonly corpus: TextCorpus;
  readonly configurations: readonly SearchConfiguration[];
  /** Started processes, stopped at the end. */
  readonly closing: { stop(): Promise<void> }[];
}

async function prepare(
  servers: ReadonlyMap<HttpKind, QuarryServer>,
  { corpus, configurations, closing }: Preparation,
  context: BenchContext,
): Promise<PreparedServers> {
  const replyBytes = new Map<string, number>();
  let first: Pick<PreparedServers, 'filled' | 'agreement' | 'strategies'> | null = null;
  for (const [kind, server] of servers) {
    const own = configurations.filter(({ http, subject }) => http === kind && subject === 'quarry');
    const plans = [...new Map(own.map(({ collection }) => [collection.name, collection])).values()];
    const filled = await fillCollections(server, plans, corpus, context);
    const answers = await compareAnswers(server.api, plans, corpus, context);
    for (const { call, collection } of own) {
      if (replyBytes.has(call.name)) continue;
      const load = { call, collection: collection.name };
      replyBytes.set(call.name, await measureReplyBytes(server.api, load, corpus, context));
    }
    await waitUntilIdle(server.pid, context);
    first ??= {
      filled,
      agreement: plans.map((plan) => answers.agreement.get(plan) ?? 0),
      strategies: plans.map((plan) => answers.strategies.get(plan) ?? {}),
    };
  }
  const [trivialBytes = 0] = replyBytes.values();
  const trivial = await startTrivialServer(trivialBytes);
  closing.push(trivial);
  const echoServers = new Map<HttpKind, ReferenceServer>();
  for (const kind of kindsOf(configurations, 'echo')) {
    const echo = kind === 'auto' ? null : await startEchoServer(kind);
    if (echo === null) continue;
    closing.push(echo);
    echoServers.set(kind, echo);
  }
  const facts = assertDefined(first, 'a case has configurations');
  return { servers, echoServers, trivial, corpus, replyBytes, ...facts };
}

/** Measures what does not depend on the load, after the rounds, when the servers are warm. */
async function measureCalls(
  configurations: readonly SearchConfiguration[],
  prepared: PreparedServers,
  context: BenchContext,
): Promise<CallFacts[]> {
  const own = configurations.filter(({ subject }) => subject === 'quarry');
  const byCall = new Map(own.map((one) => [`${one.http} ${one.call.name}`, one]));
  const profiles = await profileCalls([...byCall.values()], prepared, context);
  const facts: CallFacts[] = [];
  for (const [key, { call, http, collection }] of byCall) {
    const server = assertDefined(prepared.servers.get(http), 'every kind has a server');
    const load = { call, collection: collection.name };
    context.progress.update('explaining queries', facts.length, byCall.size, call.name);
    const stageTimes = context.signal.aborted
      ? null
      : await measureStageTimes(server.api, load, prepared.corpus, context);
    const replyBytes = prepared.replyBytes.get(call.name) ?? 0;
    facts.push({ call, http, replyBytes, stageTimes, profile: profiles.get(key) ?? null });
  }
  return facts;
}
