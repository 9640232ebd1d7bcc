import { cellsOf, comparisonTable, headingsOf, isWords, whereOf } from './blocks.ts';
import type { Comparison } from './compare.ts';
import type { Report, Table } from './findings.ts';
import { escaped, svgCharts } from './svg.ts';

export interface Section {
  readonly report: Report;
  readonly comparison: Comparison | null;
}

const style = `
  :root { color-scheme: light dark; --ink: #24292f; --paper: #fff; --line: #d8dee4; --shade: #f6f8fa; --bad: #b3261e; --good: #1a7f37 }
  @media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --shade: #161b22; --bad: #ff8a80; --good: #7ee787 } }
  body { margin: 2rem auto; padding: 0 1rem; max-width: 70rem; color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; display: block; overflow-x: auto }
  th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
  th { background: var(--shade) } .words { text-align: left } svg { max-width: 100%; height: auto }
  .bad { color: var(--bad); font-weight: 600 } .good { color: var(--good) } code { font-size: .9em }`;

/** One page with everything in it: no script, no font, no picture and no address from elsewhere. */
export function htmlReport(title: string, sections: readonly Section[]): string {
  const contents =
    sections.length < 2
      ? []
      : [
          `<ul>${sections.map(({ report }) => `<li><a href="#${report.case}">${escaped(report.title)}</a></li>`).join('')}</ul>`,
        ];
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<title>${escaped(title)}</title><style>${style}\n</style></head><body>`,
    ...contents,
    ...sections.map(section),
    '</body></html>',
    '',
  ].join('\n');
}

function section({ report, comparison }: Section): string {
  const compared =
    comparison === null
      ? []
      : [
          ...comparison.warnings.map((warning) => `<p class="bad">${escaped(warning)}</p>`),
          table(comparisonTable(comparison)),
        ];
  return [
    `<section id="${report.case}"><h1>${escaped(report.title)}</h1>`,
    ...compared,
    ...report.tables.map(table),
    ...(report.charts.length === 0 ? [] : [svgCharts(report.title, report.charts)]),
    '<h2>How it was measured</h2>',
    list(report.method),
    '<h2>How to read it</h2>',
    list(report.notes),
    '<h2>Where</h2>',
    list(whereOf(report)),
    '</section>',
  ].join('\n');
}

function table(content: Table): string {
  const side = (column: number) => (isWords(content, column) ? ' class="words"' : '');
  const head = headingsOf(content).map((heading, i) => `<th${side(i)}>${escaped(heading)}</th>`);
  const rows = content.rows.map((row) => {
    const cells = cellsOf(content, row).map((cell, i) => `<td${side(i)}>${marked(cell)}</td>`);
    return `<tr>${cells.join('')}</tr>`;
  });
  return `<h2>${escaped(content.title)}</h2>\n<table><tr>${head.join('')}</tr>\n${rows.join('\n')}\n</table>`;
}

/** The verdicts of a comparison stand out. */
function marked(cell: string): string {
  if (cell === 'REGRESSION') return `<span class="bad">${cell}</span>`;
  if (cell === 'better') return `<span class="good">${cell}</span>`;
  return escaped(cell);
}

function list(sentences: readonly string[]): string {
  const items = sentences.map((sentence) => `<li>${code(escaped(sentence))}</li>`);
  return `<ul>${items.join('\n')}</ul>`;
}

/** Sentences mark code as Markdown does. */
function code(text: string): string {
  return text.replace(/`([^`]*)`/g, '<code>$1</code>');
}
