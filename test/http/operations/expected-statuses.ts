import { type CallerName, callerNames } from '../callers.ts';

/** Status that each kind of caller gets from an operation, by the access that the operation requires. */

export type ExpectedStatuses = Readonly<Record<CallerName, number>>;

const unauthenticatedStatuses = {
  anonymous: 401,
  garbage: 401,
  expired: 401,
  deleted: 401,
  'ended session': 401,
} as const;
const administratorStatuses = (status: number) => ({
  administrator: status,
  'administrator session': status,
});
const keyStatuses = (status: number) => ({
  read_only: status,
  all: status,
  otherKey: status,
  restricted: status,
  filtered: status,
});

/**
 * For keys and members of the organization, also those with a filter. `otherKey` is the status for a key of another
 * organization or for another collection.
 */
export function readAccess(status: number, otherKey = 404): ExpectedStatuses {
  return {
    ...unauthenticatedStatuses,
    ...administratorStatuses(403),
    read_only: status,
    all: status,
    filtered: status,
    otherKey,
    restricted: otherKey,
    MEMBER: status,
    ADMIN: status,
    OWNER: status,
    unnamed: 403,
    nonMember: 404,
    'from elsewhere': 403,
  };
}

export function writeAccess(status: number, otherKey = 404): ExpectedStatuses {
  return { ...readAccess(status, otherKey), read_only: 403 };
}

/** For operations that keys with a filter may not call. */
export function withoutFilter(statuses: ExpectedStatuses): ExpectedStatuses {
  return { ...statuses, filtered: 403 };
}

/** For operations that restricted keys may not call. */
export function withoutRestrictions(statuses: ExpectedStatuses): ExpectedStatuses {
  return { ...statuses, restricted: 403, filtered: 403 };
}

export function administratorAccess(status: number): ExpectedStatuses {
  const people = { MEMBER: 403, ADMIN: 403, OWNER: 403, unnamed: 403, nonMember: 403, 'from elsewhere': 403 };
  return { ...unauthenticatedStatuses, ...keyStatuses(403), ...people, ...administratorStatuses(status) };
}

/** For users, by their permission in the organization. */
export function userAccess(
  owner: number,
  admin: number,
  member: number,
  nonMember: number,
): ExpectedStatuses {
  const inside = { OWNER: owner, unnamed: owner, ADMIN: admin, MEMBER: member };
  return {
    ...unauthenticatedStatuses,
    ...keyStatuses(401),
    ...administratorStatuses(401),
    ...inside,
    nonMember,
    'from elsewhere': 403,
  };
}

/** For every caller, regardless of the credentials. */
export function publicAccess(status: number): ExpectedStatuses {
  return Object.fromEntries(callerNames.map((name) => [name, status])) as ExpectedStatuses;
}

/** For every caller except cross-site requests of a browser. */
export function sameOriginAccess(status: number): ExpectedStatuses {
  return { ...publicAccess(status), 'from elsewhere': 403 };
}
