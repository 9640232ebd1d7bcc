import { assertDefined } from '../../src/core/assert.ts';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import type { LoadFigures } from '../harness/load-figures.ts';
import type { BenchOptions } from '../harness/options.ts';
import { snippetsCall } from '../harness/query-calls.ts';
import type { Strategies } from '../harness/questions.ts';
import {
  ingestRates,
  loadColumns,
  loadFigures,
  loadMethod,
  loadNotes,
  loadRow,
  peerColumns,
  peerRow,
} from '../harness/search-findings.ts';
import {
  type MeasuredConfiguration,
  measureSearches,
  type SearchConfiguration,
  type SearchMeasurement,
} from '../harness/search-measurement.ts';
import { ratioOf, spreadOf } from '../harness/statistics.ts';
import { openCorpus } from '../harness/text-corpus.ts';
import type { BenchFindings, Chart, ReportTable, Series } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import {
  isMeasuredLongEnough,
  listUnmetConditions,
  type PerformanceTarget,
  targetTable,
} from '../report/performance-targets.ts';

/** Targets: maximum CPU of a query by number of shards, relative to one shard. */
const cpuRatioMax = { 8: 4, 16: 6.5, 32: 10, 64: 20 } as const;
/** Setup for which the targets apply. */
const targetSetup = { documents: 10_000, words: 300, results: 10 };
const serverCpu = ({ serverCpuUs }: LoadFigures) => serverCpuUs;

/** Measures cost and benefit of distributing a collection over more shards. */
export const shardsCase: BenchCase = {
  name: 'shards',
  summary: 'ingest, throughput, latency and CPU over HTTP, by shards, connections and size of a collection',
  presets: {
    smoke:
      '--documents 40 --words 60 --questions 20 --seconds 0.2 --warm-up 0.05 --rounds 2 --connections 2 --shards 1,8',
    usual: '--documents 500,2000 --seconds 1.5 --warm-up 0.5 --connections 1,8',
    full: '--documents 1000,10000 --seconds 3 --rounds 5 --connections 1,8,32',
  },
  async run(runContext) {
    const corpus = await openCorpus(runContext);
    const { context } = corpus;
    return toShardsFindings(await measureSearches(configurationsOf(context), corpus), context.options);
  },
};

function configurationsOf({ options }: BenchContext): SearchConfiguration[] {
  const { documents, shards, connections, rates, http } = options;
  return documents.flatMap((size) =>
    shards.flatMap((count) =>
      connections.flatMap((connectionCount) =>
        (rates.length === 0 ? [null] : rates).map((ratePerSecond) => ({
          name: `${size} documents, ${count} shards, ${connectionCount} connections${ratePerSecond === null ? '' : `, ${ratePerSecond}/s`}`,
          http,
          subject: 'quarry' as const,
          call: snippetsCall,
          collection: { name: `documents-${size}-shards-${count}`, shards: count, documents: size },
          connections: connectionCount,
          ratePerSecond,
          client: 'own' as const,
        })),
      ),
    ),
  );
}

export function toShardsFindings(measurement: SearchMeasurement, options: BenchOptions): BenchFindings {
  const groups = groupConfigurations(measurement);
  return {
    title: 'Cost and benefit of shards, over HTTP',
    method: [
      ...loadMethod(measurement, options),
      'Ingest: portions of 256 documents, as four concurrent requests of 64, each answered when its documents are searchable; each portion is added to all collections, in a random order.',
    ],
    tables: [
      targetTable(performanceTargets(groups, options), 2),
      ingestTable(measurement),
      ...groups.map(loadTable),
    ],
    charts: [...chartsOf(groups, options), ingestChart(measurement)],
    notes: [
      'CPU of the server per query includes HTTP. Only the search part grows with the shards. HTTP is in both sides of every ratio, so the search alone grows more than the ratio.',
      '"Nearest vectors by" is the strategy that `explain` reported for fifty questions, one at a time, before the load: a shard of few rows is scanned completely (`scan`), a larger one is searched through its graph (`graph`). If one shard uses the graph and each of many shards is scanned, as with 10,000 documents, the ratio compares two strategies and does not apply to collections whose shards all use the graph.',
      '"x peer" compares with the first shard count of the same size and connections, in the same round, and is the median of those ratios.',
      'Shards of one process share its cores, pools and store, so they do not add ingest throughput: parsing, chunking, embedding and writing cost the same for every shard. The benefit of more shards is smaller graphs, rebuilt in smaller parts, and a search that can use idle cores; the cost is one search per shard.',
      ...loadNotes(measurement),
      '"Same documents": the share of the documents found with the first shard count that this shard count finds too, over fifty questions. Approximate search may differ slightly between shard counts.',
    ],
    figures: [
      ...measurement.configurations.flatMap(loadFigures),
      ...measurement.filled.map(({ plan, portions }) => ({
        name: `${plan.name}: ingest`,
        unit: 'MB/s of text',
        better: 'more' as const,
        values: ingestRates(portions),
      })),
    ],
    complete: measurement.complete,
    conditions: {
      'HTTP server': [...new Set(Object.values(measurement.answeredBy))].join(', '),
      corpus: measurement.source.name,
    },
    measured: measurement,
  };
}

interface Group {
  readonly title: string;
  /** Unique name of the group in a chart. */
  readonly shortName: string;
  readonly documents: number;
  readonly members: readonly MeasuredConfiguration[];
  readonly agreement: readonly number[];
  readonly strategies: readonly Strategies[];
}

/** Groups configurations that differ only in their shards. */
function groupConfigurations({ configurations, filled, agreement, strategies }: SearchMeasurement): Group[] {
  const indexByCollection = new Map(filled.map(({ plan }, i) => [plan.name, i]));
  const indexOf = ({ configuration: { collection } }: MeasuredConfiguration) =>
    assertDefined(indexByCollection.get(collection.name), 'every collection was filled');
  const groups = new Map<string, MeasuredConfiguration[]>();
  for (const measured of configurations) {
    const { collection, connections, ratePerSecond } = measured.configuration;
    const loop = ratePerSecond === null ? 'closed loop' : `open loop, ${ratePerSecond} requests/s`;
    const title = `${collection.documents} documents, ${connections} connections, ${loop}`;
    groups.set(title, [...(groups.get(title) ?? []), measured]);
  }
  return [...groups].map(([title, members]) => ({
    title,
    ...namesOf(assertDefined(members[0], 'a group has members').configuration),
    members,
    agreement: members.map((member) => agreement[indexOf(member)] ?? 0),
    strategies: members.map((member) => strategies[indexOf(member)] ?? {}),
  }));
}

function namesOf({ collection: { documents }, connections, ratePerSecond }: SearchConfiguration) {
  const rate = ratePerSecond === null ? '' : `, ${ratePerSecond}/s`;
  return { documents, shortName: `${documents} d, ${connections} c${rate}` };
}

/**
 * Returns the targets for CPU per query relative to one shard: the worst ratio over all connections and
 * rates, for collections of the target size, or for all if none has it.
 */
function performanceTargets(groups: readonly Group[], options: BenchOptions): PerformanceTarget[] {
  const large = groups.filter(({ documents }) => documents === targetSetup.documents);
  const size = `${formatNumber(targetSetup.documents, 0)} documents`;
  const unmetConditions = listUnmetConditions([
    ['generated text', options.judged === null],
    [size, large.length > 0],
    [`${targetSetup.words} words each`, options.wordsPerDocument === targetSetup.words],
    [`${targetSetup.results} results`, options.results === targetSetup.results],
    isMeasuredLongEnough(options, 1),
  ]);
  const tables = large.length > 0 ? `tables of ${size}` : 'tables';
  return Object.entries(cpuRatioMax).map(([count, most]): PerformanceTarget => {
    const ratios = (large.length > 0 ? large : groups).map(({ members }) => {
      const [one, many] = [1, Number(count)].map((shards) =>
        members.find(({ configuration }) => configuration.collection.shards === shards),
      );
      return one === undefined || many === undefined
        ? null
        : (ratioOf(many.rounds.map(serverCpu), one.rounds.map(serverCpu))?.median ?? null);
    });
    return {
      metric: `CPU of the server per query with ${count} shards relative to one, the maximum of all ${tables} below`,
      reached: spreadOf(ratios)?.most ?? null,
      most,
      unmetConditions,
    };
  });
}

function loadTable({ title, members, agreement, strategies }: Group): ReportTable {
  return {
    title,
    columns: [
      { key: 'shards', heading: 'shards', unit: null, digits: 0 },
      { key: 'strategy', heading: 'nearest vectors by', unit: null, digits: 0 },
      ...loadColumns,
      ...peerColumns,
      { key: 'agreement', heading: 'same documents', unit: '%', digits: 1 },
    ],
    rows: members.map((measured, i) => ({
      shards: measured.configuration.collection.shards,
      strategy: formatStrategies(strategies[i] ?? {}),
      ...loadRow(measured),
      ...peerRow(measured, members[0]),
      agreement: 100 * (agreement[i] ?? 0),
    })),
  };
}

/** Formats the search strategy that all shards used, or the share of each. */
function formatStrategies(counts: Strategies): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => (count === all ? name : `${name} ${formatNumber((100 * count) / all, 1)} %`))
    .join(', ');
}

function ingestTable({ filled }: SearchMeasurement): ReportTable {
  const cpu = filled.map(({ portions }) => {
    const bytes = portions.reduce((sum, { textBytes }) => sum + textBytes, 0);
    const known = portions.every(({ serverCpuMs }) => serverCpuMs !== null);
    return known
      ? portions.reduce((sum, { serverCpuMs }) => sum + (serverCpuMs ?? 0), 0) / (bytes / 1e6)
      : null;
  });
  return {
    title: 'Ingest over HTTP, until the documents are searchable',
    columns: [
      { key: 'documents', heading: 'documents', unit: null, digits: 0 },
      { key: 'shards', heading: 'shards', unit: null, digits: 0 },
      { key: 'median', heading: 'throughput', unit: 'MB/s of text', digits: 2 },
      { key: 'least', heading: 'least', unit: 'MB/s', digits: 2 },
      { key: 'most', heading: 'most', unit: 'MB/s', digits: 2 },
      { key: 'cpu', heading: 'server CPU', unit: 'ms per MB', digits: 0 },
    ],
    rows: filled.map(({ plan, portions }, i) => ({
      documents: plan.documents,
      shards: plan.shards,
      ...spreadOf(ingestRates(portions)),
      cpu: cpu[i] ?? null,
    })),
  };
}

function shardsAxis(options: BenchOptions) {
  const ticks = options.shards.map((at) => ({ at, label: String(at) }));
  return { label: 'shards of the collection (logarithmic)', scale: 'logarithmic', ticks } as const;
}

function seriesOf({ shortName, members }: Group, of: (figures: LoadFigures) => number | null): Series {
  return {
    name: shortName,
    points: members.map(({ configuration, rounds }) => {
      const spread = spreadOf(rounds.map(of));
      return { x: configuration.collection.shards, y: spread?.median ?? null, spread };
    }),
  };
}

function chartsOf(groups: readonly Group[], options: BenchOptions): Chart[] {
  const x = shardsAxis(options);
  const chart = (title: string, label: string, of: (figures: LoadFigures) => number | null): Chart => ({
    kind: 'lines',
    title,
    x,
    y: { label, scale: 'linear' },
    series: groups.map((group) => seriesOf(group, of)),
  });
  const quantiles = [
    ['p50', ({ p50Ms }: LoadFigures) => p50Ms],
    ['p90', ({ p90Ms }: LoadFigures) => p90Ms],
    ['p99', ({ p99Ms }: LoadFigures) => p99Ms],
    ['p99.9', ({ p999Ms }: LoadFigures) => p999Ms],
  ] as const;
  const last = assertDefined(groups.at(-1), 'a case has configurations');
  return [
    chart(
      'Throughput by shards (d documents, c connections)',
      'queries per second',
      (f) => f.queriesPerSecond,
    ),
    {
      kind: 'lines',
      title: `Latency by shards: ${last.title}`,
      x,
      y: { label: 'latency [ms]', scale: 'linear' },
      series: quantiles.map(([name, of]) => ({
        name,
        points: last.members.map(({ configuration, joined }) => ({
          x: configuration.collection.shards,
          y: of(joined),
        })),
      })),
    },
    chart('CPU of the server per query by shards', 'us per query', (f) => f.serverCpuUs),
  ];
}

function ingestChart({ filled }: SearchMeasurement): Chart {
  const sizes = [...new Set(filled.map(({ plan }) => plan.documents))];
  return {
    kind: 'lines',
    title: 'Ingest by shards',
    x: { label: 'shards of the collection (logarithmic)', scale: 'logarithmic' },
    y: { label: 'MB of text per second', scale: 'linear' },
    series: sizes.map((size) => ({
      name: `${size} documents`,
      points: filled
        .filter(({ plan }) => plan.documents === size)
        .map(({ plan, portions }) => {
          const spread = spreadOf(ingestRates(portions));
          return { x: plan.shards, y: spread?.median ?? null, spread };
        }),
    })),
  };
}
