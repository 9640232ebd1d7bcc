import { figure } from '../report/figures.ts';
import type { Column, Figure, Findings, Row, Series } from '../report/findings.ts';
import type { BenchOptions } from './options.ts';
import type { LoadFigures, MeasuredConfiguration, SearchMeasurement } from './search-measurement.ts';
import { ratioOf, spreadOf } from './statistics.ts';

/** What the configurations of a case differ in: the first column of its table and the x axis of its charts. */
export interface Axis {
  readonly heading: string;
  readonly label: string;
  readonly values: readonly number[];
}

export interface SearchFindingsOptions {
  readonly title: string;
  readonly axis: Axis;
  readonly measurement: SearchMeasurement;
  readonly options: BenchOptions;
}

/** Above this share of its ceiling the generator slows the server down. */
const ceilingShareMax = 0.7;

/** Table, charts and notes of a case that put load on collections; the first configuration is the peer of all. */
export function searchFindings({ title, axis, measurement, options }: SearchFindingsOptions): Findings {
  const { configurations } = measurement;
  const peer = configurations[0]?.rounds ?? [];
  return {
    title,
    method: methodOf(measurement, options),
    tables: [
      {
        title: 'Queries',
        columns: columnsOf(axis),
        rows: configurations.map((measured, i) => ({
          axis: axis.values[i] ?? null,
          ...rowOf(measured, peer),
          agreement: 100 * (measurement.agreement[i] ?? 0),
        })),
      },
    ],
    charts: [
      {
        kind: 'lines',
        title: 'Throughput over HTTP: median of the rounds, bar from least to most',
        x: xOf(axis),
        y: { label: 'queries per second', scale: 'linear' },
        series: [throughputSeries(axis, configurations)],
      },
      {
        kind: 'lines',
        title: `Latency over HTTP, ${loopWords(options)}`,
        x: xOf(axis),
        y: { label: 'latency [ms]', scale: 'linear' },
        series: [
          { name: 'p50', points: pointsOf(axis, configurations, ({ p50Ms }) => p50Ms) },
          { name: 'p99', points: pointsOf(axis, configurations, ({ p99Ms }) => p99Ms) },
        ],
      },
    ],
    figures: configurations.flatMap(figuresOf),
    notes: notesOf(measurement, options),
    measured: measurement,
  };
}

function xOf({ label, values }: Axis) {
  const ticks = values.map((at) => ({ at, label: String(at) }));
  return { label, scale: 'logarithmic', ticks } as const;
}

function pointsOf(
  axis: Axis,
  configurations: readonly MeasuredConfiguration[],
  of: (figures: LoadFigures) => number | null,
) {
  return configurations.map(({ joined }, i) => ({ x: axis.values[i] ?? 1, y: of(joined) }));
}

function throughputSeries(axis: Axis, configurations: readonly MeasuredConfiguration[]): Series {
  return {
    name: 'queries per second',
    points: configurations.map(({ rounds }, i) => {
      const spread = spreadOf(rounds.map((round) => round.queriesPerSecond));
      return { x: axis.values[i] ?? 1, y: spread?.median ?? null, spread };
    }),
  };
}

function figuresOf({ configuration, rounds }: MeasuredConfiguration): Figure[] {
  const figure = (
    what: string,
    unit: string,
    better: Figure['better'],
    of: (figures: LoadFigures) => number | null,
  ): Figure[] => {
    const values = rounds.map(of).filter((value) => value !== null);
    return values.length < rounds.length
      ? []
      : [{ name: `${configuration.name}: ${what}`, unit, better, values }];
  };
  return [
    ...figure('throughput', 'queries/s', 'more', (round) => round.queriesPerSecond),
    ...figure('p50', 'ms', 'less', ({ p50Ms }) => p50Ms),
    ...figure('p99', 'ms', 'less', ({ p99Ms }) => p99Ms),
    ...figure('server CPU', 'us/query', 'less', ({ serverCpuUs }) => serverCpuUs),
  ];
}

function columnsOf(axis: Axis): Column[] {
  const column = (key: string, heading: string, unit: string | null, digits: number) => ({
    key,
    heading,
    unit,
    digits,
  });
  return [
    column('axis', axis.heading, null, 0),
    column('queriesPerSecond', 'throughput', 'queries/s', 0),
    column('queriesPerSecondLeast', 'least', 'queries/s', 0),
    column('queriesPerSecondMost', 'most', 'queries/s', 0),
    column('throughputRatio', 'throughput', 'x peer', 2),
    column('p50Ms', 'p50', 'ms', 2),
    column('p50Ratio', 'p50', 'x peer', 2),
    column('p99Ms', 'p99', 'ms', 2),
    column('p99Ratio', 'p99', 'x peer', 2),
    column('mostMs', 'max', 'ms', 2),
    column('serverCpuUs', 'server CPU', 'us/query', 0),
    column('serverCpuRatio', 'server CPU', 'x peer', 2),
    column('clientCpuUs', 'client CPU', 'us/query', 0),
    column('samples', 'samples', null, 0),
    column('agreement', 'same documents', '%', 1),
  ];
}

function rowOf({ rounds, joined }: MeasuredConfiguration, peer: readonly LoadFigures[]): Row {
  const ratio = (of: (figures: LoadFigures) => number | null) =>
    ratioOf(rounds.map(of), peer.map(of))?.median ?? null;
  const throughput = spreadOf(rounds.map((round) => round.queriesPerSecond));
  return {
    queriesPerSecond: throughput?.median ?? null,
    queriesPerSecondLeast: throughput?.least ?? null,
    queriesPerSecondMost: throughput?.most ?? null,
    throughputRatio: ratio(({ queriesPerSecond }) => queriesPerSecond),
    p50Ms: joined.p50Ms,
    p50Ratio: ratio(({ p50Ms }) => p50Ms),
    p99Ms: joined.p99Ms,
    p99Ratio: ratio(({ p99Ms }) => p99Ms),
    mostMs: joined.mostMs,
    serverCpuUs: joined.serverCpuUs,
    serverCpuRatio: ratio(({ serverCpuUs }) => serverCpuUs),
    clientCpuUs: joined.clientCpuUs,
    samples: joined.samples,
  };
}

function loopWords({ connections, rates: [ratePerSecond] }: BenchOptions): string {
  if (ratePerSecond === undefined) return `closed loop on ${connections} connections`;
  return `open loop at ${figure(ratePerSecond, 0)} requests/s on ${connections} connections`;
}

function methodOf(measurement: SearchMeasurement, options: BenchOptions): string[] {
  const { documents, wordsPerDocument, questions, seed, rounds, seconds, warmUpSeconds, results } = options;
  return [
    `Corpus: ${figure(documents, 0)} generated documents of about ${wordsPerDocument} words (seed ${seed}), the same in every collection of one server.`,
    `Load: \`POST /v1/queries/top-snippets\` for ${results} snippets over \`${measurement.http === 'uws' ? 'uWebSockets.js' : 'node:http'}\`, ${loopWords(options)}; ${figure(questions, 0)} different questions in turn.`,
    `Rounds: ${rounds}. Each measures every configuration once for ${seconds} s after ${warmUpSeconds} s of warm-up, in a random order of its own. Before the first round each got ${warmUpSeconds} s of load unmeasured.`,
    'The server is a process of its own; the load generator is one thread of another process on the same machine, on raw keep-alive sockets.',
  ];
}

function notesOf(
  { ceiling, configurations, replyBytes }: SearchMeasurement,
  options: BenchOptions,
): string[] {
  const most = Math.max(...configurations.map(({ joined }) => joined.queriesPerSecond));
  const share = most / ceiling.joined.queriesPerSecond;
  const abandoned = configurations.reduce((sum, { joined }) => sum + joined.abandoned, 0);
  return [
    'Throughput is the median of the rounds. "x peer" compares with the first row in the same round, and is the median of those ratios; quantiles are of all rounds together.',
    options.rates.length === 0
      ? 'Closed loop: each connection asks again when it is answered, so throughput is what the server can do with so many clients, and the latency of a waiting crowd is not in the quantiles. Use --rate for that.'
      : `Open loop: a latency counts from the moment its request was due, waiting for a free connection included. Throughput is at most the rate that was asked for. The generator itself looked at its clock up to ${figure(Math.max(...configurations.map(({ joined }) => joined.latenessP99Ms ?? 0)), 2)} ms late (p99); that is part of the latencies.`,
    'A quantile is n/a when there were too few latencies for one of them to lie beyond it; it is off by at most 0.1 %, upwards. The maximum is exact.',
    `The generator's ceiling: ${figure(ceiling.joined.queriesPerSecond, 0)} requests/s at ${figure(ceiling.joined.clientCpuUs, 0)} us of its CPU each, closed loop against a server that answers every request with the same ${figure(replyBytes, 0)} bytes, in the same rounds. The fastest configuration reached ${figure(100 * share, 1)} % of it${share > ceilingShareMax ? ': TOO MUCH, the generator slows it down and its real figures are better.' : '.'}`,
    `Server and generator share the machine's cores: the generator's CPU (column "client CPU") is not the server's to use.`,
    '"Same documents": how many of the documents in the first row\'s answers are also in this row\'s, over fifty questions. Approximate search may differ a little between shard counts.',
    ...(abandoned === 0
      ? []
      : [
          `${figure(abandoned, 0)} requests had no reply 10 s after their window; they count with the time they had waited.`,
        ]),
  ];
}
