import { assert } from '../../src/core/assert.ts';
import type { ReportColumn } from '../report/findings.ts';

/** Statistics of repeated measurements. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Columns of a table whose rows contain a spread. */
export function spreadColumns(unit: string, digits: number, headingPrefix = ''): ReportColumn[] {
  return (['median', 'least', 'most'] as const).map((key) => ({
    key,
    heading: headingPrefix + key,
    unit,
    digits,
  }));
}

/**
 * Returns median, minimum and maximum of at least one value; null if one is missing, so that gaps stay
 * visible.
 */
export function spreadOf(values: readonly (number | null)[]): Spread | null {
  assert(values.length > 0, 'a spread has values');
  const known = values.filter((value) => value !== null);
  if (known.length < values.length) return null;
  const sorted = known.sort((a, b) => a - b);
  const at = (position: number) => sorted[position] ?? Number.NaN;
  const middle = Math.floor(sorted.length / 2);
  const median = sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
  return { median, least: at(0), most: at(sorted.length - 1) };
}

/**
 * Returns the spread over rounds of the ratio of `values` to `peers`. Both were measured in the same rounds,
 * so that disturbances of a round affect both. Null if a value is missing or a peer is 0.
 */
export function ratioOf(
  values: readonly (number | null)[],
  peers: readonly (number | null)[],
): Spread | null {
  assert(values.length === peers.length, 'both were measured in the same rounds');
  return spreadOf(
    values.map((value, round) => {
      const peer = peers[round] ?? null;
      return value === null || peer === null || peer === 0 ? null : value / peer;
    }),
  );
}
