import { AppError } from '../core/app-error.ts';
import { checkTimeZone, parseCron } from '../core/cron-schedule.ts';
import { sourceLimits } from '../core/source-limits.ts';
import { checkName, checkPathBound } from './checks.ts';
import { type AddSourceRequest, type SourceKind, sourceKinds, type UpdateSourceRequest } from './sources.ts';

/** Rules of sources whose violation is a 400. Errors: each function throws AppError `bad_request`. */

export function checkSourceName(name: string): void {
  checkName('source name', name, sourceLimits.nameBytesMax);
}

const schedulePattern = /^(off|[1-9]\d{0,3}[mhd]|([01]\d|2[0-3]):[0-5]\d)$/;
/** Time at which a cron expression must have a next run: one for 29 February is at most 8 years later. */
const cronCheckAt = Date.UTC(2024, 0);

export function checkSourceOptions(request: AddSourceRequest | UpdateSourceRequest): void {
  checkSourceName(request.source_name);
  if (request.schedule != null) checkSchedule(request.schedule);
  if (request.time_zone != null) checkTimeZone(request.time_zone);
  if ('prefix' in request && request.prefix != null) checkPathBound('prefix', request.prefix);
}

function checkSchedule(schedule: string): void {
  if (schedulePattern.test(schedule)) return;
  if (!schedule.includes(' '))
    throw new AppError(
      'bad_request',
      'schedule must be an interval (30m, 6h, 1d), a time of day (02:30), a cron expression (0 3 * * MON-FRI), or off.',
    );
  if (parseCron(schedule, 'UTC').next(cronCheckAt) === null)
    throw new AppError('bad_request', `The schedule ${JSON.stringify(schedule)} has no time.`);
}

/** Returns the kind whose settings the request has; null if it has none. */
export function findSourceKind(request: AddSourceRequest | UpdateSourceRequest): SourceKind | null {
  const found = sourceKinds.filter((kind) => request[kind] !== undefined);
  if (found.length > 1)
    throw new AppError(
      'bad_request',
      `The request has settings for ${found.join(' and ')}, but a source has exactly one kind. Send one of them.`,
    );
  return found[0] ?? null;
}
