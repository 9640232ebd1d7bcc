import { parseSchedule } from '../backup/backup-schedule.ts';
import { parseCron } from '../core/cron-schedule.ts';

/** Returns the time of the next run, given that of the last one (null: none yet); null if there is none. */
export type SourceSchedule = (lastAt: number | null, now: number) => number | null;

/** Parses an interval, a time of day, a cron expression or `off`. */
export function parseSourceSchedule(schedule: string, timeZone: string): SourceSchedule {
  const [, hours, minutes] = /^(\d\d):(\d\d)$/.exec(schedule) ?? [];
  const cron = hours === undefined ? schedule : `${Number(minutes)} ${Number(hours)} * * *`;
  if (!cron.includes(' ')) return parseSchedule(schedule) ?? (() => null);
  const { next } = parseCron(cron, timeZone);
  // The scheduler asks every second, and an answer takes about 100 microseconds.
  let known: { readonly lastAt: number; readonly nextAt: number | null } | null = null;
  return (lastAt, now) => {
    if (lastAt === null) return now;
    if (known?.lastAt !== lastAt) known = { lastAt, nextAt: next(lastAt) };
    return known.nextAt;
  };
}
