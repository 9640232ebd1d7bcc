/**
 * Kinds of callers. "nonMember" is the OWNER of the other organization who names this one; "restricted" is a key of
 * this organization for another collection; "filtered" is a key of this organization whose filter excludes its only
 * document.
 */
export const callerNames = [
  'anonymous',
  'garbage',
  'expired',
  'deleted',
  'ended session',
  'read_only',
  'all',
  'otherKey',
  'restricted',
  'filtered',
  'administrator',
  'administrator session',
  'MEMBER',
  'ADMIN',
  'OWNER',
  'unnamed',
  'nonMember',
  'from elsewhere',
] as const;
export type CallerName = (typeof callerNames)[number];

/** Callers that must not learn anything about the organization. */
export const outsiders: ReadonlySet<CallerName> = new Set([
  ...(['anonymous', 'garbage', 'expired', 'deleted', 'ended session'] as const),
  ...(['otherKey', 'nonMember', 'from elsewhere'] as const),
]);

/** Callers inside the organization that must not learn anything about the collection. */
export const organizationInsiders: ReadonlySet<CallerName> = new Set(['restricted']);
