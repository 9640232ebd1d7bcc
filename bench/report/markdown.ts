import { cellsOf, comparisonTable, headingsOf, isWords, whereOf } from './blocks.ts';
import type { Comparison } from './compare.ts';
import type { Report, Table } from './findings.ts';

/** The report as a page of Markdown; `chartFile` is the picture that lies beside it. */
export function markdownReport(report: Report, chartFile: string, comparison: Comparison | null): string {
  const picture = report.charts.length === 0 ? [] : [`![${report.title}](${chartFile})`, ''];
  const compared =
    comparison === null
      ? []
      : [...comparison.warnings.map((warning) => `**${warning}**\n`), ...table(comparisonTable(comparison))];
  return [
    `# ${report.title}`,
    '',
    ...picture,
    ...compared,
    ...report.tables.flatMap(table),
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
    ...whereOf(report).map((fact) => `- ${fact}`),
    '',
  ].join('\n');
}

/** A table with its heading, line by line. */
export function table(content: Table): string[] {
  return [
    `## ${content.title}`,
    '',
    line(headingsOf(content)),
    line(content.columns.map((_, i) => (isWords(content, i) ? ':---' : '---:'))),
    ...content.rows.map((row) => line(cellsOf(content, row))),
    '',
  ];
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
}
