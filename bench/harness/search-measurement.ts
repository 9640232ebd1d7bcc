import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { present } from '../../src/base/assert.ts';
import { type Api, requestBytes } from './api.ts';
import type { BenchContext } from './bench-case.ts';
import { startChild } from './child.ts';
import { Corpus } from './corpus.ts';
import { cpuMsOf } from './cpu-time.ts';
import { LatencyHistogram } from './histogram.ts';
import { LoadGenerator } from './load-generator.ts';
import type { LoadJob, LoadOutcome, LoadTarget } from './load-run.ts';
import { type QuarryServer, startQuarry } from './quarry-server.ts';
import { interleaved } from './rounds.ts';

/** One collection of the server; all hold the same documents. */
export interface SearchConfiguration {
  readonly name: string;
  readonly shards: number;
}

/** The figures of one measured window, or of several joined. */
export interface LoadFigures {
  readonly queriesPerSecond: number;
  readonly p50Ms: number | null;
  readonly p90Ms: number | null;
  readonly p99Ms: number | null;
  readonly p999Ms: number | null;
  readonly mostMs: number | null;
  readonly meanMs: number | null;
  /** Latencies that the quantiles are taken of. */
  readonly samples: number;
  readonly abandoned: number;
  readonly serverCpuUs: number | null;
  readonly clientCpuUs: number | null;
  /** Open loop: how late the generator itself was. */
  readonly latenessP99Ms: number | null;
}

export interface MeasuredConfiguration {
  readonly configuration: SearchConfiguration;
  /** In the order of the rounds. */
  readonly rounds: readonly LoadFigures[];
  readonly joined: LoadFigures;
}

export interface SearchMeasurement {
  readonly configurations: readonly MeasuredConfiguration[];
  /** The generator against a server that does nothing, in the same rounds. */
  readonly ceiling: Omit<MeasuredConfiguration, 'configuration'>;
  readonly http: 'uws' | 'node';
  /** Mean share of the first configuration's ten best documents that each finds too. */
  readonly agreement: readonly number[];
  readonly replyBytes: number;
}

const batchDocuments = 64;
const checkedQuestions = 50;
const ceilingName = 'trivial server';
const settledShare = 0.1;
const settleMsMax = 60_000;

/**
 * Fills one collection per configuration with the same corpus, then puts load on each in interleaved rounds, over HTTP
 * and from another process than the server. Rejects when a document fails, a query is refused or a connection breaks.
 */
export async function measureSearches(
  configurations: readonly SearchConfiguration[],
  context: BenchContext,
): Promise<SearchMeasurement> {
  const { options, progress } = context;
  const corpus = new Corpus(options);
  progress.note(`starting a server (${options.http}) with an empty data directory`);
  const server = await startQuarry({ http: options.http });
  try {
    await fill(server.api, configurations, corpus, context);
    const answers = await compareAnswers(server.api, configurations, corpus, context);
    await settle(server.pid, context);
    const trivial = await startTrivialServer(answers.replyBytes);
    try {
      const targets = loadTargets(server, configurations, corpus, context);
      const [, port] = await trivial.ready;
      targets[ceilingName] = { ...firstTarget(targets, configurations), port: Number(port) };
      const measured = await measureRounds(
        { server, trivialPid: trivial.pid, targets, configurations },
        context,
      );
      return { ...measured, ...answers, http: server.http };
    } finally {
      await trivial.stop();
    }
  } finally {
    await server.stop();
  }
}

/** Adds the documents batch by batch, each batch to every collection at once. */
async function fill(
  api: Api,
  configurations: readonly SearchConfiguration[],
  corpus: Corpus,
  { progress, signal }: BenchContext,
): Promise<void> {
  for (const { name, shards } of configurations) {
    await api.call('collections/add-collection', { collection_name: name, num_shards: shards });
  }
  for (let first = 0; first < corpus.documents; first += batchDocuments) {
    const count = Math.min(batchDocuments, corpus.documents - first);
    const documents = Array.from({ length: count }, (_, i) => {
      const { path, text } = corpus.document(first + i);
      return { path, content: { type: 'text', text } };
    });
    signal.throwIfAborted();
    progress.update(
      'adding documents',
      first,
      corpus.documents,
      `of ${corpus.documents}, to each collection`,
    );
    await Promise.all(configurations.map(({ name }) => addBatch(api, name, documents)));
  }
  for (const { name } of configurations) await waitForIndexed(api, name, corpus.documents, signal);
}

async function addBatch(api: Api, collection: string, documents: readonly object[]): Promise<void> {
  const { results } = await api.call<{ results: { path: string; status: number; detail?: string }[] }>(
    'documents/add-documents',
    { collection_name: collection, documents, wait: true },
  );
  const refused = results.find(({ status }) => status !== 201);
  if (refused !== undefined) throw new Error(`${refused.path}: ${refused.status} ${refused.detail ?? ''}`);
}

async function waitForIndexed(
  api: Api,
  collection: string,
  documents: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const status = await api.call<{ num_indexed_documents: number; num_failed_documents: number }>(
      'status/get-status',
      { collection_name: collection },
    );
    if (status.num_failed_documents > 0) {
      throw new Error(`${status.num_failed_documents} documents of ${collection} failed.`);
    }
    if (status.num_indexed_documents === documents) return;
    await sleep(200);
  }
}

/** Asks every collection the same questions: the more they agree, the more their speeds can be compared. */
async function compareAnswers(
  api: Api,
  configurations: readonly SearchConfiguration[],
  corpus: Corpus,
  { options, signal }: BenchContext,
): Promise<{ readonly agreement: number[]; readonly replyBytes: number }> {
  const shared = configurations.map(() => 0);
  let bytes = 0;
  for (let i = 0; i < checkedQuestions; i++) {
    let expected: string[] | null = null;
    for (const [which, { name }] of configurations.entries()) {
      signal.throwIfAborted();
      const reply = await api.call<{ results: { path: string }[] }>(
        searchOperation,
        searchBody(name, corpus.question(i), options.results),
      );
      bytes += Buffer.byteLength(JSON.stringify(reply));
      const paths = [...new Set(reply.results.map(({ path }) => path))];
      if (paths.length === 0) throw new Error(`${name} has no answer to "${corpus.question(i)}".`);
      expected ??= paths;
      shared[which] =
        (shared[which] ?? 0) + expected.filter((path) => paths.includes(path)).length / expected.length;
    }
  }
  return {
    agreement: shared.map((sum) => sum / checkedQuestions),
    replyBytes: Math.round(bytes / checkedQuestions / configurations.length),
  };
}

const searchOperation = 'queries/top-snippets';

function searchBody(collection: string, question: string, results: number): object {
  return { collection_name: collection, query: question, k: results };
}

/** Waits until the server has nothing left to do after the documents went in. */
async function settle(pid: number, { progress, signal }: BenchContext): Promise<void> {
  const until = performance.now() + settleMsMax;
  for (;;) {
    signal.throwIfAborted();
    progress.update('waiting until the server rests', 0, 1, '');
    const [before, startedMs] = [cpuMsOf(pid), performance.now()];
    await sleep(1_000);
    const after = cpuMsOf(pid);
    if (before === null || after === null) return;
    if (after - before < settledShare * (performance.now() - startedMs)) return;
    if (performance.now() > until) {
      throw new Error(`The server still works ${settleMsMax / 1_000} s after all documents were indexed.`);
    }
  }
}

function startTrivialServer(replyBytes: number) {
  return startChild({
    words: [fileURLToPath(new URL('./trivial-server.js', import.meta.url)), String(replyBytes)],
    variables: process.env,
    ready: /listening on (\d+)\n/,
    readyMsMax: 30_000,
    stopMsMax: 5_000,
  });
}

function loadTargets(
  server: QuarryServer,
  configurations: readonly SearchConfiguration[],
  corpus: Corpus,
  { options }: BenchContext,
): Record<string, LoadTarget> {
  const questions = Array.from({ length: options.questions }, (_, i) => corpus.question(i));
  const { port, key } = server;
  const requests = (name: string) =>
    questions.map((question) =>
      requestBytes({
        operation: searchOperation,
        body: searchBody(name, question, options.results),
        port,
        key,
      }),
    );
  return Object.fromEntries(configurations.map(({ name }) => [name, { port, requests: requests(name) }]));
}

function firstTarget(
  targets: Readonly<Record<string, LoadTarget>>,
  configurations: readonly SearchConfiguration[],
): LoadTarget {
  const first = present(configurations[0], 'a case has configurations');
  return present(targets[first.name], 'every configuration has a target');
}

interface Measuring {
  readonly server: QuarryServer;
  readonly trivialPid: number;
  readonly targets: Readonly<Record<string, LoadTarget>>;
  readonly configurations: readonly SearchConfiguration[];
}

async function measureRounds(
  { server, trivialPid, targets, configurations }: Measuring,
  { options, progress, signal }: BenchContext,
): Promise<Pick<SearchMeasurement, 'configurations' | 'ceiling'>> {
  const outcomes = new Map<string, LoadOutcome[]>(Object.keys(targets).map((name) => [name, []]));
  const turns = interleaved(Object.keys(targets), options.rounds, options.seed);
  const generator = new LoadGenerator(targets);
  const jobFor = (name: string): Omit<LoadJob, 'from'> => ({
    connections: present(options.connections[0], 'there is a number of connections'),
    warmUpMs: options.warmUpSeconds * 1_000,
    measureMs: options.seconds * 1_000,
    // What the generator can do at most shows in a closed loop only.
    ratePerSecond: name === ceilingName ? null : (options.rates[0] ?? null),
    serverPid: name === ceilingName ? trivialPid : server.pid,
  });
  try {
    // Once around unmeasured: a process that has just started runs slower than it will.
    for (const [done, name] of Object.keys(targets).entries()) {
      signal.throwIfAborted();
      progress.update('warming up', done, Object.keys(targets).length, name);
      const measureMs = options.warmUpSeconds * 1_000;
      await generator.run(name, { ...jobFor(name), warmUpMs: 0, measureMs }, signal);
    }
    for (const [done, { round, configuration: name }] of turns.entries()) {
      signal.throwIfAborted();
      progress.update('measuring', done, turns.length, `round ${round + 1} of ${options.rounds}: ${name}`);
      const outcome = await generator.run(name, jobFor(name), signal);
      if (outcome.refused > 0) {
        throw new Error(
          `${name}: ${outcome.refused} replies were no answers, the first: ${outcome.firstRefusal}`,
        );
      }
      outcomes.get(name)?.push(outcome);
    }
  } finally {
    await generator.close();
  }
  const measured = (name: string) => {
    const rounds = outcomes.get(name) ?? [];
    return { rounds: rounds.map((outcome) => figuresOf([outcome])), joined: figuresOf(rounds) };
  };
  return {
    configurations: configurations.map((configuration) => ({
      configuration,
      ...measured(configuration.name),
    })),
    ceiling: measured(ceilingName),
  };
}

function figuresOf(outcomes: readonly LoadOutcome[]): LoadFigures {
  const latencies = new LatencyHistogram();
  const lateness = new LatencyHistogram();
  for (const outcome of outcomes) {
    latencies.add(outcome.latencies);
    lateness.add(outcome.lateness);
  }
  const sum = (of: (outcome: LoadOutcome) => number) =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const replies = sum(({ replies }) => replies);
  const perReplyUs = (ms: number) => (replies === 0 ? null : (ms * 1_000) / replies);
  const serverKnown = outcomes.every(({ serverCpuMs }) => serverCpuMs !== null);
  return {
    queriesPerSecond: (replies * 1_000) / sum(({ windowMs }) => windowMs),
    p50Ms: latencies.quantileMs(0.5),
    p90Ms: latencies.quantileMs(0.9),
    p99Ms: latencies.quantileMs(0.99),
    p999Ms: latencies.quantileMs(0.999),
    mostMs: latencies.mostMs,
    meanMs: latencies.meanMs,
    samples: latencies.values,
    abandoned: sum(({ abandoned }) => abandoned),
    serverCpuUs: serverKnown ? perReplyUs(sum(({ serverCpuMs }) => serverCpuMs ?? 0)) : null,
    clientCpuUs: perReplyUs(sum(({ clientCpuMs }) => clientCpuMs)),
    latenessP99Ms: lateness.quantileMs(0.99),
  };
}
