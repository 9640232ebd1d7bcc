import { assert } from '../../src/core/assert.ts';

/** What repetitions of one measurement gave. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Median, least and most of at least one value; null when one is missing: a gap is shown, not averaged away. */
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
 * How many times `values` is of `peers`, round by round, then the spread over rounds. Both were measured in the same
 * rounds, so that what disturbed the machine in a round disturbed both. Null when a value is missing or a peer is 0.
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
