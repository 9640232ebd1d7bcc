import { limits } from '../core/limits.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, Timestamp, Uuid } from './wire.ts';

/** Schemas of the audit log, for members of an organization and for the administrator. */

const optionalTime = (description: string) =>
  Type.Optional(Nullable(Type.String({ format: 'date-time' }), { description }));

/** Selects a part of a log. */
export const auditLogRangeFields = {
  before: optionalTime('Only older entries.'),
  since: optionalTime('Only entries of this time and newer ones.'),
  cursor: Type.Optional(
    Nullable(Type.String(), { description: 'The `next_cursor` of the last reply: goes on where it ended.' }),
  ),
  limit: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: limits.auditPageMax }), { description: '100 when absent.' }),
  ),
} as const;
const AuditLogRange = Type.Object(auditLogRangeFields);
export type AuditLogRange = Static<typeof AuditLogRange>;

export const AuditLogRequest = Component('AuditLogRequest', 'Which part of which audit log.', {
  organization_id: Type.Optional(
    Nullable(Type.String({ format: 'uuid' }), {
      description: 'Absent or null: what belongs to no organisation, such as sign-ins.',
    }),
  ),
  ...auditLogRangeFields,
});
export type AuditLogRequest = Static<typeof AuditLogRequest>;

export const AuditLogEntry = Component('AuditLogEntry', 'One thing that somebody did or tried.', {
  id: Uuid('The entry.'),
  at: Timestamp('When.'),
  actor: Nullable(
    Type.String({
      description: 'Who: a user, `key:` and an API key, `administrator`, `system`; null for nobody known.',
    }),
  ),
  action: Type.String({ examples: ['member.joined'] }),
  target: Nullable(Type.String()),
  address: Nullable(Type.String({ description: 'From which network address; null for the server itself.' })),
  details: Type.Record(
    Type.String(),
    Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
  ),
});
export type AuditLogEntry = Static<typeof AuditLogEntry>;

export const AuditLogResponse = Component('AuditLogResponse', 'Entries, newest first.', {
  entries: Type.Array(AuditLogEntry),
  next_cursor: Nullable(Type.String(), { description: 'For the next page; null when this was the last.' }),
});
export type AuditLogResponse = Static<typeof AuditLogResponse>;
