import { availableParallelism } from 'node:os';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import { loadColumns, loadFigures, loadMethod, loadNotes, loadRow } from '../harness/search-findings.ts';
import {
  closedLoopClient,
  type MeasuredConfiguration,
  measureSearches,
  type SearchConfiguration,
  type SearchMeasurement,
} from '../harness/search-measurement.ts';
import { spreadOf } from '../harness/statistics.ts';
import type { Chart, Findings, Row, Table } from '../report/findings.ts';

/** What can one server do over HTTP, and how long do its users wait at a given rate? */
export const serverCase: BenchCase = {
  name: 'server',
  summary: 'queries over HTTP: closed-loop maximum, latency at fixed rates, CPU per query; uWS and node:http',
  presets: {
    smoke:
      '--documents 40 --words 60 --questions 20 --seconds 0.2 --warm-up 0.05 --rounds 2 --connections 2 --rate 50',
    usual: '--documents 2000 --seconds 3 --warm-up 1 --connections 32 --rate 250,500,1000,2000',
    full: '--documents 10000 --seconds 6 --warm-up 2 --rounds 5 --connections 32 --rate 250,500,1000,2000,4000',
  },
  async run(context) {
    const closed = await closedLoopClient();
    // wrk counts whole seconds; a smoke run has none to spare.
    const client = context.options.size === 'smoke' ? 'own' : closed.client;
    const measurement = await measureSearches(configurationsOf(context, client), context);
    return findingsOf(measurement, context, closed.words);
  },
};

function configurationsOf({ options }: BenchContext, client: 'own' | 'wrk'): SearchConfiguration[] {
  const { documents, rates, connections, shards } = options;
  const kinds = options.http === 'auto' ? (['uws', 'node'] as const) : [options.http];
  const size = Math.max(...documents);
  const collection = { name: 'server', shards: shards[0] ?? 1, documents: size };
  return kinds.flatMap((http) =>
    connections.flatMap((clients) => [
      {
        name: `${http}: closed loop, ${clients} connections`,
        ...{ http, collection, client, connections: clients, ratePerSecond: null },
      },
      ...rates.map((ratePerSecond) => ({
        name: `${http}: ${ratePerSecond} requests/s, ${clients} connections`,
        ...{ http, collection, client: 'own' as const, connections: clients, ratePerSecond },
      })),
    ]),
  );
}

function findingsOf(measurement: SearchMeasurement, { options }: BenchContext, client: string): Findings {
  const { configurations } = measurement;
  return {
    title: `One server over HTTP, ${Math.max(...options.documents)} documents`,
    method: [
      ...loadMethod(measurement, options),
      `Closed loop: ${client}. Open loop: a worker thread of the bench.`,
    ],
    tables: [promises(configurations, measurement.modelMs), loadTable(configurations)],
    charts: chartsOf(configurations),
    notes: [
      measurement.modelMs === null
        ? 'The built-in model is a static one: embedding a question costs microseconds. With a model that takes milliseconds (--model-ms), throughput is what the model allows.'
        : `Questions were embedded by a model that takes ${measurement.modelMs.toFixed(2)} ms of one core, on a thread for each core; nothing was kept for questions that come again.`,
      ...loadNotes(measurement),
    ],
    figures: configurations.flatMap(loadFigures),
    measured: measurement,
  };
}

function loadTable(configurations: readonly MeasuredConfiguration[]): Table {
  return {
    title: 'Queries',
    columns: [
      { key: 'http', heading: 'HTTP', unit: null, digits: 0 },
      { key: 'load', heading: 'load', unit: null, digits: 0 },
      { key: 'connections', heading: 'connections', unit: null, digits: 0 },
      ...loadColumns,
    ],
    rows: configurations.map((measured): Row => {
      const { http, ratePerSecond, connections } = measured.configuration;
      const load = ratePerSecond === null ? 'closed loop' : `${ratePerSecond}/s`;
      return { http, load, connections, ...loadRow(measured) };
    }),
  };
}

/** What the server is meant to reach in the closed loop. */
function promises(configurations: readonly MeasuredConfiguration[], modelMs: number | null): Table {
  const wanted = { uws: { least: 11_000, cpuMost: 120 }, node: { least: 8_000, cpuMost: 160 } } as const;
  const rows = configurations.flatMap(({ configuration: { http, ratePerSecond }, rounds, joined }): Row[] => {
    if (ratePerSecond !== null || http === 'auto') return [];
    const { least: leastBuiltIn, cpuMost } = wanted[http];
    // With a slow model: 95 % of what the cores could embed, with .1 ms for everything else.
    const least =
      modelMs === null ? leastBuiltIn : Math.floor((950 * availableParallelism()) / (modelMs + 0.1));
    const cpuLimit = Math.round(cpuMost + 1_000 * (modelMs ?? 0));
    const rate = spreadOf(rounds.map(({ queriesPerSecond }) => queriesPerSecond))?.median ?? 0;
    const cpu = joined.serverCpuUs;
    return [
      {
        what: `${http}: queries per second, client on the same machine`,
        reached: rate,
        wanted: `>= ${least}`,
        verdict: rate >= least ? 'reached' : 'MISSED',
      },
      {
        what: `${http}: CPU of the server per query [us]`,
        reached: cpu,
        wanted: `<= ${cpuLimit}`,
        verdict: cpu === null ? 'not measured' : cpu <= cpuLimit ? 'reached' : 'MISSED',
      },
    ];
  });
  return {
    title: 'Reached and wanted',
    columns: [
      { key: 'what', heading: 'what', unit: null, digits: 0 },
      { key: 'reached', heading: 'reached', unit: null, digits: 0 },
      { key: 'wanted', heading: 'wanted', unit: null, digits: 0 },
      { key: 'verdict', heading: 'verdict', unit: null, digits: 0 },
    ],
    rows,
  };
}

/** 1 / (1 - quantile): the axis on which percentiles lie evenly. */
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
          name: `${configuration.http}, ${configuration.connections} connections`,
          value: joined.queriesPerSecond,
        })),
    },
    ...kinds.map(
      (kind): Chart => ({
        kind: 'lines',
        title: `Percentiles of the latency at fixed rates: ${kind}`,
        x: { label: 'share of the requests', scale: 'logarithmic', ticks: percentiles },
        y: { label: 'latency from the moment it was due [ms]', scale: 'logarithmic' },
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
