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
import { assignStyles } from './styles.ts';
import { escapeXml, svgCharts } from './svg.ts';

export interface Section {
  readonly report: Report;
  readonly comparison: Comparison | null;
}

/** Colors and fonts of the dashboard. */
const style = `
  :root { color-scheme: light dark; --page: light-dark(#fff, #101215); --sunken: light-dark(#f4f5f7, #15181c);
    --line: light-dark(#e3e6ea, #272c33); --text: light-dark(#14171c, #eceef1); --soft: light-dark(#58606c, #a0a8b3);
    --accent: light-dark(#1d4fd7, #86a8ff); --bad: light-dark(#b3261e, #ff9389); --good: light-dark(#0b6b41, #5fd39a) }
  body { margin: 2rem auto; padding: 0 1rem; max-width: 70rem; color: var(--text); background: var(--page);
    font: .875rem/1.5 Inter, ui-sans-serif, system-ui, sans-serif }
  h1 { font-size: 1.375rem; letter-spacing: -.015em } h2 { font-size: 1rem; margin-top: 2rem } a { color: var(--accent) }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums }
  .frame { overflow-x: auto }
  th, td { padding: .4rem .75rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
  th { color: var(--soft); font-weight: 500 } .words { text-align: left }
  .frame svg { width: 100%; max-width: 47.5rem; min-width: 36rem; height: auto }
  .bad { color: var(--bad); font-weight: 600 } .good { color: var(--good) } code { font-size: .9em }`;

/** Renders a self-contained page: no scripts, fonts, images or external URLs. */
export function htmlReport(title: string, sections: readonly Section[]): string {
  const contents =
    sections.length < 2
      ? []
      : [
          `<ul>${sections.map(({ report }) => `<li><a href="#${report.case}">${escapeXml(report.title)}</a></li>`).join('')}</ul>`,
        ];
  const styles = assignStyles(sections.flatMap(({ report }) => report.charts));
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<title>${escapeXml(title)}</title><style>${style}\n</style></head><body><main>`,
    ...contents,
    ...sections.map((one) => renderSection(one, styles)),
    '</main></body></html>',
    '',
  ].join('\n');
}

function renderSection({ report, comparison }: Section, styles: ReturnType<typeof assignStyles>): string {
  const interruption = describeInterruption(report);
  const compared =
    comparison === null
      ? []
      : [
          ...comparison.warnings.map((warning) => `<p class="bad">${escapeXml(warning)}</p>`),
          renderTable(comparisonTable(comparison)),
        ];
  return [
    `<section id="${report.case}"><h1>${escapeXml(report.title)}</h1>`,
    ...(interruption === null ? [] : [`<p class="bad">${escapeXml(interruption)}</p>`]),
    ...compared,
    ...report.tables.map(renderTable),
    ...(report.charts.length === 0
      ? []
      : [renderFrame('Charts', svgCharts(report.title, report.charts, styles))]),
    '<h2>How it was measured</h2>',
    renderList(report.method),
    '<h2>How to read it</h2>',
    renderList(report.notes),
    '<h2>Where</h2>',
    renderList(describeMachine(report)),
    '</section>',
  ].join('\n');
}

function renderTable(content: ReportTable): string {
  const side = (column: number) => (isTextColumn(content, column) ? ' class="words"' : '');
  const head = formatHeadings(content).map(
    (heading, i) => `<th scope="col"${side(i)}>${escapeXml(heading)}</th>`,
  );
  const rows = content.rows.map((row) => {
    const cells = formatCells(content, row).map((cell, i) => `<td${side(i)}>${highlightVerdict(cell)}</td>`);
    return `<tr>${cells.join('')}</tr>`;
  });
  const cells = [`<table><tr>${head.join('')}</tr>`, ...rows, '</table>'];
  return `<h2>${escapeXml(content.title)}</h2>\n${renderFrame(content.title, cells.join('\n'))}`;
}

/**
 * Wraps content that may be wider than the page in a focusable element, so that it can be scrolled by
 * keyboard.
 */
function renderFrame(label: string, content: string): string {
  return `<div class="frame" role="group" aria-label="${escapeXml(label)}" tabindex="0">\n${content}\n</div>`;
}

/** Highlights the verdicts of a comparison. */
function highlightVerdict(cell: string): string {
  if (cell.startsWith('REGRESSION')) return `<span class="bad">${cell}</span>`;
  if (cell === 'better') return `<span class="good">${cell}</span>`;
  return escapeXml(cell);
}

function renderList(sentences: readonly string[]): string {
  const items = sentences.map((sentence) => `<li>${renderCode(escapeXml(sentence))}</li>`);
  return `<ul>${items.join('\n')}</ul>`;
}

/** Converts Markdown code spans to HTML. */
function renderCode(text: string): string {
  return text.replace(/`([^`]*)`/g, '<code>$1</code>');
}
