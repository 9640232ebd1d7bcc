import { now } from '../browser/clock.ts';
import type { Bar } from '../parts/bars.tsx';
import { timeOfDay } from '../words/times.ts';

/** A stretch of time that ends now, in steps. */
export interface Span {
  readonly steps: number;
  readonly stepSeconds: number;
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

/** One bar for each step, those without rows too; the last is the one that runs. */
export function barsOf<Row extends { readonly window_start: number }>(
  rows: readonly Row[],
  { steps, stepSeconds }: Span,
  amountOf: (row: Row) => number,
): Bar[] {
  const sums = new Map<number, number>();
  for (const row of rows) sums.set(row.window_start, (sums.get(row.window_start) ?? 0) + amountOf(row));
  const end = seconds(now());
  const last = end - (end % stepSeconds);
  return Array.from({ length: steps }, (_, i) => {
    const start = last - (steps - 1 - i) * stepSeconds;
    return { label: timeOfDay(start * 1_000), value: sums.get(start) ?? 0 };
  });
}
