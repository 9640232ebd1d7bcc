/** Scales of charts, and changes between periods. */

/**
 * Returns the least round number that is at least `highest` and whose half is round, too: 2, 4, …, 10, 12, 14, 16, 20,
 * 30, …
 */
export function scaleEnd(highest: number): number {
  if (highest <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(highest));
  const steps = power === 1 ? [4, 6, 8] : [10, 12, 14, 16, 20, 30, 40, 50, 60, 80];
  const unit = power === 1 ? 1 : power / 10;
  return (steps.find((step) => step * unit >= highest) ?? (power === 1 ? 10 : 100)) * unit;
}

/**
 * Change in percent, rounded; null if there was nothing before, because no percentage describes that. Both
 * values are not negative.
 */
export function percentChange(before: number, after: number): number | null {
  return before === 0 ? null : Math.round(((after - before) / before) * 100);
}
