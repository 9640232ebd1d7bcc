import type { Comparison, FigureChange } from './compare.ts';
import type { Report, ReportRow, ReportTable } from './findings.ts';
import { formatNumber } from './format-number.ts';

/** Text and table cells of a report, shared by Markdown and HTML. */

export function formatCells({ columns }: ReportTable, row: ReportRow): string[] {
  return columns.map(({ key, digits, digitsKey }) => {
    const value = row[key] ?? null;
    const own = digitsKey === undefined ? null : row[digitsKey];
    return typeof value === 'string' ? value : formatNumber(value, typeof own === 'number' ? own : digits);
  });
}

export function formatHeadings({ columns }: ReportTable): string[] {
  return columns.map(({ heading, unit }) => (unit === null ? heading : `${heading} [${unit}]`));
}

/** Whether a column contains text, which is aligned left; numbers are aligned right. */
export function isTextColumn({ columns, rows }: ReportTable, column: number): boolean {
  const key = columns[column]?.key ?? '';
  return rows.some((row) => typeof row[key] === 'string');
}

/** Sentence above an incomplete report; null for a complete one. */
export function describeInterruption({ complete }: Report): string | null {
  return complete === false
    ? 'INCOMPLETE: the run was interrupted. Figures are missing or have fewer rounds.'
    : null;
}

export function describeMachine({ machine, startedAt, command }: Report): string[] {
  const { processorModel: model = null, instructions = [], caches = [], kernels } = machine;
  const named = model === null ? machine.processor : `${machine.processor} (${model})`;
  const processor = [
    ...(instructions.length === 0 ? [] : [`instructions: ${instructions.join(' ')}`]),
    ...(kernels === undefined ? [] : [`Quarry uses its ${kernels} kernels`]),
    ...(caches.length === 0 ? [] : [`caches: ${caches.join(', ')}`]),
  ];
  return [
    `${named}, ${machine.cores} cores, ${formatNumber(machine.memoryBytes / 1e9, 1)} GB, ${machine.system}`,
    ...(processor.length === 0 ? [] : [processor.join('; ')]),
    `Node.js ${machine.node}, Quarry ${machine.quarry}${machine.commit === null ? '' : `, commit ${machine.commit}`}`,
    `load of the machine: ${formatNumber(machine.loadBefore, 1)} before, ${formatNumber(machine.loadAfter, 1)} after (including the bench)`,
    `${startedAt}: \`${command}\``,
  ];
}

const verdictLabels = {
  worse: 'REGRESSION',
  lost: 'REGRESSION: lost',
  better: 'better',
  same: 'within noise',
  new: 'new',
  'not measured': 'not measured',
} as const;
const verdictOrder = ['worse', 'lost', 'not measured', 'better', 'new', 'same'] as const;

/** Returns the comparison as a table, regressions first. */
export function comparisonTable(comparison: Comparison): ReportTable {
  const { before } = comparison;
  const spread = (change: FigureChange, which: 'before' | 'after') => {
    const values = change[which];
    if (values === null) return 'n/a';
    return `${formatSignificant(values.median)} (${formatSignificant(values.least)} to ${formatSignificant(values.most)})`;
  };
  const order = (change: FigureChange) => verdictOrder.indexOf(change.verdict);
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
        verdict: verdictLabels[change.verdict],
        name: change.name,
        unit: change.unit,
        before: spread(change, 'before'),
        after: spread(change, 'after'),
        factor: change.factor,
      })),
  };
}

/** Formats a number with three significant digits. */
export function formatSignificant(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || size >= 100) return formatNumber(value, 0);
  return formatNumber(value, size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4);
}
