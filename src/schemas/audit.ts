import { limits } from '../core/limits.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, Timestamp, Uuid } from './wire.ts';

/** Schemas of the audit log, for members of an organization and for the administrator. */

const optionalTime = (description: string) =>
  Type.Optional(Nullable(Type.String({ format: 'date-time' }), { description }));

/** Selects a part of a log. */
export const auditLogRangeFields = {
  before: optionalTime('Only entries before this time.'),
  since: optionalTime('Only entries at or after this time.'),
  cursor: Type.Optional(Nullable(Type.String(), { description: 'The `next_cursor` of the previous reply.' })),
  limit: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: limits.auditPageMax }), {
      description: 'Maximum number of entries; default 100.',
    }),
  ),
} as const;
const AuditLogRange = Type.Object(auditLogRangeFields);
export type AuditLogRange = Static<typeof AuditLogRange>;

export const AuditLogRequest = Component('AuditLogRequest', 'Page of an audit log.', {
  organization_id: Type.Optional(
    Nullable(Type.String({ format: 'uuid' }), {
      description: 'Absent or null for entries that belong to no organization, such as sign-ins.',
    }),
  ),
  ...auditLogRangeFields,
});
export type AuditLogRequest = Static<typeof AuditLogRequest>;

export const AuditLogEntry = Component('AuditLogEntry', 'An action or an attempted action.', {
  id: Uuid('ID of the entry.'),
  at: Timestamp('Time of the action.'),
  actor: Nullable(
    Type.String({
      description:
        'Actor: a user ID, `key:` and an API key ID, `administrator` or `system`; null if unknown.',
    }),
  ),
  action: Type.String({ examples: ['member.joined'] }),
  target: Nullable(Type.String()),
  address: Nullable(Type.String({ description: 'Network address; null for the server itself.' })),
  details: Type.Record(
    Type.String(),
    Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
  ),
});
export type AuditLogEntry = Static<typeof AuditLogEntry>;

export const AuditLogResponse = Component('AuditLogResponse', 'Entries, newest first.', {
  entries: Type.Array(AuditLogEntry),
  next_cursor: Nullable(Type.String(), { description: 'Cursor of the next page; null on the last page.' }),
});
export type AuditLogResponse = Static<typeof AuditLogResponse>;
