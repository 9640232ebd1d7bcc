import type * as accounts from '../../../src/schemas/accounts.ts';
import type * as audit from '../../../src/schemas/audit.ts';
import { callApi } from './api-call.ts';
import { organizationId } from './session.ts';

/** Operations of `/api` for the team pages, in the selected organization. */

type Abort = AbortSignal | undefined;
type WithoutOrganizationId<Request extends { readonly organization_id: string }> = Omit<
  Request,
  'organization_id'
>;
type Message = accounts.GenericMessageResponse;

function post<Reply>(path: string, request: object = {}, signal?: Abort): Promise<Reply> {
  return callApi<Reply>(
    `/api/organizations/${path}`,
    { organization_id: organizationId(), ...request },
    { signal },
  );
}

export function getOrganization(signal?: Abort): Promise<accounts.GetOrganizationInfoResponse> {
  return post('get-info', {}, signal);
}

export function addOrganization(name: string): Promise<accounts.AddOrganizationResponse> {
  return callApi('/api/organizations/add-organization', { name });
}

export function renameOrganization(name: string): Promise<Message> {
  return post('update-organization', { name });
}

export function deleteOrganization(name: string): Promise<Message> {
  return post('delete-organization', { confirm_name: name });
}

export function inviteUser(
  request: WithoutOrganizationId<accounts.InviteUserRequest>,
): Promise<accounts.InviteUserResponse> {
  return post('users/invite-user', request);
}

export function deleteInvitation(email: string): Promise<Message> {
  return post('users/delete-invite-user', { email });
}

export function acceptInvitation(code: string): Promise<accounts.AcceptInviteResponse> {
  return callApi('/api/organizations/users/accept-invite', { invite_code: code });
}

export function changeMember(
  request: WithoutOrganizationId<accounts.UpdateUserRequest>,
): Promise<accounts.UpdateUserResponse> {
  return post('users/update-user', request);
}

/** Removes a member. With the user's own id: leaves the organization. */
export function removeMember(userId: string): Promise<Message> {
  return post('users/remove-user', { user_id: userId });
}

export function addKey(
  request: WithoutOrganizationId<accounts.AddAPIKeyRequest>,
): Promise<accounts.AddAPIKeyResponse> {
  return post('api-keys/add-api-key', request);
}

export function changeKey(request: WithoutOrganizationId<accounts.UpdateAPIKeyRequest>): Promise<Message> {
  return post('api-keys/update-api-key', request);
}

export function deleteKey(apiKeyId: string): Promise<Message> {
  return post('api-keys/delete-api-key', { api_key_id: apiKeyId });
}

export function getAuditLog(range: audit.AuditLogRange, signal?: Abort): Promise<audit.AuditLogResponse> {
  return post('get-audit-log', range, signal);
}

export function editUser(request: accounts.EditUserRequest): Promise<accounts.EditUserResponse> {
  return callApi('/api/users/edit-user', request);
}

export function deleteUser(email: string): Promise<Message> {
  return callApi('/api/users/delete-user', { confirm_email: email });
}

export function listSessions(signal?: Abort): Promise<accounts.ListSessionsResponse> {
  return callApi('/api/users/list-sessions', {}, { signal });
}

/** Revokes a session. Null revokes all sessions, including the current one. */
export function revokeSession(sessionId: string | null): Promise<Message> {
  return callApi('/api/users/revoke-session', { session_id: sessionId });
}

export type TeamRole = accounts.OrganizationOfUser['permission'];
export type TeamMember = accounts.MemberInfo;
export type TeamInvitation = accounts.InvitationInfo;
export type TeamApiKey = accounts.OrganizationAPIKey;
