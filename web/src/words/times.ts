/** Times as the browser's language writes them, in its time zone. */

const exactly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const dayOnly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
/** Months of billing begin and end in UTC, wherever the browser is. */
const dayInUtc = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const monthInUtc = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const clockOnly = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'long' });

const steps = [
  { unit: 'second', ms: 1_000, until: 60_000 },
  { unit: 'minute', ms: 60_000, until: 3_600_000 },
  { unit: 'hour', ms: 3_600_000, until: 86_400_000 },
  { unit: 'day', ms: 86_400_000, until: 30 * 86_400_000 },
] as const;

/** Date and time. */
export function exact(timestamp: string | number): string {
  return exactly.format(new Date(timestamp));
}

export function day(timestamp: string | number): string {
  return dayOnly.format(new Date(timestamp));
}

/** The day on which something begins or ends that is counted in months of UTC. */
export function billingDay(timestamp: string): string {
  return dayInUtc.format(new Date(timestamp));
}

/** "November 2026"; `of`: `2026-11`. */
export function month(of: string): string {
  return monthInUtc.format(new Date(`${of}-01T00:00:00Z`));
}

export function timeOfDay(timestamp: string | number): string {
  return clockOnly.format(new Date(timestamp));
}

/** "3 minutes ago", "yesterday"; a date for what is more than a month away from `now`. */
export function ago(timestamp: string | number, now: number): string {
  const difference = new Date(timestamp).getTime() - now;
  const distance = Math.abs(difference);
  const step = steps.find(({ until }) => distance < until);
  if (step === undefined) return day(timestamp);
  return relative.format(Math.round(difference / step.ms), step.unit);
}
