import { figure } from './figures.ts';
import type { Chart, Series } from './findings.ts';

/**
 * Charts as one SVG picture without scripts, fonts or addresses of its own. It follows the reader's light or dark
 * scheme; series differ by colour, by shape of their points and by their dashes, so that no one needs to see colour.
 */

const width = 760;
const panelHeight = 330;
const plot = { left: 84, right: 30, top: 74, bottom: 58 };
const plotWidth = width - plot.left - plot.right;
const plotHeight = panelHeight - plot.top - plot.bottom;
const ticksWanted = 5;

const style = `
  .sheet { fill: #ffffff } text { fill: #24292f; font: 13px system-ui, sans-serif }
  .title { font-size: 16px; font-weight: 600 } .grid { stroke: #d8dee4 } .axis { stroke: #57606a }
  .line { fill: none; stroke-width: 2 } .value { font-size: 12px }
  .s0 { stroke: #0550ae } .s1 { stroke: #bc4c00 } .s2 { stroke: #1a7f37 } .s3 { stroke: #8250df }
  .f0 { fill: #0550ae } .f1 { fill: #bc4c00 } .f2 { fill: #1a7f37 } .f3 { fill: #8250df }
  .d1 { stroke-dasharray: 7 4 } .d2 { stroke-dasharray: 2 4 } .d3 { stroke-dasharray: 9 3 2 3 }
  @media (prefers-color-scheme: dark) {
    .sheet { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d } .axis { stroke: #8b949e }
    .s0 { stroke: #79c0ff } .s1 { stroke: #ffa657 } .s2 { stroke: #7ee787 } .s3 { stroke: #d2a8ff }
    .f0 { fill: #79c0ff } .f1 { fill: #ffa657 } .f2 { fill: #7ee787 } .f3 { fill: #d2a8ff }
  }`;
const styles = 4;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The charts below each other. */
export function svgCharts(title: string, charts: readonly Chart[]): string {
  const height = panelHeight * charts.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${escaped(title)}</title>`,
    `<style>${style}\n</style>`,
    `<rect class="sheet" width="${width}" height="${height}"/>`,
    ...charts.map((chart, i) => `<g transform="translate(0 ${i * panelHeight})">${panel(chart)}</g>`),
    '</svg>',
    '',
  ].join('\n');
}

function panel(chart: Chart): string {
  const xAt = xScale(chart.x);
  const ticks = axisTicks(largest(chart));
  const top = ticks.at(-1) ?? 1;
  const yAt = (value: number) => plot.top + plotHeight * (1 - value / top);
  return [
    text({ x: plot.left, y: 26 }, chart.title, 'start', 'title'),
    legend(chart.series),
    ...ticks.map((tick) => horizontal(yAt(tick), tick, ticks)),
    ...chart.x.map((value) =>
      text({ x: xAt(value), y: plot.top + plotHeight + 20 }, figure(value, 0), 'middle'),
    ),
    segment('axis', { x: plot.left, y: yAt(0) }, { x: width - plot.right, y: yAt(0) }),
    text({ x: plot.left + plotWidth / 2, y: panelHeight - 14 }, chart.xLabel, 'middle'),
    `<g transform="translate(20 ${plot.top + plotHeight / 2}) rotate(-90)">`,
    text({ x: 0, y: 0 }, chart.yLabel, 'middle'),
    '</g>',
    ...chart.series.map((series, i) => drawn(series, i % styles, chart.x.map(xAt), yAt)),
  ].join('\n');
}

/** Logarithmic, with some room at both ends; one value stands in the middle. */
function xScale(values: readonly number[]): (value: number) => number {
  const logs = values.map(Math.log2);
  const least = Math.min(...logs);
  const span = Math.max(...logs) - least;
  const room = 30;
  return (value) => {
    const share = span === 0 ? 0.5 : (Math.log2(value) - least) / span;
    return plot.left + room + share * (plotWidth - 2 * room);
  };
}

function largest(chart: Chart): number {
  const values = chart.series.flatMap(({ values, spread = [] }) => [
    ...values.filter((value) => value !== null),
    ...spread.flatMap((range) => (range === null ? [] : [range.most])),
  ]);
  return Math.max(0, ...values);
}

/** Round values from 0 to at least `most`: steps of 1, 2, 2.5 or 5 times a power of ten. */
export function axisTicks(most: number): number[] {
  if (most <= 0) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(most / ticksWanted));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power * ticksWanted >= most) ?? 10);
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

function horizontal(y: number, tick: number, ticks: readonly number[]): string {
  const step = ticks[1] ?? 1;
  const digits = Math.min(
    6,
    Math.max(
      0,
      [0, 1, 2, 3, 4, 5, 6].findIndex((n) => Number(step.toFixed(n)) === step),
    ),
  );
  return [
    segment('grid', { x: plot.left, y }, { x: width - plot.right, y }),
    text({ x: plot.left - 8, y: y + 4 }, figure(tick, digits), 'end'),
  ].join('\n');
}

function legend(series: readonly Series[]): string {
  if (series.length < 2) return '';
  const slot = plotWidth / Math.max(series.length, 3);
  return series
    .map(({ name }, i) => {
      const x = plot.left + i * slot;
      const middle = { x: x + 16, y: 49 };
      const sample = segment(lineClass(i % styles), { x, y: 49 }, { x: x + 32, y: 49 });
      return sample + marker(i % styles, middle) + text({ x: x + 40, y: 53 }, name, 'start');
    })
    .join('\n');
}

function drawn(series: Series, style: number, xs: readonly number[], yAt: (value: number) => number): string {
  const points = series.values.map((value, i) => (value === null ? null : { x: xs[i] ?? 0, y: yAt(value) }));
  const bars = (series.spread ?? []).map((range, i) => {
    const x = xs[i] ?? 0;
    return range === null ? '' : segment(`s${style}`, { x, y: yAt(range.least) }, { x, y: yAt(range.most) });
  });
  const marks = points.map((point) => (point === null ? '' : marker(style, point)));
  const values = points.map((point, i) => {
    const value = series.values[i] ?? null;
    if (point === null || value === null) return '';
    const top = yAt(Math.max(value, series.spread?.[i]?.most ?? 0));
    return text({ x: point.x, y: top - 11 }, shortFigure(value), 'middle', 'value');
  });
  return [path(points, style), ...bars, ...marks, ...values].filter((part) => part !== '').join('\n');
}

/** Three digits that count. */
function shortFigure(value: number): string {
  return figure(value, value >= 100 || value === 0 ? 0 : value >= 10 ? 1 : 2);
}

function path(points: readonly (Point | null)[], style: number): string {
  let pen = 'M';
  const steps = points.map((point) => {
    if (point === null) {
      pen = 'M';
      return '';
    }
    const step = `${pen}${round(point.x)} ${round(point.y)}`;
    pen = 'L';
    return step;
  });
  const data = steps.filter((step) => step !== '').join(' ');
  return data === '' ? '' : `<path class="${lineClass(style)}" d="${data}"/>`;
}

function lineClass(style: number): string {
  return `line s${style}${style === 0 ? '' : ` d${style}`}`;
}

/** Circle, square, triangle, diamond. */
function marker(style: number, { x, y }: Point): string {
  const [a, b] = [round(x), round(y)];
  const shapes = [
    `<circle class="f0" cx="${a}" cy="${b}" r="4.5"/>`,
    `<rect class="f1" x="${round(x - 4)}" y="${round(y - 4)}" width="8" height="8"/>`,
    `<path class="f2" d="M${a} ${round(y - 5)} L${round(x + 5)} ${round(y + 4)} L${round(x - 5)} ${round(y + 4)} Z"/>`,
    `<path class="f3" d="M${a} ${round(y - 6)} L${round(x + 5)} ${b} L${a} ${round(y + 6)} L${round(x - 5)} ${b} Z"/>`,
  ];
  return shapes[style] ?? '';
}

function segment(className: string, from: Point, to: Point): string {
  return `<line class="${className}" x1="${round(from.x)}" y1="${round(from.y)}" x2="${round(to.x)}" y2="${round(to.y)}"/>`;
}

function text(at: Point, words: string, anchor: 'start' | 'middle' | 'end', className?: string): string {
  const named = className === undefined ? '' : ` class="${className}"`;
  return `<text${named} x="${round(at.x)}" y="${round(at.y)}" text-anchor="${anchor}">${escaped(words)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(words: string): string {
  return words
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
