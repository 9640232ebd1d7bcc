import type { MeasuredEngine } from '../../bench/harness/engine-measurement.ts';
import { engineTargets } from '../../bench/harness/engine-targets.ts';
import { readCommandLine } from '../../bench/harness/options.ts';
import { formatCells } from '../../bench/report/blocks.ts';
import {
  isMeasuredLongEnough,
  listUnmetConditions,
  targetTable,
} from '../../bench/report/performance-targets.ts';
import t from '../support/tap.ts';

t.test('a target is reached, missed or not measured, in agreement with the figure beside it', async (t) => {
  const table = targetTable(
    [
      { metric: 'fast', reached: 5, least: 5 },
      { metric: 'slow', reached: 4.9, least: 5 },
      { metric: 'small', reached: 1, most: 1 },
      { metric: 'large', reached: 1.1, most: 1 },
      { metric: 'unknown', reached: null, most: 1 },
      { metric: 'slightly too much', reached: 0.010_04, most: 0.01 },
      { metric: 'slightly too little', reached: 0.949_99, least: 0.95 },
      { metric: 'below the shown digits of a third', reached: 0.333_36, most: 1 / 3 },
      { metric: 'nearly 3', reached: 2.999, most: 3 },
      { metric: 'no target', reached: 7 },
    ],
    2,
  );
  t.same(
    table.rows.map((row) => formatCells(table, row).slice(1).join(' ').trim()),
    [
      ...['5.00 >= 5 reached', '4.90 >= 5 MISSED', '1.00 <= 1 reached', '1.10 <= 1 MISSED'],
      ...['n/a <= 1 not measured', '0.01004 <= 0.01 MISSED', '0.94999 >= 0.95 MISSED'],
      ...['0.3334 <= 0.333 MISSED', '3.00 <= 3 reached', '7.00'],
    ],
    'no figure is rounded across its bound',
  );
});

t.test(
  'a run whose conditions differ from those of a target shows its figure and is not judged',
  async (t) => {
    const verdictsFor = listUnmetConditions([
      ['10,000 documents', false],
      ['10 results', true],
      isMeasuredLongEnough({ rounds: 2, seconds: 1 }, 1),
    ]);
    const table = targetTable([{ metric: 'CPU', reached: 1.5, most: 1, unmetConditions: verdictsFor }], 2);
    t.same(formatCells(table, table.rows[0]!), [
      ...['CPU', '1.50', '<= 1'],
      'not judged: the target is for 10,000 documents, at least 3 rounds of 1 s',
    ]);
    t.equal(listUnmetConditions([isMeasuredLongEnough({ rounds: 3, seconds: 1 }, 1)]), null);
  },
);

/** Measured engine with only the given modes and the recall losses under replacement. */
function measuredEngine(name: string, perCpuSecond: number, churned: readonly number[]): MeasuredEngine {
  const figures = { p50Ms: 1, p99Ms: 1, replacedPerSecond: 0, searchesPerSecond: 1 };
  const mode = {
    ef: 1,
    recall: 0.95,
    filter: null,
    inFlight: 1,
    isReplacing: false,
    isLast: false,
    count: 10,
  };
  const rounds = [{ ...figures, searchesPerCpuSecond: perCpuSecond }];
  const spent = { wallMs: 1, cpuMs: 1 };
  return {
    name,
    version: '1',
    synchronous: true,
    curve: [],
    saved: null,
    loaded: null,
    built: { ...spent, before: null, after: null, bytesByPart: null },
    modes: [{ ...mode, name: 'recall 0.95', rounds }],
    churned: { ...spent, ef: 1, recalls: churned },
  };
}

t.test('the targets of the engine are judged for 100,000 x 384 vectors only', async (t) => {
  const options = readCommandLine(['--rounds', '3', '--seconds', '0.3']).optionsFor('');
  const losing = Array.from({ length: 11 }, (_, round) => 0.96 - 0.001_004 * round);
  const verdicts = (rows: number, dimensions: number, recalls: readonly number[]) => {
    const set = {
      name: 'own',
      folder: '',
      rows,
      dimensions,
      questions: 1,
      unused: { rows: 0, questions: 0 },
    };
    const engines = [measuredEngine('quarry', 80, recalls), measuredEngine('hnswlib-node', 10, recalls)];
    const table = targetTable(
      engineTargets({ set, engines, missing: [], leftOut: [], complete: true }, options),
      2,
    );
    const cells = table.rows.map((row) => formatCells(table, row));
    return [cells[0], cells.at(-1)].map((row) => row?.slice(1).join(' '));
  };
  t.same(verdicts(100_000, 384, losing), ['8.00 >= 7 reached', '0.01004 <= 0.01 MISSED']);
  t.same(verdicts(100_000, 384, losing.slice(0, 4)), [
    '8.00 >= 7 reached',
    '0.00 <= 0.01 not judged: the target is for 10 rounds of replacing',
  ]);
  for (const [rows, dimensions] of [
    [20_000, 384],
    [100_000, 128],
  ] as const) {
    t.same(verdicts(rows, dimensions, losing), [
      '8.00 >= 7 not judged: the target is for 100,000 x 384 vectors',
      '0.01004 <= 0.01 not judged: the target is for 100,000 x 384 vectors',
    ]);
  }
});
