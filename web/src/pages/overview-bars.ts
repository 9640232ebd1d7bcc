import { now } from '../browser/clock.ts';
import type { Bar } from '../components/bar-chart.tsx';
import { formatHour, formatTime } from '../format/times.ts';

/** A time span that ends now, in steps. */
export interface ChartSpan {
  readonly steps: number;
  readonly stepSeconds: number;
}

export function toSeconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

/** Returns one bar per step, including steps without rows. The last bar is the current step. */
export function toBars<Row extends { readonly window_start: number }>(
  rows: readonly Row[],
  { steps, stepSeconds }: ChartSpan,
  amountOf: (row: Row) => number,
): Bar[] {
  const sums = new Map<number, number>();
  for (const row of rows) sums.set(row.window_start, (sums.get(row.window_start) ?? 0) + amountOf(row));
  const end = toSeconds(now());
  const last = end - (end % stepSeconds);
  return Array.from({ length: steps }, (_, i) => {
    const start = last - (steps - 1 - i) * stepSeconds;
    const format = stepSeconds < 3_600 ? formatTime : formatHour;
    return { label: format(start * 1_000), value: sums.get(start) ?? 0 };
  });
}
