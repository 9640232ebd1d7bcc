/** Calendar months as Stripe counts them: UTC; a missing day of the month becomes its last day. Times are in seconds. */

interface UtcDate {
  readonly year: number;
  /** 0 to 11; values outside the range carry into the year. */
  readonly month: number;
  readonly day: number;
  readonly secondOfDay: number;
}

const daySeconds = 86_400;

export function addMonths(seconds: number, months: number, day = utcDateOf(seconds).day): number {
  const { year, month, secondOfDay } = utcDateOf(seconds);
  return secondsOf({ year, month: month + months, day, secondOfDay });
}

/** First period boundary after `seconds`: `anchor` plus a whole number of months, on day `day` of the month. */
export function boundaryAfter(seconds: number, anchor: number, day = utcDateOf(anchor).day): number {
  const from = utcDateOf(seconds);
  const at = utcDateOf(anchor);
  const months = (from.year - at.year) * 12 + from.month - at.month;
  const found = [months, months + 1].map((count) => addMonths(anchor, count, day));
  return found.find((boundary) => boundary > seconds)!;
}

/** First time after `seconds` on this day of the month and at this time of day. */
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
