import type { Chart, Report } from '../../bench/report/findings.ts';

/** Charts and a report for the tests of the report formats. */

export const shards = { label: 'shards', scale: 'logarithmic' } as const;
export const at = (x: number, y: number | null) => ({ x, y });
export const charts: readonly Chart[] = [
  {
    kind: 'lines',
    title: 'Throughput <of> "A & B"',
    x: { ...shards, ticks: [1, 8, 64].map((tick) => ({ at: tick, label: String(tick) })) },
    y: { label: 'queries per second', scale: 'linear' },
    series: [
      {
        name: 'q/s',
        points: [{ ...at(1, 2_000), spread: { least: 1_900, most: 2_300 } }, at(8, null), at(64, 1_000)],
      },
    ],
  },
  {
    kind: 'lines',
    title: 'Latency',
    x: shards,
    y: { label: 'latency [ms]', scale: 'logarithmic' },
    series: [
      { name: 'p50', points: [at(1, 0.5), at(8, 0.7), at(64, 300)] },
      { name: 'p99', points: [at(1, null), at(8, null), at(64, null)] },
    ],
  },
  {
    kind: 'bars',
    title: 'Memory',
    yLabel: 'bytes',
    bars: [
      { name: 'ours', value: 520 },
      { name: 'theirs', value: null },
    ],
  },
];

export const report: Report = {
  format: 2,
  case: 'shards',
  title: 'Title',
  startedAt: '2026-01-02T03:04:05.678Z',
  command: 'npm run bench -- shards',
  options: {},
  machine: {
    processor: 'A processor',
    cores: 2,
    memoryBytes: 8e9,
    system: 'linux 6 x64',
    node: '20.0.0',
    quarry: '0.1.0',
    commit: null,
    loadBefore: 0.5,
    loadAfter: 1.25,
  },
  method: ['How.'],
  tables: [
    {
      title: 'Figures',
      columns: [
        { key: 'axis', heading: 'a|b', unit: null, digits: 0 },
        { key: 'rate', heading: 'throughput', unit: 'queries/s', digits: 1 },
        { key: 'who', heading: 'who', unit: null, digits: 0 },
      ],
      rows: [
        { axis: 1, rate: 12_345.67, who: 'A <b>' },
        { axis: 8, rate: null, who: 'C' },
      ],
    },
  ],
  charts,
  notes: ['Note.'],
  figures: [],
  measured: null,
};
