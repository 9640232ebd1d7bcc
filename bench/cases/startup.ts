import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertDefined } from '../../src/core/assert.ts';
import { EngineProcess } from '../engines/engine-process.ts';
import { quarry as ownEngine } from '../engines/quarry.ts';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import { addPortion, type CollectionPlan, fillCollections } from '../harness/collections.ts';
import { Corpus } from '../harness/corpus.ts';
import { type QuarryServer, randomKey, startQuarryServer } from '../harness/quarry-server.ts';
import { queryBody, snippetsCall } from '../harness/query-calls.ts';
import { spreadColumns, spreadOf } from '../harness/statistics.ts';
import type { BenchFindings, Figure, ReportTable } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import {
  listUnmetConditions,
  type PerformanceTarget,
  roundsMin,
  targetTable,
} from '../report/performance-targets.ts';
import { prepareVectorDataset } from '../vectors/vector-dataset.ts';

const kinds = ['snapshot', 'replay', 'rebuild'] as const;
type Kind = (typeof kinds)[number];

interface StartTimes {
  /** Milliseconds from the start of the process until the server reports ready. */
  readonly readyMs: number;
  /** Milliseconds until the first query on the collection returns results. */
  readonly answeredMs: number;
}

const target = { vectors: 1_000_000, dimensions: 384, seconds: 3 };
const answerMsMax = 300_000;
const pollMs = 10;

/** Measures the time until a server with documents answers queries again. */
export const startupCase: BenchCase = {
  name: 'startup',
  summary:
    'time to the first reply: of a server from snapshots, with replay, with a rebuild; of an index of --vectors alone',
  presets: {
    smoke: '--documents 40 --words 60 --rounds 1 --vectors 1000 --dimensions 32 --questions 30',
    usual: '--documents 5000 --rounds 3 --questions 300',
    full: '--documents 50000 --words 600 --rounds 5 --vectors 1000000 --questions 100',
  },
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), 'quarry-bench-startup-'));
    try {
      const index = await measureIndex(join(folder, 'index'), context);
      return findingsOf(await measure(join(folder, 'server'), context), index, context);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface IndexStartTimes {
  readonly vectors: number;
  readonly dimensions: number;
  /** Milliseconds from opening the folder until the first search returns, round by round. */
  readonly readyMs: readonly number[];
}

/** Builds and saves an index once, then opens it repeatedly, each time in a new process. */
async function measureIndex(directory: string, context: BenchContext): Promise<IndexStartTimes> {
  const { options, progress, signal } = context;
  const set = await prepareVectorDataset({ ...options, rows: options.vectors }, context);
  await mkdir(directory);
  const task = { engine: ownEngine.name, set, directory, url: null, seed: options.seed };
  const inProcess = async <T>(work: (process: EngineProcess) => Promise<T>): Promise<T> => {
    const process = new EngineProcess(signal, ({ done, total }) =>
      progress.update('building an index', done, total, `of ${total} vectors`),
    );
    try {
      const value = await work(process);
      await process.call('close');
      return value;
    } finally {
      await process.terminate();
    }
  };
  await inProcess(async (process) => {
    await process.call('open', { ...task, load: false });
    await process.call('build');
    await process.call('save');
  });
  const readyMs: number[] = [];
  for (let round = 0; round < options.rounds; round++) {
    signal.throwIfAborted();
    progress.update('opening the index', round, options.rounds, `round ${round + 1}`);
    const { wallMs } = await inProcess((process) => process.call('open', { ...task, load: true }));
    readyMs.push(wallMs);
  }
  return { vectors: set.rows, dimensions: set.dimensions, readyMs };
}

async function measure(folder: string, context: BenchContext): Promise<Map<Kind, StartTimes[]>> {
  const { options, progress, signal } = context;
  const documents = Math.max(...options.documents);
  const corpus = new Corpus({ ...options, documents });
  const plan: CollectionPlan = { name: 'startup', shards: options.shards[0] ?? 1, documents };
  const data = { folder, key: randomKey() };
  const start = () => startQuarryServer({ http: options.http, data });
  const fillServer = await start();
  try {
    await fillCollections(fillServer, [plan], corpus, context);
  } finally {
    await fillServer.stop();
  }
  const found = new Map<Kind, StartTimes[]>(kinds.map((kind) => [kind, []]));
  for (let round = 0; round < options.rounds; round++) {
    for (const kind of kinds) {
      signal.throwIfAborted();
      progress.update('measuring', round, options.rounds, kind);
      await prepare(kind, { start, corpus, plan, folder });
      const startMs = performance.now();
      const server = await start();
      try {
        const readyMs = performance.now() - startMs;
        await waitForFirstAnswer(server, plan.name, corpus);
        found.get(kind)?.push({ readyMs, answeredMs: performance.now() - startMs });
      } finally {
        await server.stop();
      }
    }
  }
  return found;
}

interface StartPreparation {
  readonly start: () => Promise<QuarryServer>;
  readonly corpus: Corpus;
  readonly plan: CollectionPlan;
  readonly folder: string;
}

/** Prepares the data directory for a kind of start. */
async function prepare(kind: Kind, { start, corpus, plan, folder }: StartPreparation): Promise<void> {
  // A stopped server leaves snapshots of everything.
  if (kind === 'snapshot') return;
  if (kind === 'rebuild') {
    await rm(join(folder, 'index'), { recursive: true, force: true });
    return;
  }
  const server = await start();
  try {
    await addPortion(server, plan.name, corpus, {
      first: 0,
      count: Math.max(1, Math.floor(plan.documents / 10)),
    });
  } finally {
    await server.kill();
  }
}

async function waitForFirstAnswer(server: QuarryServer, collection: string, corpus: Corpus): Promise<void> {
  const until = performance.now() + answerMsMax;
  for (;;) {
    const { results } = await server.api.call<{ results: unknown[] }>(
      snippetsCall.operation,
      queryBody(snippetsCall, { collection, question: corpus.question(0), results: 10 }),
    );
    if (results.length > 0) return;
    if (performance.now() > until) throw new Error('The first query after the start returned no results.');
    await sleep(pollMs);
  }
}

function findingsOf(
  found: ReadonlyMap<Kind, readonly StartTimes[]>,
  index: IndexStartTimes,
  { options }: BenchContext,
): BenchFindings {
  const documents = Math.max(...options.documents);
  const median = (kind: Kind, which: (started: StartTimes) => number) =>
    spreadOf((found.get(kind) ?? []).map(which))?.median ?? null;
  const states = {
    snapshot: 'stopped and started again',
    replay: 'killed after a tenth of the documents were overwritten',
    rebuild: 'stopped, index folder deleted',
  } as const;
  return {
    title: `Starting a server with ${formatNumber(documents, 0)} documents`,
    method: [
      `${formatNumber(documents, 0)} generated documents of about ${options.wordsPerDocument} words in one collection. The time is measured from the start of the process; the files are in the disk cache of the system. ${options.rounds} rounds, each with every kind of start.`,
      `The index alone: ${formatNumber(index.vectors, 0)} vectors of ${index.dimensions} dimensions in one shard, saved once and opened ${options.rounds} times, each time in a new process.`,
    ],
    tables: [
      targetTable([toPerformanceTarget(index)], 2),
      {
        title: 'Time to start',
        columns: [
          { key: 'kind', heading: 'from', unit: null, digits: 0 },
          { key: 'state', heading: 'state before the start', unit: null, digits: 0 },
          { key: 'ready', heading: 'ready', unit: 'ms', digits: 0 },
          { key: 'answered', heading: 'first reply', unit: 'ms', digits: 0 },
        ],
        rows: kinds.map((kind) => ({
          kind,
          state: states[kind],
          ready: median(kind, ({ readyMs }) => readyMs),
          answered: median(kind, ({ answeredMs }) => answeredMs),
        })),
      },
      indexTable(index),
    ],
    charts: [
      {
        kind: 'bars',
        title: 'From the start of the process to the first reply',
        yLabel: 'ms',
        bars: kinds.map((kind) => ({ name: kind, value: median(kind, ({ answeredMs }) => answeredMs) })),
      },
    ],
    notes: [
      'Every figure includes starting Node.js and loading its modules.',
      'The index alone: from opening its folder in a running process until a search returns.',
    ],
    figures: [
      ...kinds.map(
        (kind): Figure => ({
          name: `${kind}: first reply`,
          unit: 'ms',
          better: 'less',
          values: (found.get(kind) ?? []).map(({ answeredMs }) => answeredMs),
        }),
      ),
      { name: 'index alone: first reply', unit: 'ms', better: 'less', values: index.readyMs },
    ],
    measured: { ...Object.fromEntries(found), index },
  };
}

function indexTable({ vectors, dimensions, readyMs }: IndexStartTimes): ReportTable {
  return {
    title: 'The index alone',
    columns: [
      { key: 'vectors', heading: 'vectors', unit: null, digits: 0 },
      { key: 'dimensions', heading: 'dimensions', unit: null, digits: 0 },
      ...spreadColumns('ms', 0, 'first reply, '),
    ],
    rows: [{ vectors, dimensions, ...spreadOf(readyMs) }],
  };
}

function toPerformanceTarget({ vectors, dimensions, readyMs }: IndexStartTimes): PerformanceTarget {
  const size = `${formatNumber(target.vectors, 0)} x ${target.dimensions}`;
  return {
    metric: `an index of ${size} ready to search, from a warm disk cache [s]`,
    reached: assertDefined(spreadOf(readyMs), 'every round ended').median / 1_000,
    most: target.seconds,
    unmetConditions: listUnmetConditions([
      [`${size} vectors`, vectors === target.vectors && dimensions === target.dimensions],
      [`at least ${roundsMin} rounds`, readyMs.length >= roundsMin],
    ]),
  };
}
