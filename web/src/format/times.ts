import { locale } from '../texts/language.ts';

/** Formats times in the language of the dashboard and the browser's time zone. */

const dateTimeFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const dateFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
/** Billing months begin and end in UTC, independently of the browser's time zone. */
const utcDateFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
const utcMonthFormat = new Intl.DateTimeFormat(locale, {
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
});
const hourFormat = new Intl.DateTimeFormat(locale, { weekday: 'short', hour: 'numeric', minute: '2-digit' });
const timeFormat = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
const exactTimeFormat = new Intl.DateTimeFormat(locale, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
});
const timeOfDayFormat = new Intl.DateTimeFormat(locale, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const relativeFormat = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'long' });

const steps = [
  { unit: 'second', ms: 1_000, until: 60_000 },
  { unit: 'minute', ms: 60_000, until: 3_600_000 },
  { unit: 'hour', ms: 3_600_000, until: 86_400_000 },
  { unit: 'day', ms: 86_400_000, until: 30 * 86_400_000 },
] as const;

/** Formats the time of day with milliseconds, in 24 hours. */
export function formatExactTime(timestamp: string): string {
  return exactTimeFormat.format(new Date(timestamp));
}

/** Formats the time of day with seconds, in 24 hours. */
export function formatTimeOfDay(timestamp: string): string {
  return timeOfDayFormat.format(new Date(timestamp));
}

/** Formats date and time. */
export function formatDateTime(timestamp: string | number): string {
  return dateTimeFormat.format(new Date(timestamp));
}

export function formatDate(timestamp: string | number): string {
  return dateFormat.format(new Date(timestamp));
}

/** Formats the day on which a billing period, counted in UTC months, begins or ends. */
export function formatBillingDate(timestamp: string): string {
  return utcDateFormat.format(new Date(timestamp));
}

/** Formats a month given as `2026-11`: "November 2026". */
export function formatMonth(yearMonth: string): string {
  return utcMonthFormat.format(new Date(`${yearMonth}-01T00:00:00Z`));
}

/** Formats the start of an hour with its day of the week: "Sat 9:00 PM". */
export function formatHour(timestamp: number): string {
  return hourFormat.format(new Date(timestamp));
}

export function formatTime(timestamp: string | number): string {
  return timeFormat.format(new Date(timestamp));
}

/** "3 minutes ago", "yesterday"; a date if more than a month away from `now`. */
export function formatRelative(timestamp: string | number, now: number): string {
  const difference = new Date(timestamp).getTime() - now;
  const distance = Math.abs(difference);
  const step = steps.find(({ until }) => distance < until);
  if (step === undefined) return formatDate(timestamp);
  return relativeFormat.format(Math.round(difference / step.ms), step.unit);
}
