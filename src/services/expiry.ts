import { AppError } from '../core/app-error.ts';

/** RFC 3339: date, time and offset are required. */
const timePattern = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Returns milliseconds since the epoch. Errors: 400 for another format, or a time that is not after `now`. */
export function parseExpiry(text: string, now: number): number {
  const time = timePattern.test(text) ? Date.parse(text.toUpperCase().replace(' ', 'T')) : Number.NaN;
  if (Number.isNaN(time) || time < 0)
    throw new AppError(
      'bad_request',
      'expires_at must be an RFC 3339 time with an offset, such as "2027-01-31T12:00:00Z".',
    );
  if (time > now) return time;
  throw new AppError('bad_request', `expires_at is ${text}, which is not in the future. Send a later time.`);
}
