import {
  comparisonTable,
  describeInterruption,
  describeMachine,
  formatCells,
  formatHeadings,
  isTextColumn,
} from './blocks.ts';
import type { Comparison } from './compare.ts';
import type { Report, ReportTable } from './findings.ts';

/** Renders the report as Markdown; `chartFile` is the image in the same folder. */
export function markdownReport(report: Report, chartFile: string, comparison: Comparison | null): string {
  const interruption = describeInterruption(report);
  const picture = report.charts.length === 0 ? [] : [`![${report.title}](${chartFile})`, ''];
  const compared =
    comparison === null
      ? []
      : [
          ...comparison.warnings.map((warning) => `**${warning}**\n`),
          ...renderTable(comparisonTable(comparison)),
        ];
  return [
    `# ${report.title}`,
    '',
    ...(interruption === null ? [] : [`**${interruption}**`, '']),
    ...picture,
    ...compared,
    ...report.tables.flatMap(renderTable),
    '## How it was measured',
    '',
    ...report.method.map((sentence) => `- ${sentence}`),
    '',
    '## How to read it',
    '',
    ...report.notes.map((note) => `- ${note}`),
    '',
    '## Where',
    '',
    ...describeMachine(report).map((fact) => `- ${fact}`),
    '',
  ].join('\n');
}

/** Renders a table with its heading as lines. */
export function renderTable(content: ReportTable): string[] {
  return [
    `## ${content.title}`,
    '',
    renderRow(formatHeadings(content)),
    renderRow(content.columns.map((_, i) => (isTextColumn(content, i) ? ':---' : '---:'))),
    ...content.rows.map((row) => renderRow(formatCells(content, row))),
    '',
  ];
}

function renderRow(cells: readonly string[]): string {
  return `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
}
