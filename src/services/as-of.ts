import { AppError } from '../core/app-error.ts';
import { parseInstant } from '../core/instants.ts';
import type { AsOf } from '../search/past-search.ts';
import type { Moments } from './moments.ts';

/** A date alone would leave the time of the day open. */
const timePattern = /^\d{4}-\d\d-\d\d[Tt ]/;

interface AsOfContext {
  readonly moments: Moments;
  readonly collectionId: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Returns the moment of a query; null for the present. Errors: 400 for a text that is neither an RFC 3339 time nor a moment
 * of the collection, and for a future time.
 */
export function parseAsOf(
  value: string | null | undefined,
  { moments, collectionId, now }: AsOfContext,
): AsOf | null {
  if (value === null || value === undefined) return null;
  const sequence = moments.parse(collectionId, value);
  if (sequence !== null) return { sequence };
  const instant = timePattern.test(value) ? parseInstant(value) : null;
  if (instant === null)
    throw new AppError(
      'bad_request',
      'as_of must be an RFC 3339 time with an offset, such as "2026-03-31T12:00:00Z", or explain.moment of an earlier reply of this collection.',
    );
  const at = instant.seconds * 1_000 + Math.floor(instant.nanoseconds / 1_000_000);
  if (at <= now) return { at };
  throw new AppError(
    'bad_request',
    `as_of is ${value}, which is in the future. Omit it to search the present.`,
  );
}
