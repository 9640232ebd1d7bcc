import type { Figure, ReportColumn, ReportRow } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import type { IngestFigures } from './collections.ts';
import type { LoadFigures } from './load-figures.ts';
import type { BenchOptions } from './options.ts';
import type { MeasuredConfiguration, SearchMeasurement } from './search-measurement.ts';
import { ratioOf, spreadOf } from './statistics.ts';

/** Shared by the cases that put load on a server: columns, rows, figures, sentences. */

/** Share of its ceiling above which the generator slows down the server. */
const ceilingShareMax = 0.7;

const column = (key: string, heading: string, unit: string | null, digits: number): ReportColumn => ({
  key,
  heading,
  unit,
  digits,
});

export const loadColumns: readonly ReportColumn[] = [
  column('queriesPerSecond', 'throughput', 'queries/s', 0),
  column('queriesPerSecondLeast', 'least', 'queries/s', 0),
  column('queriesPerSecondMost', 'most', 'queries/s', 0),
  column('p50Ms', 'p50', 'ms', 2),
  column('p90Ms', 'p90', 'ms', 2),
  column('p99Ms', 'p99', 'ms', 2),
  column('p999Ms', 'p99.9', 'ms', 2),
  column('mostMs', 'max', 'ms', 2),
  column('serverCpuUs', 'server CPU', 'us/query', 0),
  column('clientCpuUs', 'client CPU', 'us/query', 0),
  column('samples', 'samples', null, 0),
];

export const peerColumns: readonly ReportColumn[] = [
  column('throughputRatio', 'throughput', 'x peer', 2),
  column('p50Ratio', 'p50', 'x peer', 2),
  column('p99Ratio', 'p99', 'x peer', 2),
  column('serverCpuRatio', 'server CPU', 'x peer', 2),
];

export function loadRow({ rounds, joined }: MeasuredConfiguration): ReportRow {
  const throughput = spreadOf(rounds.map((round) => round.queriesPerSecond));
  return {
    queriesPerSecond: throughput?.median ?? null,
    queriesPerSecondLeast: throughput?.least ?? null,
    queriesPerSecondMost: throughput?.most ?? null,
    p50Ms: joined.p50Ms,
    p90Ms: joined.p90Ms,
    p99Ms: joined.p99Ms,
    p999Ms: joined.p999Ms,
    mostMs: joined.mostMs,
    serverCpuUs: joined.serverCpuUs,
    clientCpuUs: joined.clientCpuUs,
    samples: joined.samples,
  };
}

/** Returns ratios to another configuration, computed round by round. */
export function peerRow(own: MeasuredConfiguration, peer: MeasuredConfiguration | undefined): ReportRow {
  const ratio = (of: (figures: LoadFigures) => number | null) =>
    peer === undefined ? null : (ratioOf(own.rounds.map(of), peer.rounds.map(of))?.median ?? null);
  return {
    throughputRatio: ratio(({ queriesPerSecond }) => queriesPerSecond),
    p50Ratio: ratio(({ p50Ms }) => p50Ms),
    p99Ratio: ratio(({ p99Ms }) => p99Ms),
    serverCpuRatio: ratio(({ serverCpuUs }) => serverCpuUs),
  };
}

/** Returns megabytes of text per second, portion by portion. */
export function ingestRates(portions: readonly IngestFigures[]): number[] {
  return portions.map(({ textBytes, ms }) => textBytes / 1_000 / ms);
}

export function loadFigures({ configuration, rounds }: MeasuredConfiguration): Figure[] {
  const figureOf = (
    metric: string,
    unit: string,
    better: Figure['better'],
    of: (figures: LoadFigures) => number | null,
  ): Figure[] => {
    const values = rounds.map(of).filter((value) => value !== null);
    return values.length < rounds.length
      ? []
      : [{ name: `${configuration.name}: ${metric}`, unit, better, values }];
  };
  return [
    // In an open loop the rate is fixed.
    ...(configuration.ratePerSecond === null
      ? figureOf('throughput', 'queries/s', 'more', ({ queriesPerSecond }) => queriesPerSecond)
      : []),
    ...figureOf('p50', 'ms', 'less', ({ p50Ms }) => p50Ms),
    ...figureOf('p99', 'ms', 'less', ({ p99Ms }) => p99Ms),
    ...figureOf('server CPU', 'us/query', 'less', ({ serverCpuUs }) => serverCpuUs),
  ];
}

export function loadMethod(measurement: SearchMeasurement, options: BenchOptions): string[] {
  const { rounds, seconds, warmUpSeconds, results } = options;
  const http = [...new Set(Object.values(measurement.answeredBy))];
  const names = http.map((kind) => (kind === 'uws' ? '`uWebSockets.js`' : '`node:http`'));
  return [
    measurement.source.description,
    'Every collection gets the same documents, added over HTTP to a server with default settings and an empty data directory.',
    `Load: \`POST\` over ${names.join(' and ')}, ${results} results, the questions in turn. ${callDescriptions(measurement)}`,
    `Rounds: ${rounds}. Each measures every configuration once for ${seconds} s after ${warmUpSeconds} s of warm-up, in a random order. Before the first round each gets ${warmUpSeconds} s of unmeasured load.`,
    'The server runs in its own process; the load generator is another process on the same machine, with raw keep-alive connections.',
  ];
}

/** Describes the requests of every call. */
function callDescriptions({ configurations }: SearchMeasurement): string {
  const calls = [...new Set(configurations.map(({ configuration }) => configuration.call))];
  const described = calls.map(({ name, operation, fields }) => {
    const more = Object.keys(fields).length === 0 ? '' : ` with \`${JSON.stringify(fields)}\``;
    return `${name}: \`/v1/${operation}\`${more}`;
  });
  return `${described.join('; ')}.`;
}

export function loadNotes({ ceiling, configurations, replyBytes }: SearchMeasurement): string[] {
  const own = configurations.filter(({ configuration }) => configuration.client === 'own');
  const most = Math.max(0, ...own.map(({ joined }) => joined.queriesPerSecond));
  const share = most / ceiling.joined.queriesPerSecond;
  const abandoned = configurations.reduce((sum, { joined }) => sum + joined.abandoned, 0);
  const loops = configurations.map(({ configuration: { ratePerSecond } }) =>
    ratePerSecond === null ? 'closed' : 'open',
  );
  return [
    'Throughput is the median of the rounds; quantiles are of all rounds together. A quantile is n/a if there were too few latencies for one of them to lie beyond it; it is at most 0.1 % too high. The maximum is exact.',
    ...(loops.includes('closed')
      ? [
          'Closed loop: each connection sends its next request after the reply, so throughput is the maximum with this number of clients, and the quantiles do not include queueing of further clients.',
        ]
      : []),
    ...(loops.includes('open')
      ? [
          `Open loop: latency counts from the due time of a request, including the wait for a free connection, so that a stall of the server counts for all waiting requests. ${formatLateness(configurations)}`,
        ]
      : []),
    `The generator's ceiling: ${formatNumber(ceiling.joined.queriesPerSecond, 0)} requests/s at ${formatNumber(ceiling.joined.clientCpuUs, 0)} us of its CPU each, closed loop against a server that answers every request with the same ${formatNumber(replyBytes, 0)} bytes, in the same rounds. The fastest configuration it drove reached ${formatNumber(100 * share, 1)} % of it${share > ceilingShareMax ? ': TOO CLOSE, the generator limits the load; the actual figures of the server are better.' : '.'}`,
    `Server and generator share the machine's cores: the generator's CPU (column "client CPU") is not available to the server. Server CPU is that of all its threads, read from /proc in steps of 10 ms.`,
    ...(abandoned === 0
      ? []
      : [
          `${formatNumber(abandoned, 0)} requests had no reply 10 s after their window; their waiting time counts as latency.`,
        ]),
  ];
}

/** Describes the lateness of the generator; only an open loop has due times. */
function formatLateness(configurations: readonly MeasuredConfiguration[]): string {
  const known = configurations.flatMap(({ joined }) => joined.latenessP99Ms ?? []);
  return known.length === 0
    ? 'There were too few requests to measure the scheduling delay of the generator, which is part of the latencies.'
    : `The scheduling delay of the generator was up to ${formatNumber(Math.max(...known), 2)} ms (p99) and is part of the latencies.`;
}
