import { type ProfileStage, profileStages } from '../harness/cpu-profile.ts';
import type { MeasuredConfiguration, SearchMeasurement } from '../harness/search-measurement.ts';
import { ratioOf, spreadOf } from '../harness/statistics.ts';
import type { ReportColumn, ReportRow, ReportTable } from '../report/findings.ts';

/** Tables of the case "server" by call: the ceiling of HTTP, and where the time of a query goes. */

const column = (key: string, heading: string, unit: string | null, digits: number): ReportColumn => ({
  key,
  heading,
  unit,
  digits,
});
const callColumns = [column('http', 'HTTP', null, 0), column('call', 'call', null, 0)];
const echoKinds = ['uws', 'node'] as const;
const libraryNames = { uws: 'uWebSockets.js', node: 'node:http' } as const;

export function callTables(measurement: SearchMeasurement): ReportTable[] {
  const profiled = measurement.calls.filter(({ profile }) => profile !== null);
  return [
    ceilingTable(measurement),
    stageTimeTable(measurement),
    ...(profiled.length === 0 ? [] : [profileTable(measurement)]),
  ];
}

export function callNotes({ calls, echoes }: SearchMeasurement): string[] {
  const profiled = calls.some(({ profile }) => profile !== null);
  return [
    ...(echoes.length === 0
      ? []
      : [
          'Ceiling: an echo server parses the JSON of the same requests and replies with prepared JSON of the mean size of the real replies. The same client drives it in the same rounds. The ratio is the median of the ratios within the rounds, to the echo server on the same HTTP library.',
        ]),
    'Stages in milliseconds: mean of fifty queries one at a time with `explain`, on an idle server. "Shards" is vector and lexical search of the slowest shard; the server does not report them separately (compare the calls `lexical` and `vector`). "Rest" is the remainder of `quarry_http_request_seconds`: authentication, parsing, rendering, sending, and the explanation itself.',
    ...(profiled
      ? [
          'Stages in percent of the CPU: a profile of the main thread under a closed loop, scaled by the share of the main thread in the CPU of the process. Native code counts for the stage that called it. "Other threads" are the search threads, the worker pools and the threads of V8 and libuv.',
        ]
      : []),
  ];
}

function ceilingTable({ configurations, echoes, calls, answeredBy }: SearchMeasurement): ReportTable {
  const closed = configurations.filter(({ configuration }) => configuration.ratePerSecond === null);
  return {
    title: 'Ceiling: an echo server with the same requests and replies of the same size',
    columns: [
      ...callColumns,
      column('connections', 'connections', null, 0),
      column('replyBytes', 'reply', 'bytes', 0),
      column('rate', 'throughput', 'queries/s', 0),
      ...echoKinds.map((kind) => column(`${kind}Rate`, `echo on ${libraryNames[kind]}`, 'requests/s', 0)),
      column('ratio', 'throughput to echo', null, 3),
      column('cpu', 'server CPU', 'us/query', 0),
      ...echoKinds.map((kind) => column(`${kind}Cpu`, `CPU of echo on ${libraryNames[kind]}`, 'us', 0)),
    ],
    rows: closed.map((measured): ReportRow => {
      const { http, call, connections } = measured.configuration;
      const echoOf = (kind: string | undefined) =>
        echoes.find(
          ({ configuration }) =>
            configuration.http === kind &&
            configuration.call === call &&
            configuration.connections === connections,
        );
      const facts = calls.find((one) => one.call === call);
      const byKind = echoKinds.map((kind) => {
        const echo = echoOf(kind);
        return { [`${kind}Rate`]: rateOf(echo), [`${kind}Cpu`]: echo?.joined.serverCpuUs ?? null };
      });
      return {
        http: answeredBy[http] ?? http,
        call: call.name,
        connections,
        replyBytes: facts?.replyBytes ?? null,
        rate: rateOf(measured),
        cpu: measured.joined.serverCpuUs,
        ratio: ratioTo(measured, echoOf(answeredBy[http])),
        ...Object.assign({}, ...byKind),
      };
    }),
  };
}

function rateOf(measured: MeasuredConfiguration | undefined): number | null {
  if (measured === undefined) return null;
  return spreadOf(measured.rounds.map(({ queriesPerSecond }) => queriesPerSecond))?.median ?? null;
}

/** Returns the median of the ratios in the rounds that both have; an interrupted run may lack the last one. */
function ratioTo(own: MeasuredConfiguration, echo: MeasuredConfiguration | undefined): number | null {
  const rounds = Math.min(own.rounds.length, echo?.rounds.length ?? 0);
  if (echo === undefined || rounds === 0) return null;
  const rates = ({ rounds: all }: MeasuredConfiguration) =>
    all.slice(0, rounds).map(({ queriesPerSecond }) => queriesPerSecond);
  return ratioOf(rates(own), rates(echo))?.median ?? null;
}

const stageTimeColumns = [
  column('embed', 'embed', 'ms', 3),
  column('shards', 'shards', 'ms', 3),
  column('analysisAndFusion', 'analyze and fuse', 'ms', 3),
  column('rerank', 'rerank', 'ms', 3),
  column('read', 'read', 'ms', 3),
  column('rest', 'rest of the request', 'ms', 3),
];

function stageTimeTable({ calls, answeredBy }: SearchMeasurement): ReportTable {
  return {
    title: 'Stages of a query, one at a time',
    columns: [...callColumns, ...stageTimeColumns],
    rows: calls.map(({ call, http, stageTimes }) => ({
      http: answeredBy[http] ?? http,
      call: call.name,
      ...stageTimes,
    })),
  };
}

function profileTable({ calls, configurations, answeredBy }: SearchMeasurement): ReportTable {
  return {
    title: 'CPU of a query by stage',
    columns: [
      ...callColumns,
      column('cpu', 'server CPU', 'us/query', 0),
      ...profileStages.map((stage) => column(stage, stage, '%', 1)),
      column('others', 'other threads', '%', 1),
    ],
    rows: calls.flatMap(({ call, http, profile }): ReportRow[] => {
      if (profile === null) return [];
      const { mainThreadShare: main, stages } = profile;
      const percentOf = (stage: ProfileStage) =>
        main === null || stages === null ? null : 100 * main * stages[stage];
      const busiest = configurations
        .filter(({ configuration: one }) => one.http === http && one.call === call)
        .toSorted((a, b) => b.configuration.connections - a.configuration.connections)[0];
      return [
        {
          http: answeredBy[http] ?? http,
          call: call.name,
          cpu: busiest?.joined.serverCpuUs ?? null,
          ...Object.fromEntries(profileStages.map((stage) => [stage, percentOf(stage)])),
          others: main === null ? null : 100 * (1 - main),
        },
      ];
    }),
  };
}
