import { AppError } from '../core/app-error.ts';
import { parseInstant } from '../core/instants.ts';
import type { AsOf } from '../search/past-search.ts';

/** A date alone would leave the time of the day open. */
const timePattern = /^\d{4}-\d\d-\d\d[Tt ]/;

/**
 * Returns the moment of a query; null for the present. `now`: milliseconds since the epoch. Errors: 400 for a text that is
 * no RFC 3339 time, and for a future time.
 */
export function parseAsOf(value: string | number | null | undefined, now: number): AsOf | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return { sequence: value };
  const instant = timePattern.test(value) ? parseInstant(value) : null;
  if (instant === null)
    throw new AppError(
      'bad_request',
      'as_of must be an RFC 3339 time with an offset, such as "2026-03-31T12:00:00Z", or a sequence number.',
    );
  const at = instant.seconds * 1_000 + Math.floor(instant.nanoseconds / 1_000_000);
  if (at <= now) return { at };
  throw new AppError(
    'bad_request',
    `as_of is ${value}, which is in the future. Omit it to search the present.`,
  );
}
