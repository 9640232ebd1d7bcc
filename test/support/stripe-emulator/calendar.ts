/** Months as Stripe counts them: in UTC, and a day that a month does not have is its last. All times are seconds. */

interface UtcDate {
  readonly year: number;
  /** 0 to 11; may lie outside, which moves the year. */
  readonly month: number;
  readonly day: number;
  readonly secondOfDay: number;
}

const daySeconds = 86_400;

export function addMonths(seconds: number, months: number, day = utcDateOf(seconds).day): number {
  const { year, month, secondOfDay } = utcDateOf(seconds);
  return secondsOf({ year, month: month + months, day, secondOfDay });
}

/** The boundary that lies at `anchor`, or a whole number of months from it, after a time; `day` is the wanted one. */
export function boundaryAfter(seconds: number, anchor: number, day = utcDateOf(anchor).day): number {
  const from = utcDateOf(seconds);
  const at = utcDateOf(anchor);
  const months = (from.year - at.year) * 12 + from.month - at.month;
  const found = [months, months + 1].map((count) => addMonths(anchor, count, day));
  return found.find((boundary) => boundary > seconds)!;
}

/** The first time after `seconds` that has this day of the month and this time of day. */
export function nextDayOfMonth(seconds: number, day: number, secondOfDay: number): number {
  const { year, month } = utcDateOf(seconds);
  const found = [0, 1].map((count) => secondsOf({ year, month: month + count, day, secondOfDay }));
  return found.find((boundary) => boundary > seconds)!;
}

function utcDateOf(seconds: number): UtcDate {
  const date = new Date(seconds * 1_000);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth(),
    day: date.getUTCDate(),
    secondOfDay: seconds % daySeconds,
  };
}

function secondsOf({ year, month, day, secondOfDay }: UtcDate): number {
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day, last)) / 1_000 + secondOfDay;
}
