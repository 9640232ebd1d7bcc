import { assertDefined } from '../../src/core/assert.ts';
import { formatSignificant } from './blocks.ts';
import type { BarChart, Chart, LineChart, Series } from './findings.ts';
import { type AxisScale, createScale } from './scales.ts';
import { assignStyles, type stylesMax } from './styles.ts';

/**
 * Renders charts as one SVG image without scripts, fonts or external URLs. It follows the reader's light or
 * dark color scheme; series differ by color, marker shape and dashes, so that they can be distinguished
 * without color.
 */

const width = 760;
const panelHeight = 360;
const plot = { left: 84, right: 30, top: 96, bottom: 58 };
const plotWidth = width - plot.left - plot.right;
const plotHeight = panelHeight - plot.top - plot.bottom;
const legendColumnsMax = 4;
const legendRowHeight = 20;
/** Legend rows included in the default height of a panel; further rows increase it. */
const legendRowsDefault = 2;
/** Approximate width of a character, because font metrics are unknown. */
const letterWidth = 7;
const sampleWidth = 32;
const sampleGap = 8;
/** Number of points above which value labels would overlap and are omitted. */
const labeledPointsMax = 10;
const plotPadding = 30;

const colors = [
  ['#0550ae', '#79c0ff'],
  ['#bc4c00', '#ffa657'],
  ['#1a7f37', '#7ee787'],
  ['#8250df', '#d2a8ff'],
  ['#9a6700', '#e3b341'],
  ['#bf3989', '#ff9bce'],
  ['#57606a', '#b1bac4'],
  ['#0a7d84', '#76e3ea'],
] as const satisfies { readonly length: typeof stylesMax };
const dashes = ['', '7 4', '2 4', '9 3 2 3', '12 4', '1 3', '5 2 1 2', '3 3'];

const colorRules = (which: 0 | 1) =>
  colors.map((ink, i) => `.s${i} { stroke: ${ink[which]} } .f${i} { fill: ${ink[which]} }`).join(' ');
const style = `
  .sheet { fill: #ffffff } text { fill: #24292f; font: 13px system-ui, sans-serif }
  .title { font-size: 16px; font-weight: 600 } .grid { stroke: #d8dee4 } .axis { stroke: #57606a }
  .line { fill: none; stroke-width: 2 } .value { font-size: 12px }
  ${colorRules(0)}
  ${dashes.map((dash, i) => (dash === '' ? '' : `.d${i} { stroke-dasharray: ${dash} }`)).join(' ')}
  @media (prefers-color-scheme: dark) {
    .sheet { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d } .axis { stroke: #8b949e }
    ${colorRules(1)}
  }`;

interface Position {
  readonly x: number;
  readonly y: number;
}

/** Styles by name of a series or bar; see `assignStyles`. */
type Styles = ReadonlyMap<string, number>;

/** Renders charts one below the other; `styles` are those of the whole page, which may contain other charts. */
export function svgCharts(
  title: string,
  charts: readonly Chart[],
  styles: Styles = assignStyles(charts),
): string {
  const heights = charts.map((chart) => panelHeight + layoutLegend(chart).extra);
  const height = heights.reduce((sum, one) => sum + one, 0);
  const topOf = (i: number) => heights.slice(0, i).reduce((sum, one) => sum + one, 0);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${style}\n</style>`,
    `<rect class="sheet" width="${width}" height="${height}"/>`,
    ...charts.map(
      (chart, i) => `<g class="panel" transform="translate(0 ${topOf(i)})">${renderPanel(chart, styles)}</g>`,
    ),
    '</svg>',
    '',
  ].join('\n');
}

function renderPanel(chart: Chart, styles: Styles): string {
  return [
    renderText({ x: plot.left, y: 26 }, chart.title, 'start', 'title'),
    ...renderLegend(chart, styles),
    `<g transform="translate(0 ${layoutLegend(chart).extra})">`,
    ...(chart.kind === 'lines' ? renderLinePanel(chart, styles) : renderBarPanel(chart, styles)),
    '</g>',
  ].join('\n');
}

/** Returns the series of the legend, its number of columns, and the height beyond the default. */
function layoutLegend(chart: Chart) {
  const series = chart.kind === 'lines' && chart.series.length > 1 ? chart.series : [];
  const longest = Math.max(0, ...series.map(({ name }) => name.length));
  const fitting = Math.floor(plotWidth / (sampleWidth + 2 * sampleGap + letterWidth * longest));
  const columns = Math.max(1, Math.min(legendColumnsMax, fitting));
  const rows = Math.ceil(series.length / columns);
  return { series, columns, extra: legendRowHeight * Math.max(0, rows - legendRowsDefault) };
}

function renderLinePanel(chart: LineChart, styles: Styles): string[] {
  const points = chart.series.flatMap(({ points }) => points);
  const ys = points.flatMap(({ y, spread }) => [y, spread?.least ?? null, spread?.most ?? null]);
  const xScale = createScale(chart.x, withFallback(points.map(({ x }) => x)), false);
  const yScale = createScale(chart.y, withFallback(ys.filter((y) => y !== null)), true);
  const at = {
    x: (value: number) => plot.left + plotPadding + xScale.position(value) * (plotWidth - 2 * plotPadding),
    y: (value: number) => yAt(yScale, value),
  };
  const isLabeled = points.length <= labeledPointsMax;
  return [
    ...renderAxis(yScale, chart.y.label),
    ...xScale.ticks.map((tick) =>
      renderText({ x: at.x(tick.at), y: plot.top + plotHeight + 20 }, tick.label, 'middle'),
    ),
    renderText({ x: plot.left + plotWidth / 2, y: panelHeight - 14 }, chart.x.label, 'middle'),
    ...chart.series.map((series) => renderSeries(series, { style: styleOf(styles, series), at, isLabeled })),
  ];
}

function renderBarPanel(chart: BarChart, styles: Styles): string[] {
  const values = chart.bars.flatMap(({ value }) => (value === null ? [] : [value]));
  const yScale = createScale({ label: chart.yLabel, scale: 'linear' }, withFallback(values), true);
  const slot = plotWidth / Math.max(1, chart.bars.length);
  const isCrowded = chart.bars.some(({ name }) => letterWidth * name.length > slot);
  return [
    ...renderAxis(yScale, chart.yLabel),
    ...chart.bars.flatMap((bar, i) => {
      const { name, value } = bar;
      const middle = plot.left + slot * (i + 0.5);
      const y = yAt(yScale, value ?? 0);
      const wide = Math.min(80, slot * 0.6);
      const shape = `<rect class="f${styleOf(styles, bar)}" x="${round(middle - wide / 2)}" y="${round(y)}" width="${round(wide)}" height="${round(plot.top + plotHeight - y)}"/>`;
      return [
        ...(value === null ? [] : [shape]),
        renderText(
          { x: middle, y: y - 7 },
          value === null ? 'n/a' : formatSignificant(value),
          'middle',
          'value',
        ),
        // Names that are too wide alternate between two lines.
        renderText(
          { x: middle, y: plot.top + plotHeight + 20 + (isCrowded ? 18 * (i % 2) : 0) },
          name,
          'middle',
          'value',
        ),
      ];
    }),
  ];
}

/** Returns at least two values, so that a chart without data still has axes. */
function withFallback(values: readonly number[]): readonly number[] {
  return values.length === 0 ? [0, 1] : values;
}

function yAt(scale: AxisScale, value: number): number {
  return plot.top + plotHeight * (1 - scale.position(value));
}

/** Renders horizontal grid lines with their labels, and the name of the axis. */
function renderAxis(scale: AxisScale, label: string): string[] {
  const across = (y: number, className: string) =>
    renderSegment(className, { x: plot.left, y }, { x: width - plot.right, y });
  return [
    ...scale.ticks.flatMap((tick) => {
      const y = yAt(scale, tick.at);
      return [across(y, 'grid'), renderText({ x: plot.left - 8, y: y + 4 }, tick.label, 'end')];
    }),
    across(plot.top + plotHeight, 'axis'),
    `<g transform="translate(20 ${plot.top + plotHeight / 2}) rotate(-90)">`,
    renderText({ x: 0, y: 0 }, label, 'middle'),
    '</g>',
  ];
}

function styleOf(styles: Styles, { name }: { readonly name: string }): number {
  return assertDefined(styles.get(name), 'every name of a chart has a style');
}

function renderLegend(chart: Chart, styles: Styles): string[] {
  const { series, columns } = layoutLegend(chart);
  return series.map((one, i) => {
    const x = plot.left + ((i % columns) * plotWidth) / columns;
    const y = 49 + Math.floor(i / columns) * legendRowHeight;
    const styleIndex = styleOf(styles, one);
    const sample = renderSegment(lineClass(styleIndex), { x, y }, { x: x + sampleWidth, y });
    const label = renderText({ x: x + sampleWidth + sampleGap, y: y + 4 }, one.name, 'start');
    return sample + renderMarker(styleIndex, { x: x + sampleWidth / 2, y }) + label;
  });
}

interface SeriesDrawing {
  readonly style: number;
  readonly at: { x(value: number): number; y(value: number): number };
  readonly isLabeled: boolean;
}

function renderSeries(series: Series, { style, at, isLabeled }: SeriesDrawing): string {
  const positions = series.points.map(({ x, y }) => (y === null ? null : { x: at.x(x), y: at.y(y) }));
  const bars = series.points.map(({ x, spread }) => {
    if (spread === undefined || spread === null) return '';
    return renderSegment(
      `s${style}`,
      { x: at.x(x), y: at.y(spread.least) },
      { x: at.x(x), y: at.y(spread.most) },
    );
  });
  const marks = positions.map((position) => (position === null ? '' : renderMarker(style, position)));
  const values = series.points.map(({ x, y, spread }) => {
    if (y === null || !isLabeled) return '';
    const top = at.y(Math.max(y, spread?.most ?? y));
    return renderText({ x: at.x(x), y: top - 11 }, formatSignificant(y), 'middle', 'value');
  });
  return [renderPath(positions, style), ...bars, ...marks, ...values]
    .filter((part) => part !== '')
    .join('\n');
}

function renderPath(positions: readonly (Position | null)[], style: number): string {
  let pen = 'M';
  const steps = positions.map((position) => {
    if (position === null) {
      pen = 'M';
      return '';
    }
    const step = `${pen}${round(position.x)} ${round(position.y)}`;
    pen = 'L';
    return step;
  });
  const data = steps.filter((step) => step !== '').join(' ');
  return data === '' ? '' : `<path class="${lineClass(style)}" d="${data}"/>`;
}

function lineClass(style: number): string {
  return `line s${style}${style === 0 ? '' : ` d${style}`}`;
}

/** Renders a circle, square, triangle or diamond; shapes repeat with other colors. */
function renderMarker(style: number, { x, y }: Position): string {
  const [a, b] = [round(x), round(y)];
  const ink = `class="f${style}"`;
  const shapes = [
    `<circle ${ink} cx="${a}" cy="${b}" r="4.5"/>`,
    `<rect ${ink} x="${round(x - 4)}" y="${round(y - 4)}" width="8" height="8"/>`,
    `<path ${ink} d="M${a} ${round(y - 5)} L${round(x + 5)} ${round(y + 4)} L${round(x - 5)} ${round(y + 4)} Z"/>`,
    `<path ${ink} d="M${a} ${round(y - 6)} L${round(x + 5)} ${b} L${a} ${round(y + 6)} L${round(x - 5)} ${b} Z"/>`,
  ];
  return shapes[style % shapes.length] ?? '';
}

function renderSegment(className: string, from: Position, to: Position): string {
  return `<line class="${className}" x1="${round(from.x)}" y1="${round(from.y)}" x2="${round(to.x)}" y2="${round(to.y)}"/>`;
}

function renderText(
  at: Position,
  text: string,
  anchor: 'start' | 'middle' | 'end',
  className?: string,
): string {
  const named = className === undefined ? '' : ` class="${className}"`;
  return `<text${named} x="${round(at.x)}" y="${round(at.y)}" text-anchor="${anchor}">${escapeXml(text)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Escapes text for SVG and HTML. */
export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
