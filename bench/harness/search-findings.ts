import type { Figure, ReportColumn, ReportRow } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import type { IngestFigures } from './collections.ts';
import type { BenchOptions } from './options.ts';
import type { LoadFigures, MeasuredConfiguration, SearchMeasurement } from './search-measurement.ts';
import { ratioOf, spreadOf } from './statistics.ts';

/** Shared by the cases that put load on a server: columns, rows, figures, sentences. */

/** Share of its ceiling above which the generator slows down the server. */
const ceilingShareMax = 0.7;

const column = (key: string, heading: string, unit: string | null, digits: number): ReportColumn => ({
  ...{ key, heading, unit, digits },
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
  const { wordsPerDocument, questions, seed, rounds, seconds, warmUpSeconds, results } = options;
  const http = [...new Set(Object.values(measurement.answeredBy))];
  const names = http.map((kind) => (kind === 'uws' ? '`uWebSockets.js`' : '`node:http`'));
  return [
    `Corpus: generated documents of about ${wordsPerDocument} words (seed ${seed}), the same in every collection, added over HTTP to a server with default settings and an empty data directory.`,
    `Load: \`POST /v1/queries/top-snippets\` for ${results} snippets over ${names.join(' and ')}; ${formatNumber(questions, 0)} different questions in turn.`,
    `Rounds: ${rounds}. Each measures every configuration once for ${seconds} s after ${warmUpSeconds} s of warm-up, in a random order of its own. Before the first round each got ${warmUpSeconds} s of load unmeasured.`,
    'The server is a process of its own; the load generator is another process on the same machine, on raw keep-alive connections.',
  ];
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
    'Throughput is the median of the rounds; quantiles are of all rounds together. A quantile is n/a when there were too few latencies for one of them to lie beyond it; it is off by at most 0.1 %, upwards. The maximum is exact.',
    ...(loops.includes('closed')
      ? [
          'Closed loop: each connection asks again when it is answered, so throughput is what the server can do with so many clients, and the latency of a waiting crowd is not in the quantiles.',
        ]
      : []),
    ...(loops.includes('open')
      ? [
          `Open loop: a latency counts from the moment its request was due, waiting for a free connection included, so that a server that stalls is charged for everybody who waits. ${formatLateness(configurations)}`,
        ]
      : []),
    `The generator's ceiling: ${formatNumber(ceiling.joined.queriesPerSecond, 0)} requests/s at ${formatNumber(ceiling.joined.clientCpuUs, 0)} us of its CPU each, closed loop against a server that answers every request with the same ${formatNumber(replyBytes, 0)} bytes, in the same rounds. The fastest configuration it drove reached ${formatNumber(100 * share, 1)} % of it${share > ceilingShareMax ? ': TOO MUCH, the generator slows it down and its real figures are better.' : '.'}`,
    `Server and generator share the machine's cores: the generator's CPU (column "client CPU") is not the server's to use. Server CPU is that of all its threads, read from /proc in steps of 10 ms.`,
    ...(abandoned === 0
      ? []
      : [
          `${formatNumber(abandoned, 0)} requests had no reply 10 s after their window; they count with the time they had waited.`,
        ]),
  ];
}

/** Describes the lateness of the generator; only an open loop has due times. */
function formatLateness(configurations: readonly MeasuredConfiguration[]): string {
  const known = configurations.flatMap(({ joined }) => joined.latenessP99Ms ?? []);
  return known.length === 0
    ? 'The requests were too few to tell how late the generator itself looked at its clock; that is part of the latencies.'
    : `The generator itself looked at its clock up to ${formatNumber(Math.max(...known), 2)} ms late (p99); that is part of the latencies.`;
}
