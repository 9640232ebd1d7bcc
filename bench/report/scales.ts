import type { Axis } from './findings.ts';
import { formatNumber } from './format-number.ts';

/** Tick of an axis with its label. */
export interface Tick {
  readonly at: number;
  readonly label: string;
}

export interface AxisScale {
  readonly ticks: readonly Tick[];
  /** Returns the relative position: 0 at the start of the axis, 1 at its end. */
  position(value: number): number;
}

const tickCount = 5;
const decadeSteps = [1, 2, 5];
/**
 * Largest recall on the axis; higher values are drawn there, because recall 1 is at infinity on a logarithmic
 * axis.
 */
const recallMax = 0.9999;
const recallTicks: readonly Tick[] = [
  ...[0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999].map((at) => ({ at, label: String(at) })),
  { at: recallMax, label: `${recallMax} to 1` },
];

/** Creates a scale that covers all values; `fromZero`: linear axes start at 0. */
export function createScale(axis: Axis, values: readonly number[], fromZero: boolean): AxisScale {
  if (axis.scale === 'logarithmic') return createLogarithmicScale(axis, values);
  if (axis.scale === 'recall') return createRecallScale(axis, values);
  const least = fromZero ? 0 : Math.min(...values);
  const most = Math.max(...values);
  const ticks =
    axis.ticks ??
    linearTicks(least, most).map((at, _, all) => ({
      at,
      label: formatNumber(at, digitsOf(all[1]! - all[0]!)),
    }));
  const [start, end] = [Math.min(least, ticks[0]!.at), Math.max(most, ticks.at(-1)!.at)];
  return { ticks, position: (value) => (end === start ? 0.5 : (value - start) / (end - start)) };
}

function createLogarithmicScale(axis: Axis, values: readonly number[]): AxisScale {
  const positive = values.filter((value) => value > 0);
  const [least, most] = positive.length === 0 ? [1, 1] : [Math.min(...positive), Math.max(...positive)];
  const ticks = axis.ticks ?? decadeTicks(least, most).map((at) => ({ at, label: tickLabel(at) }));
  const start = Math.log(Math.min(least, ticks[0]?.at ?? least));
  const span = Math.log(Math.max(most, ticks.at(-1)?.at ?? most)) - start;
  return { ticks, position: (value) => (span === 0 ? 0.5 : (Math.log(value) - start) / span) };
}

/** Scale by the logarithm of 1 - recall, from the tick below the minimum value to the tick above the maximum. */
function createRecallScale(axis: Axis, values: readonly number[]): AxisScale {
  const spread = (value: number) => -Math.log10(1 - Math.min(recallMax, Math.max(0, value)));
  const [least, most] = [Math.min(...values), Math.min(recallMax, Math.max(...values))];
  const above = recallTicks.findIndex(({ at }) => at >= most);
  const below = recallTicks.findLastIndex(({ at }) => at <= least);
  // At least two ticks, otherwise the axis has no length.
  const last = Math.max(1, above);
  const ticks = axis.ticks ?? recallTicks.slice(Math.min(below, last - 1), last + 1);
  const [start, end] = [spread(ticks[0]!.at), spread(ticks.at(-1)!.at)];
  return { ticks, position: (value) => (spread(value) - start) / (end - start) };
}

function tickLabel(at: number): string {
  return formatNumber(at, digitsOf(at));
}

/**
 * Returns 1, 2 and 5 times powers of ten that enclose `least` and `most`; only the powers if the range is
 * wide.
 */
function decadeTicks(least: number, most: number): number[] {
  const from = Math.floor(Math.log10(least));
  const to = Math.ceil(Math.log10(most) + 1e-9);
  const steps = to - from > 3 ? [1] : decadeSteps;
  const all = Array.from({ length: to - from + 1 }, (_, i) =>
    steps.map((step) => Number((step * 10 ** (from + i)).toPrecision(3))),
  ).flat();
  const first = all.findLastIndex((at) => at <= least);
  const last = all.findIndex((at) => at >= most);
  return all.slice(Math.max(0, first), last < 0 ? all.length : last + 1);
}

/** Returns round values that enclose `least` and `most`: steps of 1, 2, 2.5 or 5 times a power of ten. */
export function linearTicks(least: number, most: number): number[] {
  const span = most - least;
  if (!(span > 0)) return [least, least + 1];
  const power = 10 ** Math.floor(Math.log10(span / tickCount));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power * tickCount >= span) ?? 10);
  const first = Math.floor(least / step + 1e-9);
  const last = Math.ceil(most / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function digitsOf(step: number): number {
  const digits = [0, 1, 2, 3, 4, 5].find((n) => Math.abs(Number(step.toFixed(n)) - step) < step * 1e-6);
  return digits ?? 6;
}
