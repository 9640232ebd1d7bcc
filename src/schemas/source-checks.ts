import { AppError } from '../core/app-error.ts';
import { sourceLimits } from '../core/source-limits.ts';
import { checkName, checkPathBound } from './checks.ts';
import { type AddSourceRequest, type SourceKind, sourceKinds, type UpdateSourceRequest } from './sources.ts';

/** Rules of sources whose violation is a 400. Errors: each function throws AppError `bad_request`. */

export function checkSourceName(name: string): void {
  checkName('source name', name, sourceLimits.nameBytesMax);
}

const schedulePattern = /^(off|[1-9]\d{0,3}[mhd]|([01]\d|2[0-3]):[0-5]\d)$/;

export function checkSourceOptions(request: AddSourceRequest | UpdateSourceRequest): void {
  checkSourceName(request.source_name);
  if (request.schedule != null && !schedulePattern.test(request.schedule))
    throw new AppError(
      'bad_request',
      'schedule must be an interval (30m, 6h, 1d), a time of day in UTC (02:30), or off.',
    );
  if ('prefix' in request && request.prefix != null) checkPathBound('prefix', request.prefix);
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
