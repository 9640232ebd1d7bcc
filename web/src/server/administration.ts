import type * as admin from '../../../src/schemas/admin.ts';
import type { ListedUser, ListUsersResponse } from '../../../src/schemas/users.ts';
import type { DefaultResponse } from '../../../src/schemas/wire.ts';
import { call } from './call.ts';

/** The operations of `/v1/admin` that the page of the administrator uses. A 401 there means: sign in as administrator. */

type Abort = AbortSignal | undefined;

function ask<Reply>(path: string, request: object, signal?: Abort): Promise<Reply> {
  return call<Reply>(`/v1/admin/${path}`, request, { signal, as: 'anybody' });
}

export type Listed = admin.ListOrganizationsResponse['organizations'][number];
export type Details = admin.GetOrganizationResponse;
export type Changes = Omit<admin.UpdateOrganizationRequest, 'organization_id'>;

/** More than that a page does not hold; the command line does. */
const listedMax = 5_000;

export interface AllOrganizations {
  /** The newest first. */
  readonly organizations: readonly Listed[];
  readonly areAll: boolean;
}

export async function listAllOrganizations(signal: AbortSignal): Promise<AllOrganizations> {
  const found: Listed[] = [];
  let after: string | null = null;
  do {
    const page: admin.ListOrganizationsResponse = await ask(
      'list-organizations',
      { after, limit: 1_000 },
      signal,
    );
    found.push(...page.organizations);
    after = page.next_after;
  } while (after !== null && found.length < listedMax);
  found.sort((a, b) => b.created_at.localeCompare(a.created_at));
  return { organizations: found, areAll: after === null };
}

export function getAnyOrganization(id: string, signal?: Abort): Promise<Details> {
  return ask('get-organization', { organization_id: id }, signal);
}

export function updateAnyOrganization(id: string, changes: Changes): Promise<DefaultResponse> {
  return ask('update-organization', { organization_id: id, ...changes });
}

export function deleteAnyOrganization(id: string): Promise<DefaultResponse> {
  return ask('delete-organization', { organization_id: id });
}

/** What the administrator does with a user. */
export type UserChange =
  | 'end-user-sessions'
  | 'disable-user'
  | 'enable-user'
  | 'reset-second-factor'
  | 'delete-user';

const usersMax = 1_000;

export interface FoundUsers {
  /** Who signed in last comes first. */
  readonly users: readonly ListedUser[];
  readonly areAll: boolean;
}

/** The server searches addresses and names; `words` may be empty. */
export async function findUsers(words: string, signal: AbortSignal): Promise<FoundUsers> {
  const users: ListedUser[] = [];
  const search = words === '' ? null : words;
  let after: string | null = null;
  do {
    const page: ListUsersResponse = await ask('list-users', { after, search, limit: usersMax }, signal);
    users.push(...page.users);
    after = page.next_after;
  } while (after !== null && users.length < usersMax);
  users.sort((a, b) => b.last_login_at.localeCompare(a.last_login_at));
  return { users, areAll: after === null };
}

export function changeAnyUser(userId: string, change: UserChange): Promise<DefaultResponse> {
  return ask(change, { user_id: userId });
}

export function signOutAdministrator(): Promise<unknown> {
  return call('/api/admin/logout', {}, { as: 'anybody' });
}
