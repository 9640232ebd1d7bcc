/** A point in time. Years 0 to 9999 with nanoseconds need more bits than a number has. */
export interface Instant {
  /** Seconds since the epoch. */
  readonly seconds: number;
  /** 0 to 999,999,999. */
  readonly nanoseconds: number;
}

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2})))?$/;
const daySeconds = 86_400;

/**
 * Parses an RFC 3339 date: a `full-date`, which means 00:00 UTC, or a `date-time` with at most 9 digits
 * of a second. Returns null for any other text. `native/engine/typed_values.cc` parses the same texts.
 */
export function parseInstant(text: string): Instant | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const field = (group: number) => Number(match[group] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(field) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [offsetHour, offsetMinute] = [field(9), field(10)];
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) return null;
  // A leap second is 60.
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return null;
  const offset = (offsetHour * 3_600 + offsetMinute * 60) * (match[8] === '-' ? -1 : 1);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const seconds = date.getTime() / 1_000 + hour * 3_600 + minute * 60 + second - offset;
  return { seconds, nanoseconds: Number((match[7] ?? '').padEnd(9, '0')) };
}

function daysOfMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Returns a negative number, 0, or a positive number. */
export function compareInstants(one: Instant, other: Instant): number {
  return one.seconds - other.seconds || one.nanoseconds - other.nanoseconds;
}

/** Returns the day in UTC, `days` later, as YYYY-MM-DD, within the years 0 to 9999. */
export function formatDay({ seconds }: Instant, days: number): string {
  const first = -62_167_219_200;
  const last = 253_402_214_400;
  const start = Math.floor(seconds / daySeconds + days) * daySeconds;
  return new Date(Math.min(last, Math.max(first, start)) * 1_000).toISOString().slice(0, 10);
}
