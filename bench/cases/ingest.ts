import { availableParallelism } from 'node:os';
import { assertDefined } from '../../src/core/assert.ts';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import { addBatch, type CollectionPlan, fillCollections, waitUntilIdle } from '../harness/collections.ts';
import { Corpus } from '../harness/corpus.ts';
import { cpuMsOf } from '../harness/cpu-time.ts';
import { BenchUsageError } from '../harness/flag-specs.ts';
import { type HistogramCounts, LatencyHistogram } from '../harness/histogram.ts';
import { LoadGenerator } from '../harness/load-generator.ts';
import { type QuarryServer, startQuarryServer } from '../harness/quarry-server.ts';
import { snippetsCall } from '../harness/query-calls.ts';
import { createLoadTarget } from '../harness/questions.ts';
import { interleave } from '../harness/rounds.ts';
import { ratioOf, spreadOf } from '../harness/statistics.ts';
import {
  type CorpusContext,
  type DocumentSource,
  openCorpus,
  RepeatedDocuments,
} from '../harness/text-corpus.ts';
import type { BenchFindings, Figure, ReportTable } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import {
  isMeasuredLongEnough,
  listUnmetConditions,
  type PerformanceTarget,
  type TargetCondition,
  targetTable,
} from '../report/performance-targets.ts';

const modes = ['ingest alone', 'searching alone', 'both'] as const;
type Mode = (typeof modes)[number];
/**
 * Interleaved steps. The index grows with every addition, so that searching alone is measured half before and
 * half after searching during ingest: on average both then have an index of the same size.
 */
const stepKinds = ['ingest', 'searches'] as const;

interface Round {
  /** Megabytes of text per second that were searchable at the end; null if nothing was added. */
  readonly ingestMbPerSecond: number | null;
  /** CPU milliseconds of the server per megabyte; null if searches ran at the same time. */
  readonly cpuMsPerMb: number | null;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

const batchDocuments = 64;
const lanes = 4;
/** Documents of the corpus that may be added besides those that are searched. */
const addedDocumentsMax = 10_000_000;
/** Targets for a collection of this number of documents with this number of words. */
const targets = { mbPerSecond: 5, p99Times: 2, documents: 10_000, words: 600, rate: 100, cores: 2 };
/** Text generated before the measurement, per second of a round; more than the server is expected to ingest. */
const preparedMbPerSecond = 8;

/** Measures how fast text becomes searchable, and the effect of ingest on search latency. */
export const ingestCase: BenchCase = {
  name: 'ingest',
  summary: 'throughput of text over HTTP until it is searchable (MB/s), and the search latency during ingest',
  presets: {
    smoke:
      '--documents 40 --words 60 --questions 20 --seconds 0.3 --warm-up 0 --rounds 1 --rate 50 --connections 4',
    usual: '--documents 2000 --words 600 --seconds 5 --rounds 3 --rate 100 --connections 16',
    full: '--documents 10000 --words 600 --seconds 12 --rounds 5 --rate 100 --connections 16',
  },
  async run(runContext) {
    const corpus = await openIngestCorpus(runContext);
    const { context } = corpus;
    const { options, progress } = context;
    progress.note(`starting a server (${options.http}) with an empty data directory`);
    const server = await startQuarryServer({ http: options.http });
    try {
      const rounds = await measure(server, corpus);
      return {
        ...findingsOf(rounds, corpus),
        conditions: { 'HTTP server': server.http, corpus: corpus.source.name },
      };
    } finally {
      await server.stop();
    }
  },
};

interface IngestCorpus extends CorpusContext {
  /** Documents that are added while the server is measured. */
  readonly added: DocumentSource;
}

/** With real text, the first half of the documents is searched and the second half is added. */
async function openIngestCorpus(runContext: BenchContext): Promise<IngestCorpus> {
  const opened = await openCorpus(runContext);
  const { corpus, context } = opened;
  const { options } = context;
  if (options.judged === null) {
    // The topics of the corpus, but other documents.
    const seed = options.seed + 1;
    const added = new Corpus({ ...options, seed, documents: addedDocumentsMax, topics: 1_000 });
    return { ...opened, added };
  }
  if (corpus.documents < 2)
    throw new BenchUsageError('The case "ingest" needs at least two documents: one to search, one to add.');
  const documents = Math.floor(corpus.documents / 2);
  return {
    ...opened,
    context: { ...context, options: { ...options, documents: [documents] } },
    added: new RepeatedDocuments(corpus, documents),
  };
}

async function measure(
  server: QuarryServer,
  { corpus, added, context }: IngestCorpus,
): Promise<Map<Mode, Round[]>> {
  const { options, progress, signal } = context;
  const documents = Math.max(...options.documents);
  const plan: CollectionPlan = { name: 'ingest', shards: options.shards[0] ?? 1, documents };
  await fillCollections(server, [plan], corpus, context);
  await waitUntilIdle(server.pid, context);
  const target = createLoadTarget(server, { collection: plan.name, call: snippetsCall }, corpus, context);
  const generator = new LoadGenerator({ [plan.name]: target });
  const feeder = new DocumentFeeder(server, plan.name, added);
  const rounds = new Map<Mode, Round[]>(modes.map((mode) => [mode, []]));
  try {
    const steps = interleave(stepKinds, options.rounds, options.seed);
    const parts = { server, generator, feeder, plan };
    for (const [done, { configuration: kind }] of steps.entries()) {
      const step = async (mode: Mode, seconds: number) => {
        signal.throwIfAborted();
        progress.update('measuring', done, steps.length, mode);
        const outcome = await runMode(mode, seconds, parts, context);
        await waitUntilIdle(server.pid, context);
        return outcome;
      };
      if (kind === 'ingest') {
        rounds.get('ingest alone')?.push(figuresOfRound([await step('ingest alone', options.seconds)]));
      } else {
        const before = await step('searching alone', options.seconds / 2);
        rounds.get('both')?.push(figuresOfRound([await step('both', options.seconds)]));
        const after = await step('searching alone', options.seconds / 2);
        rounds.get('searching alone')?.push(figuresOfRound([before, after]));
      }
    }
  } finally {
    await generator.close();
  }
  return rounds;
}

interface RunParts {
  readonly server: QuarryServer;
  readonly generator: LoadGenerator;
  readonly feeder: DocumentFeeder;
  readonly plan: CollectionPlan;
}

/** Results of one measured window; null for parts that did not run. */
interface WindowResult {
  readonly added: { readonly textBytes: number; readonly ms: number } | null;
  readonly latencies: HistogramCounts | null;
  readonly serverCpuMs: number | null;
}

async function runMode(
  mode: Mode,
  seconds: number,
  { server, generator, feeder, plan }: RunParts,
  { options, signal }: BenchContext,
): Promise<WindowResult> {
  const ms = seconds * 1_000;
  const job = {
    connections: Math.max(...options.connections),
    warmUpMs: options.warmUpSeconds * 1_000,
    measureMs: ms,
    ratePerSecond: options.rates[0] ?? 100,
    serverPid: server.pid,
  };
  const addingMs = ms + (mode === 'both' ? job.warmUpMs : 0);
  const prepared = mode === 'searching alone' ? null : feeder.prepare(addingMs);
  const cpuBefore = cpuMsOf(server.pid);
  const [added, searches] = await Promise.all([
    prepared === null ? null : feeder.runFor(addingMs, prepared),
    mode === 'ingest alone' ? null : generator.run(plan.name, job, signal),
  ]);
  const cpuAfter = cpuMsOf(server.pid);
  if (searches !== null && searches.rejected > 0)
    throw new Error(`Queries were rejected: ${searches.firstRejection}`);
  const serverCpuMs = cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore;
  return { added, latencies: searches?.latencies ?? null, serverCpuMs };
}

/** Joins the windows of a round; quantiles are taken of the latencies of all windows together. */
function figuresOfRound(outcomes: readonly WindowResult[]): Round {
  const latencies = new LatencyHistogram();
  for (const outcome of outcomes) if (outcome.latencies !== null) latencies.add(outcome.latencies);
  const { added, serverCpuMs } = assertDefined(outcomes[0], 'a round has a window');
  const isIngestOnly = latencies.values === 0;
  return {
    ingestMbPerSecond: added === null ? null : added.textBytes / 1_000 / added.ms,
    cpuMsPerMb:
      added === null || serverCpuMs === null || !isIngestOnly ? null : serverCpuMs / (added.textBytes / 1e6),
    p50Ms: latencies.quantileMs(0.5),
    p99Ms: latencies.quantileMs(0.99),
  };
}

interface Batch {
  readonly documents: readonly object[];
  readonly textBytes: number;
}

/**
 * Adds documents as fast as the server accepts them, with a few concurrent requests, each of which waits
 * until its documents are searchable.
 */
class DocumentFeeder {
  readonly #server: QuarryServer;
  readonly #collection: string;
  readonly #source: DocumentSource;
  #next = 0;

  constructor(server: QuarryServer, collection: string, source: DocumentSource) {
    this.#server = server;
    this.#collection = collection;
    this.#source = source;
  }

  /** Generates the texts for a run of `ms` milliseconds. */
  prepare(ms: number): Batch[] {
    const prepared: Batch[] = [];
    for (let bytes = 0; bytes < preparedMbPerSecond * 1_000 * ms; ) {
      const batch = this.#makeBatch();
      prepared.push(batch);
      bytes += batch.textBytes;
    }
    return prepared;
  }

  async runFor(ms: number, prepared: Batch[]): Promise<{ readonly textBytes: number; readonly ms: number }> {
    const start = performance.now();
    let textBytes = 0;
    const lane = async () => {
      while (performance.now() - start < ms) {
        const batch = prepared.pop() ?? this.#makeBatch();
        await addBatch(this.#server.api, this.#collection, batch.documents);
        textBytes += batch.textBytes;
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    return { textBytes, ms: performance.now() - start };
  }

  #makeBatch(): Batch {
    const documents = Array.from({ length: batchDocuments }, () => {
      const { path, text } = this.#source.document(this.#next++);
      return { path: `added/${path}`, content: { type: 'text', text } };
    });
    return {
      documents,
      textBytes: documents.reduce((sum, { content }) => sum + Buffer.byteLength(content.text), 0),
    };
  }
}

type Rounds = ReadonlyMap<Mode, readonly Round[]>;

const column = (key: string, heading: string, unit: string | null, digits: number) => ({
  key,
  heading,
  unit,
  digits,
});
const p99 = ({ p99Ms }: Round) => p99Ms;

function valuesOf(rounds: Rounds, mode: Mode, which: (round: Round) => number | null): (number | null)[] {
  return (rounds.get(mode) ?? []).map(which);
}

function median(rounds: Rounds, mode: Mode, which: (round: Round) => number | null): number | null {
  return spreadOf(valuesOf(rounds, mode, which))?.median ?? null;
}

function findingsOf(rounds: Rounds, { context: { options }, source }: IngestCorpus): BenchFindings {
  const rate = options.rates[0] ?? 100;
  return {
    title: 'Ingest of text over HTTP, and searches during ingest',
    method: [
      source.description,
      `A server with default settings contains ${Math.max(...options.documents)} documents of about ${options.wordsPerDocument} words. ${options.judged === null ? 'Other documents are' : 'The other half of the corpus is'} added in requests of ${batchDocuments} documents, ${lanes} at a time, each answered when its documents are searchable${options.judged === null ? '; the texts are generated before the clock starts' : '; after its last document, the documents are added again under other paths'}.`,
      `Searching: open loop at ${rate} requests/s; latency counts from the due time of a request. Each of ${options.rounds} rounds measures ingest alone and searches in a random order, ${options.seconds} s each, with a pause after each: searching alone for ${options.seconds / 2} s, searching during ingest for ${options.seconds} s, searching alone for ${options.seconds / 2} s.`,
      'Added text is not deleted, so later searches use a larger index. Therefore one half of searching alone is measured before, and the other half after searching during ingest; its quantiles combine both halves. Both modes are thus compared on an index of the same average size.',
    ],
    tables: [targetTable(performanceTargets(rounds, options), 2), byMode(rounds)],
    charts: [
      {
        kind: 'bars',
        title: 'p99 of a search',
        yLabel: 'ms',
        bars: (['searching alone', 'both'] as const).map((mode) => ({
          name: mode,
          value: median(rounds, mode, p99),
        })),
      },
    ],
    notes: [
      'Text is sent as JSON, without file parsers. Client and server share the cores, so sending the texts also uses the machine.',
      'A p99 is n/a if its window had too few requests for one of them to lie beyond it.',
    ],
    figures: figuresOf(rounds),
    measured: Object.fromEntries(rounds),
  };
}

function performanceTargets(rounds: Rounds, options: BenchContext['options']): PerformanceTarget[] {
  const { documents, wordsPerDocument, shards, rates } = options;
  const conditions: TargetCondition[] = [
    ['generated text', options.judged === null],
    [`${formatNumber(targets.documents, 0)} documents`, Math.max(...documents) === targets.documents],
    [`${targets.words} words each`, wordsPerDocument === targets.words],
    ['one shard', shards[0] === 1],
    isMeasuredLongEnough(options, 5),
  ];
  return [
    {
      metric: 'text that becomes searchable, MB per second',
      reached: median(rounds, 'ingest alone', ({ ingestMbPerSecond }) => ingestMbPerSecond),
      least: targets.mbPerSecond,
      unmetConditions: listUnmetConditions([
        ...conditions,
        [`${targets.cores} cores`, availableParallelism() === targets.cores],
      ]),
    },
    {
      metric: 'p99 of a search during ingest, relative to idle',
      reached:
        ratioOf(valuesOf(rounds, 'both', p99), valuesOf(rounds, 'searching alone', p99))?.median ?? null,
      most: targets.p99Times,
      unmetConditions: listUnmetConditions([
        ...conditions,
        [`${targets.rate} searches per second`, rates[0] === targets.rate],
      ]),
    },
  ];
}

function byMode(rounds: Rounds): ReportTable {
  return {
    title: 'By mode',
    columns: [
      column('mode', 'mode', null, 0),
      column('ingest', 'ingest', 'MB/s of text', 2),
      column('cpu', 'server CPU', 'ms per MB', 0),
      column('p50', 'search p50', 'ms', 2),
      column('p99', 'search p99', 'ms', 2),
    ],
    rows: modes.map((mode) => ({
      mode,
      ingest: median(rounds, mode, ({ ingestMbPerSecond }) => ingestMbPerSecond),
      cpu: median(rounds, mode, ({ cpuMsPerMb }) => cpuMsPerMb),
      p50: median(rounds, mode, ({ p50Ms }) => p50Ms),
      p99: median(rounds, mode, p99),
    })),
  };
}

function figuresOf(rounds: Rounds): Figure[] {
  const figure = (mode: Mode, metric: keyof Round, unit: string, better: Figure['better']): Figure[] => {
    const all = rounds.get(mode) ?? [];
    const values = all.flatMap((round) => round[metric] ?? []);
    return values.length < all.length || values.length === 0
      ? []
      : [{ name: `${mode}: ${metric}`, unit, better, values }];
  };
  return [
    ...figure('ingest alone', 'ingestMbPerSecond', 'MB/s', 'more'),
    ...figure('ingest alone', 'cpuMsPerMb', 'ms/MB', 'less'),
    ...figure('both', 'ingestMbPerSecond', 'MB/s', 'more'),
    ...figure('searching alone', 'p99Ms', 'ms', 'less'),
    ...figure('both', 'p99Ms', 'ms', 'less'),
  ];
}
