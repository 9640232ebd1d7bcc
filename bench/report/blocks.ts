import type { Change, Comparison } from './compare.ts';
import { figure } from './figures.ts';
import type { Report, Row, Table } from './findings.ts';

/** The parts of a report in words and cells, which Markdown and HTML print alike. */

export function cellsOf({ columns }: Table, row: Row): string[] {
  return columns.map(({ key, digits, digitsKey }) => {
    const value = row[key] ?? null;
    const own = digitsKey === undefined ? null : row[digitsKey];
    return typeof value === 'string' ? value : figure(value, typeof own === 'number' ? own : digits);
  });
}

export function headingsOf({ columns }: Table): string[] {
  return columns.map(({ heading, unit }) => (unit === null ? heading : `${heading} [${unit}]`));
}

/** Words stand left, figures right. */
export function isWords({ columns, rows }: Table, column: number): boolean {
  const key = columns[column]?.key ?? '';
  return rows.some((row) => typeof row[key] === 'string');
}

export function whereOf({ machine, startedAt, command }: Report): string[] {
  const { processorModel: model = null, instructions = [], caches = [], kernels } = machine;
  const named = model === null ? machine.processor : `${machine.processor} (${model})`;
  const processor = [
    ...(instructions.length === 0 ? [] : [`instructions: ${instructions.join(' ')}`]),
    ...(kernels === undefined ? [] : [`our engine computes with its ${kernels} kernels`]),
    ...(caches.length === 0 ? [] : [`caches: ${caches.join(', ')}`]),
  ];
  return [
    `${named}, ${machine.cores} cores, ${figure(machine.memoryBytes / 1e9, 1)} GB, ${machine.system}`,
    ...(processor.length === 0 ? [] : [processor.join('; ')]),
    `Node.js ${machine.node}, Quarry ${machine.quarry}${machine.commit === null ? '' : `, commit ${machine.commit}`}`,
    `load of the machine: ${figure(machine.loadBefore, 1)} before, ${figure(machine.loadAfter, 1)} after (the bench included)`,
    `${startedAt}: \`${command}\``,
  ];
}

const verdictWords = {
  worse: 'REGRESSION',
  lost: 'REGRESSION: lost',
  better: 'better',
  same: 'within noise',
  new: 'new',
  'not measured': 'not measured',
} as const;
const verdictOrder = ['worse', 'lost', 'not measured', 'better', 'new', 'same'] as const;

/** The comparison as a table, what got worse first. */
export function comparisonTable(comparison: Comparison): Table {
  const { before } = comparison;
  const spread = (change: Change, which: 'before' | 'after') => {
    const values = change[which];
    if (values === null) return 'n/a';
    return `${significant(values.median)} (${significant(values.least)} to ${significant(values.most)})`;
  };
  const order = (change: Change) => verdictOrder.indexOf(change.verdict);
  return {
    title: `Compared with ${before.startedAt}${before.commit === null ? '' : `, commit ${before.commit}`}`,
    columns: [
      { key: 'verdict', heading: 'verdict', unit: null, digits: 0 },
      { key: 'name', heading: 'figure', unit: null, digits: 0 },
      { key: 'unit', heading: 'unit', unit: null, digits: 0 },
      { key: 'before', heading: 'before: median (least to most)', unit: null, digits: 0 },
      { key: 'after', heading: 'after', unit: null, digits: 0 },
      { key: 'factor', heading: 'after / before', unit: null, digits: 2 },
    ],
    rows: comparison.changes
      .toSorted((a, b) => order(a) - order(b))
      .map((change) => ({
        verdict: verdictWords[change.verdict],
        name: change.name,
        unit: change.unit,
        before: spread(change, 'before'),
        after: spread(change, 'after'),
        factor: change.factor,
      })),
  };
}

/** Three digits that count. */
export function significant(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || size >= 100) return figure(value, 0);
  return figure(value, size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4);
}
