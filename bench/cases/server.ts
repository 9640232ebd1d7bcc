import { availableParallelism } from 'node:os';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import type { BenchOptions } from '../harness/options.ts';
import { snippetsCall } from '../harness/query-calls.ts';
import { loadColumns, loadFigures, loadMethod, loadNotes, loadRow } from '../harness/search-findings.ts';
import {
  type MeasuredConfiguration,
  measureSearches,
  type SearchConfiguration,
  type SearchMeasurement,
} from '../harness/search-measurement.ts';
import { spreadOf } from '../harness/statistics.ts';
import { openCorpus } from '../harness/text-corpus.ts';
import { closedLoopClient } from '../harness/wrk.ts';
import type { BenchFindings, Chart, ReportRow, ReportTable } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import {
  isMeasuredLongEnough,
  listUnmetConditions,
  type PerformanceTarget,
  type TargetCondition,
  targetTable,
} from '../report/performance-targets.ts';
import { callNotes, callTables } from './server-calls.ts';

const targets = {
  uws: { queriesLeast: 11_000, cpuUsMost: 120 },
  node: { queriesLeast: 8_000, cpuUsMost: 160 },
} as const;
/** Setup for which the targets apply. */
const targetSetup = { documents: 10_000, words: 300, questions: 10_000, results: 10, cores: 2, modelMs: 3 };
/** Maximum CPU milliseconds of a query in addition to a slow model. */
const otherQueryMsMax = 0.1;
const cores = availableParallelism();

/** Measures the throughput of one server over HTTP, and its latency at given rates. */
export const serverCase: BenchCase = {
  name: 'server',
  summary: 'queries over HTTP: closed-loop maximum, latency at fixed rates, CPU per query; uWS and node:http',
  presets: {
    smoke:
      '--documents 40 --words 60 --questions 20 --seconds 0.2 --warm-up 0.05 --rounds 2 --connections 2 --rate 50',
    usual: '--documents 2000 --seconds 3 --warm-up 1 --connections 32 --rate 250,500,1000,2000',
    full: '--documents 10000 --seconds 6 --warm-up 2 --rounds 5 --connections 32 --rate 250,500,1000,2000,4000',
  },
  async run(runContext) {
    const corpus = await openCorpus(runContext);
    const { context } = corpus;
    const { client, description: words } = await closedLoopClient(context.options.seconds);
    const measurement = await measureSearches(configurationsOf(context, client), corpus);
    return findingsOf(measurement, context, words);
  },
};

function configurationsOf({ options }: BenchContext, client: 'own' | 'wrk'): SearchConfiguration[] {
  const { documents, rates, connections, shards, calls } = options;
  const kinds = options.http === 'auto' && calls === null ? (['uws', 'node'] as const) : [options.http];
  const size = Math.max(...documents);
  const collection = { name: 'server', shards: shards[0] ?? 1, documents: size };
  const closedLoops = connections.flatMap((connectionCount) =>
    (calls ?? [snippetsCall]).map((call) => ({
      collection,
      client,
      call,
      connections: connectionCount,
      ratePerSecond: null,
      // Names of runs without --calls are those of older reports.
      load: `${calls === null ? 'closed loop' : call.name}, ${connectionCount} connections`,
    })),
  );
  // A rate that suits one call is far from another's maximum.
  const openLoops = (calls === null ? connections : []).flatMap((connectionCount) =>
    rates.map((ratePerSecond) => ({
      collection,
      client: 'own' as const,
      call: snippetsCall,
      connections: connectionCount,
      ratePerSecond,
      load: `${ratePerSecond} requests/s, ${connectionCount} connections`,
    })),
  );
  return [
    ...kinds.flatMap((http) =>
      [...closedLoops, ...openLoops].map(({ load, ...rest }) => ({
        name: `${http}: ${load}`,
        http,
        subject: 'quarry' as const,
        ...rest,
      })),
    ),
    ...(['uws', 'node'] as const).flatMap((http) =>
      closedLoops.map(({ load, ...rest }) => ({
        name: `echo on ${http}: ${load}`,
        http,
        subject: 'echo' as const,
        ...rest,
      })),
    ),
  ];
}

function findingsOf(
  measurement: SearchMeasurement,
  { options }: BenchContext,
  client: string,
): BenchFindings {
  const { configurations, modelMs, complete } = measurement;
  return {
    title: `One server over HTTP, ${Math.max(...options.documents)} documents`,
    method: [
      ...loadMethod(measurement, options),
      `Closed loop: ${client}. Open loop: a worker thread of the bench.`,
    ],
    tables: [
      ...targetTables(measurement, options),
      ...(modelMs === null ? [] : [modelTable(configurations, modelMs)]),
      loadTable(measurement),
      ...callTables(measurement),
    ],
    charts: chartsOf(configurations),
    notes: [
      modelMs === null
        ? 'The built-in model is static: embedding a question costs microseconds. With a model that takes milliseconds (--model-ms), the model limits the throughput.'
        : `Questions were embedded by a model that takes ${modelMs.toFixed(2)} ms of one core for each text, with one thread per core. Questions that wait for a thread share the next run, whose time is proportional to its number of questions. Query vectors were not cached. Therefore ${cores} cores answer at most ${formatNumber((cores * 1_000) / modelMs, 0)} questions per second. The target is 95 % of the rate at which everything else, including the client, takes ${otherQueryMsMax} ms per query.`,
      ...callNotes(measurement),
      ...loadNotes(measurement),
    ],
    figures: configurations.flatMap(loadFigures),
    complete,
    conditions: {
      'client of the closed loop': client,
      'HTTP server': [...new Set(Object.values(measurement.answeredBy))].join(', '),
      corpus: measurement.source.name,
    },
    measured: measurement,
  };
}

function targetTables(measurement: SearchMeasurement, options: BenchOptions): ReportTable[] {
  const judged = performanceTargets(measurement, options);
  return judged.length === 0 ? [] : [targetTable(judged, measurement.modelMs === null ? 0 : 1)];
}

function loadTable({ configurations, calls, answeredBy }: SearchMeasurement): ReportTable {
  return {
    title: 'Queries',
    columns: [
      { key: 'http', heading: 'HTTP', unit: null, digits: 0 },
      { key: 'call', heading: 'call', unit: null, digits: 0 },
      { key: 'load', heading: 'load', unit: null, digits: 0 },
      { key: 'connections', heading: 'connections', unit: null, digits: 0 },
      ...loadColumns,
      { key: 'replyBytes', heading: 'reply', unit: 'bytes', digits: 0 },
    ],
    rows: configurations.map((measured): ReportRow => {
      const { http, ratePerSecond, connections, call } = measured.configuration;
      const load = ratePerSecond === null ? 'closed loop' : `${ratePerSecond}/s`;
      const replyBytes = calls.find((facts) => facts.call === call)?.replyBytes ?? null;
      const server = answeredBy[http] ?? http;
      return { http: server, call: call.name, load, connections, ...loadRow(measured), replyBytes };
    }),
  };
}

/** Returns the targets of the server in the closed loop. */
function performanceTargets(
  { configurations, modelMs }: SearchMeasurement,
  options: BenchOptions,
): PerformanceTarget[] {
  return configurations.flatMap(({ configuration, rounds, joined }): PerformanceTarget[] => {
    const { http, ratePerSecond, call } = configuration;
    if (ratePerSecond !== null || http === 'auto' || call !== snippetsCall) return [];
    const conditions = targetConditions(configuration, options);
    const rate = spreadOf(rounds.map(({ queriesPerSecond }) => queriesPerSecond))?.median ?? null;
    return modelMs === null
      ? [
          {
            metric: `${http}: queries per second, client on the same machine`,
            reached: rate,
            least: targets[http].queriesLeast,
            unmetConditions: listUnmetConditions([
              ...conditions,
              [`${targetSetup.cores} cores`, cores === targetSetup.cores],
            ]),
          },
          {
            metric: `${http}: CPU of the server per query [us]`,
            reached: joined.serverCpuUs,
            most: targets[http].cpuUsMost,
            unmetConditions: listUnmetConditions(conditions),
          },
        ]
      : slowModelTargets(
          http,
          modelMs,
          { rate, cpuUs: joined.serverCpuUs },
          listUnmetConditions([
            ...conditions,
            [`a model of ${targetSetup.modelMs} ms`, options.modelMs === targetSetup.modelMs],
          ]),
        );
  });
}

function targetConditions(
  { collection, client }: SearchConfiguration,
  options: BenchOptions,
): TargetCondition[] {
  return [
    ['generated text', options.judged === null],
    [`${formatNumber(targetSetup.documents, 0)} documents`, collection.documents === targetSetup.documents],
    [`${targetSetup.words} words each`, options.wordsPerDocument === targetSetup.words],
    [
      `${formatNumber(targetSetup.questions, 0)} different questions`,
      options.questions >= targetSetup.questions,
    ],
    [`${targetSetup.results} results`, options.results === targetSetup.results],
    ['one shard', collection.shards === 1],
    ['load by wrk', client === 'wrk'],
    isMeasuredLongEnough(options, 1),
  ];
}

/**
 * Returns the targets with a slow model. The cores are then the limit: each query takes the model's CPU time
 * plus a small overhead.
 */
function slowModelTargets(
  http: 'uws' | 'node',
  modelMs: number,
  { rate, cpuUs }: { readonly rate: number | null; readonly cpuUs: number | null },
  unmetConditions: string | null,
): PerformanceTarget[] {
  const ratePerSecondMax = (cores * 1_000) / (modelMs + otherQueryMsMax);
  const ms = modelMs.toFixed(2);
  return [
    {
      metric: `${http}: queries per second with a model of ${ms} ms, as a share of the capacity of ${cores} ${cores === 1 ? 'core' : 'cores'} at ${(modelMs + otherQueryMsMax).toFixed(2)} ms each (${formatNumber(ratePerSecondMax, 0)}/s) [%]`,
      reached: rate === null ? null : (100 * rate) / ratePerSecondMax,
      least: 95,
      unmetConditions,
    },
    {
      metric: `${http}: CPU of the server per query without the model [us]`,
      reached: cpuUs === null ? null : cpuUs - 1_000 * modelMs,
      most: targets[http].cpuUsMost,
      unmetConditions,
    },
  ];
}

/**
 * Compares the CPU time of the model with the available cores; more than all cores would mean that the model
 * did not run.
 */
function modelTable(configurations: readonly MeasuredConfiguration[], modelMs: number): ReportTable {
  return {
    title: 'CPU of the model',
    columns: [
      { key: 'configuration', heading: 'load', unit: null, digits: 0 },
      { key: 'runs', heading: 'texts embedded', unit: '1/s', digits: 0 },
      { key: 'ms', heading: 'each', unit: 'ms of a core', digits: 2 },
      { key: 'busy', heading: 'busy cores', unit: null, digits: 2 },
      { key: 'cores', heading: 'cores', unit: null, digits: 0 },
    ],
    rows: configurations.map(({ configuration: { name }, joined: { queriesPerSecond } }) => ({
      configuration: name,
      runs: queriesPerSecond,
      ms: modelMs,
      busy: (queriesPerSecond * modelMs) / 1_000,
      cores,
    })),
  };
}

/** Percentiles as 1 / (1 - quantile), the axis on which they are evenly spaced. */
const percentiles = [
  { at: 2, label: '50 %' },
  { at: 10, label: '90 %' },
  { at: 100, label: '99 %' },
  { at: 1_000, label: '99.9 %' },
] as const;

function chartsOf(configurations: readonly MeasuredConfiguration[]): Chart[] {
  const open = configurations.filter(({ configuration }) => configuration.ratePerSecond !== null);
  const kinds = [...new Set(open.map(({ configuration }) => configuration.http))];
  return [
    {
      kind: 'bars',
      title: 'Closed loop: queries per second',
      yLabel: 'queries per second',
      bars: configurations
        .filter(({ configuration }) => configuration.ratePerSecond === null)
        .map(({ configuration, joined }) => ({
          name: `${configuration.http}, ${configuration.call.name}, ${configuration.connections} connections`,
          value: joined.queriesPerSecond,
        })),
    },
    ...kinds.map(
      (kind): Chart => ({
        kind: 'lines',
        title: `Percentiles of the latency at fixed rates: ${kind}`,
        x: { label: 'share of the requests', scale: 'logarithmic', ticks: percentiles },
        y: { label: 'latency from the due time [ms]', scale: 'logarithmic' },
        series: open
          .filter(({ configuration }) => configuration.http === kind)
          .map(({ configuration, joined }) => ({
            name: `${configuration.ratePerSecond}/s`,
            points: [joined.p50Ms, joined.p90Ms, joined.p99Ms, joined.p999Ms].map((y, i) => ({
              x: percentiles[i]!.at,
              y,
            })),
          })),
      }),
    ),
  ];
}
