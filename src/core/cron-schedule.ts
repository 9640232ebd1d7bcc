import { Cron } from 'croner';
import { AppError } from './app-error.ts';

/** Cron expressions of five fields, in a time zone. */
export interface CronSchedule {
  /** Returns the first time after `at`, both in milliseconds since the epoch; null if there is none. */
  readonly next: (at: number) => number | null;
}

const zoneExample = 'Use a name such as "Europe/Berlin".';

/** Errors: `bad_request` for a name that is not in the time zone database. */
export function checkTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
  } catch (cause) {
    throw new AppError('bad_request', `time_zone ${JSON.stringify(timeZone)} is unknown. ${zoneExample}`, {
      cause,
    });
  }
}

/**
 * Parses an expression such as `0 3 * * MON-FRI`. A time that a change of the clock skips is the time of the change; one
 * that occurs twice is the first. Errors: `bad_request`.
 */
export function parseCron(expression: string, timeZone: string): CronSchedule {
  // The package reads "?" as the time of this call.
  if (expression.includes('?')) throw notCron(expression, 'it must not contain "?"');
  let cron: Cron;
  try {
    cron = new Cron(expression, { timezone: timeZone, mode: '5-part', paused: true });
  } catch (cause) {
    throw notCron(expression, (cause as Error).message.replace(/^CronPattern: /, '').replace(/\.$/, ''));
  }
  return { next: (at) => cron.nextRun(new Date(at))?.getTime() ?? null };
}

function notCron(expression: string, reason: string): AppError {
  return new AppError(
    'bad_request',
    `${JSON.stringify(expression)} is not a cron expression of five fields, such as "0 3 * * MON-FRI": ${reason}.`,
  );
}
