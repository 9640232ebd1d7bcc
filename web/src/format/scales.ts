/** Scales of charts, and changes between periods. */

/** Returns the least round number that is at least `highest` and whose half is round, too: 2, 4, 6, 8, 10, 20, … */
export function scaleEnd(highest: number): number {
  if (highest <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(highest));
  const end = [1, 2, 4, 6, 8].find((step) => step * power >= highest) ?? 10;
  return end * power;
}

/**
 * Change in percent, rounded; null if there was nothing before, because no percentage describes that. Both
 * values are not negative.
 */
export function percentChange(before: number, after: number): number | null {
  return before === 0 ? null : Math.round(((after - before) / before) * 100);
}
