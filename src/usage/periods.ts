import { assert, assertDefined } from '../core/assert.ts';

/** Totals are stored for periods of five lengths in parallel, so that no read sums up years of minutes. */
export const periodLengths = ['minute', 'hour', 'day', 'month', 'all'] as const;
export type PeriodLength = (typeof periodLengths)[number];

/** Lengths in minutes of the periods of constant length, shortest first. */
const fixedPeriods = [
  { length: 'minute', minutes: 1 },
  { length: 'hour', minutes: 60 },
  { length: 'day', minutes: 1_440 },
] as const;
export type FixedPeriodLength = (typeof fixedPeriods)[number]['length'];

/** Periods `from` (inclusive) to `to` (exclusive), numbered from 1970-01-01 UTC. */
export interface PeriodSpan {
  readonly length: FixedPeriodLength;
  readonly from: number;
  readonly to: number;
}

/** Returns the number of the period that contains `atMs` (milliseconds since the epoch). Months are in UTC. */
export function periodAt(length: PeriodLength, atMs: number): number {
  switch (length) {
    case 'minute':
    case 'hour':
    case 'day':
      return Math.floor(atMs / (minutesPerPeriod(length) * 60_000));
    case 'month': {
      const date = new Date(atMs);
      return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
    }
    case 'all':
      return 0;
  }
}

export function minutesPerPeriod(length: FixedPeriodLength): number {
  return assertDefined(
    fixedPeriods.find((period) => period.length === length),
    'the period has a length in minutes',
  ).minutes;
}

/**
 * Returns the fewest periods, none longer than `longest`, that exactly cover the minutes from `from`
 * (inclusive) to `to` (exclusive), in chronological order.
 */
export function coverSpans(
  minutes: { readonly from: number; readonly to: number },
  longest: FixedPeriodLength,
): PeriodSpan[] {
  assert(minutes.from <= minutes.to, 'a time range starts before it ends');
  return coverFrom(
    minutes.from,
    minutes.to,
    fixedPeriods.findIndex((period) => period.length === longest),
  );
}

function coverFrom(from: number, to: number, index: number): PeriodSpan[] {
  if (from === to) return [];
  const period = assertDefined(fixedPeriods[index], 'periods of one minute cover every range');
  const size = period.minutes;
  const first = Math.ceil(from / size);
  const end = Math.floor(to / size);
  if (first >= end) return coverFrom(from, to, index - 1);
  return [
    ...coverFrom(from, first * size, index - 1),
    { length: period.length, from: first, to: end },
    ...coverFrom(end * size, to, index - 1),
  ];
}
