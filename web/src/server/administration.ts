import type * as admin from '../../../src/schemas/admin.ts';
import type { BackupStatusResponse } from '../../../src/schemas/backups.ts';
import type * as installation from '../../../src/schemas/installation.ts';
import type { ListUserPasskeysResponse } from '../../../src/schemas/passkeys.ts';
import type { PasswordLinkResponse } from '../../../src/schemas/passwords.ts';
import type { ListUsersResponse, UserListItem } from '../../../src/schemas/users.ts';
import type { DefaultResponse } from '../../../src/schemas/wire.ts';
import { callApi } from './api-call.ts';

/** Operations of `/v1/admin` for the administrator's pages. A 401 means: sign in as administrator. */

type Abort = AbortSignal | undefined;

function post<Reply>(path: string, request: object, signal?: Abort): Promise<Reply> {
  return callApi<Reply>(`/v1/admin/${path}`, request, { signal, as: 'public' });
}

export type OrganizationListItem = admin.ListOrganizationsResponse['organizations'][number];
export type OrganizationDetails = admin.GetOrganizationResponse;
export type OrganizationChangesRequest = Omit<admin.AdminUpdateOrganizationRequest, 'organization_id'>;

/** Maximum number of entries that a page holds; the command line lists more. */
const listMax = 5_000;

export interface OrganizationList {
  /** Newest first. */
  readonly organizations: readonly OrganizationListItem[];
  readonly isComplete: boolean;
}

export async function adminListOrganizations(signal: AbortSignal): Promise<OrganizationList> {
  const found: OrganizationListItem[] = [];
  let after: string | null = null;
  do {
    const page: admin.ListOrganizationsResponse = await post(
      'list-organizations',
      { after, limit: 1_000, include_storage: true },
      signal,
    );
    found.push(...page.organizations);
    after = page.next_after;
  } while (after !== null && found.length < listMax);
  found.sort((a, b) => b.created_at.localeCompare(a.created_at));
  return { organizations: found, isComplete: after === null };
}

export function adminGetOrganization(id: string, signal?: Abort): Promise<OrganizationDetails> {
  return post('get-organization', { organization_id: id }, signal);
}

export function adminUpdateOrganization(
  id: string,
  changes: OrganizationChangesRequest,
): Promise<DefaultResponse> {
  return post('update-organization', { organization_id: id, ...changes });
}

export function adminDeleteOrganization(id: string): Promise<DefaultResponse> {
  return post('delete-organization', { organization_id: id });
}

/** Creates a link with which a user can choose a new password. */
export function adminCreatePasswordLink(userId: string): Promise<PasswordLinkResponse> {
  return post('create-password-link', { user_id: userId });
}

export function adminListUserPasskeys(
  userId: string,
  signal: AbortSignal,
): Promise<ListUserPasskeysResponse> {
  return post('list-user-passkeys', { user_id: userId }, signal);
}

export function adminDeleteUserPasskey(userId: string, passkeyId: string): Promise<DefaultResponse> {
  return post('delete-user-passkeys', { user_id: userId, passkey_id: passkeyId });
}

export function adminGetBackupStatus(signal: AbortSignal): Promise<BackupStatusResponse> {
  return post('get-backup-status', {}, signal);
}

/** Starts a backup; it runs until `running` of the status is null. */
export function adminCreateBackup(): Promise<BackupStatusResponse> {
  return post('create-backup', {});
}

/** Actions of the administrator on a user. */
export type AdminUserAction =
  | 'end-user-sessions'
  | 'disable-user'
  | 'enable-user'
  | 'reset-second-factor'
  | 'delete-user';

const usersMax = 1_000;

export interface UserSearchResult {
  /** Ordered by last sign-in, latest first. */
  readonly users: readonly UserListItem[];
  readonly isComplete: boolean;
}

/** Searches email addresses and names on the server. An empty `searchText` matches all users. */
export async function adminFindUsers(searchText: string, signal: AbortSignal): Promise<UserSearchResult> {
  const users: UserListItem[] = [];
  const search = searchText === '' ? null : searchText;
  let after: string | null = null;
  do {
    const page: ListUsersResponse = await post('list-users', { after, search, limit: usersMax }, signal);
    users.push(...page.users);
    after = page.next_after;
  } while (after !== null && users.length < usersMax);
  users.sort((a, b) => b.last_login_at.localeCompare(a.last_login_at));
  return { users, isComplete: after === null };
}

export function adminApplyUserAction(userId: string, action: AdminUserAction): Promise<DefaultResponse> {
  return post(action, { user_id: userId });
}

export function adminGetHealth(signal: AbortSignal): Promise<installation.GetHealthResponse> {
  return post('get-health', {}, signal);
}

export function adminGetSettings(signal: AbortSignal): Promise<installation.GetSettingsResponse> {
  return post('get-settings', {}, signal);
}

export function adminGetLogLines(
  request: installation.GetLogLinesRequest,
  signal: AbortSignal,
): Promise<installation.GetLogLinesResponse> {
  return post('get-log-lines', request, signal);
}

export function signOutAdministrator(): Promise<unknown> {
  return callApi('/api/admin/logout', {}, { as: 'public' });
}
