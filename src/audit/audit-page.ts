import { AppError } from '../core/app-error.ts';
import { uuidPattern } from '../core/ids.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type { AuditLogRange, AuditLogResponse } from '../schemas/audit.ts';
import type { AuditCursor, AuditEntry } from '../storage/audit-entries.ts';
import type { AuditLog } from './audit-log.ts';

const pageSizeDefault = 100;

/**
 * Returns one page of the log of an organization, or of the entries without one (null). Errors: 400 for an
 * invalid cursor or time.
 */
export async function readAuditPage(
  audit: Pick<AuditLog, 'list'>,
  organizationId: string | null,
  { before, since, cursor, limit: requestedLimit }: AuditLogRange,
): Promise<AuditLogResponse> {
  const limit = requestedLimit ?? pageSizeDefault;
  const position =
    typeof cursor === 'string'
      ? parseCursor(cursor)
      : { at: parseTime('before', before, Number.MAX_SAFE_INTEGER) };
  const entries = await audit.list(organizationId, {
    before: position,
    since: parseTime('since', since, 0),
    limit,
  });
  const last = entries.at(-1);
  return {
    entries: entries.map(toWireEntry),
    next_cursor: last === undefined || entries.length < limit ? null : formatCursor(last),
  };
}

function parseTime(field: string, text: string | null | undefined, defaultTime: number): number {
  if (typeof text !== 'string') return defaultTime;
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw new AppError(
      'bad_request',
      `${field} is not a valid time. Send a time such as 2026-11-01T08:00:00Z.`,
    );
  // Times before 1970 precede every entry.
  return Math.max(0, time);
}

function formatCursor({ at, entryId }: AuditEntry): string {
  return `${at}.${entryId}`;
}

function parseCursor(cursor: string): AuditCursor {
  const [, at = '', entryId = ''] = /^(\d{1,15})\.(.*)$/.exec(cursor) ?? [];
  if (uuidPattern.test(entryId)) return { at: Number(at), entryId };
  throw new AppError('bad_request', 'cursor must be the next_cursor of an earlier reply.');
}

function toWireEntry({ entryId, at, actor, action, target, address, details }: AuditEntry) {
  return {
    id: entryId,
    at: toTimestamp(at),
    actor,
    action,
    target,
    address,
    details: { ...details },
  };
}
