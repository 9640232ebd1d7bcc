import { figure } from './figures.ts';
import type { Report } from './findings.ts';

/** The report as a page of Markdown; `chartFile` is the picture that lies beside it. */
export function markdownReport(report: Report, chartFile: string): string {
  const { columns, machine } = report;
  const heading = columns.map(({ heading, unit }) => cell(unit === null ? heading : `${heading} [${unit}]`));
  const rows = report.rows.map((row) => columns.map(({ key, digits }) => figure(row[key] ?? null, digits)));
  return [
    `# ${report.title}`,
    '',
    `![${report.title}](${chartFile})`,
    '',
    line(heading),
    line(columns.map(() => '---:')),
    ...rows.map(line),
    '',
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
    `- ${machine.processor}, ${machine.cores} cores, ${figure(machine.memoryBytes / 1e9, 1)} GB, ${machine.system}`,
    `- Node.js ${machine.node}, Quarry ${machine.quarry}${machine.commit === null ? '' : `, commit ${machine.commit}`}`,
    `- load of the machine: ${figure(machine.loadBefore, 1)} before, ${figure(machine.loadAfter, 1)} after (the bench included)`,
    `- ${report.startedAt}: \`${report.command}\``,
    '',
  ].join('\n');
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
