import { AppError } from '../base/app-error.ts';
import { uuidPattern } from '../base/ids.ts';
import type { AuditLogRange, AuditLogResponse } from '../schemas/audit.ts';
import type { AuditEntry, AuditPlace } from '../store/audit-entries.ts';
import type { AuditLog } from './audit-log.ts';

const pageDefault = 100;

/** One page of the log of an organisation, or of what belongs to none (null). Errors: 400 for a bad cursor. */
export async function auditPage(
  audit: Pick<AuditLog, 'list'>,
  organizationId: string | null,
  { before, since, cursor, limit: asked }: AuditLogRange,
): Promise<AuditLogResponse> {
  const limit = asked ?? pageDefault;
  const place =
    typeof cursor === 'string' ? placeOf(cursor) : { at: timeOf('before', before, Number.MAX_SAFE_INTEGER) };
  const found = await audit.list(organizationId, { before: place, since: timeOf('since', since, 0), limit });
  const last = found.at(-1);
  return {
    entries: found.map(wireEntry),
    next_cursor: last === undefined || found.length < limit ? null : cursorOf(last),
  };
}

function timeOf(field: string, text: string | null | undefined, otherwise: number): number {
  if (typeof text !== 'string') return otherwise;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new AppError('bad_request', `${field} is no time that there is.`);
  // A time before 1970 is before everything.
  return Math.max(0, time);
}

function cursorOf({ at, entryId }: AuditEntry): string {
  return `${at}.${entryId}`;
}

function placeOf(cursor: string): AuditPlace {
  const [, at = '', entryId = ''] = /^(\d{1,15})\.(.*)$/.exec(cursor) ?? [];
  if (uuidPattern.test(entryId)) return { at: Number(at), entryId };
  throw new AppError('bad_request', 'cursor must be the next_cursor of an earlier reply.');
}

function wireEntry({ entryId, at, actor, action, target, address, details }: AuditEntry) {
  return {
    id: entryId,
    at: new Date(at).toISOString(),
    ...{ actor, action, target, address },
    details: { ...details },
  };
}
