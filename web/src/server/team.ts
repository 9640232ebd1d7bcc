import type * as accounts from '../../../src/schemas/accounts.ts';
import type * as audit from '../../../src/schemas/audit.ts';
import { call } from './call.ts';
import { organizationId } from './session.ts';

/** The operations of `/api` that the pages of a team use, in the organisation that was chosen. */

type Abort = AbortSignal | undefined;
type InOrganisation<Request extends { readonly organization_id: string }> = Omit<Request, 'organization_id'>;
type Message = accounts.GenericMessageResponse;

function ask<Reply>(path: string, request: object = {}, signal?: Abort): Promise<Reply> {
  return call<Reply>(
    `/api/organizations/${path}`,
    { organization_id: organizationId(), ...request },
    { signal },
  );
}

export function getOrganization(signal?: Abort): Promise<accounts.GetOrganizationInfoResponse> {
  return ask('get-info', {}, signal);
}

export function addOrganization(name: string): Promise<accounts.AddOrganizationResponse> {
  return call('/api/organizations/add-organization', { name });
}

export function renameOrganization(name: string): Promise<Message> {
  return ask('update-organization', { name });
}

export function deleteOrganization(name: string): Promise<Message> {
  return ask('delete-organization', { confirm_name: name });
}

export function inviteUser(
  request: InOrganisation<accounts.InviteUserRequest>,
): Promise<accounts.InviteUserResponse> {
  return ask('users/invite-user', request);
}

export function deleteInvitation(email: string): Promise<Message> {
  return ask('users/delete-invite-user', { email });
}

export function acceptInvitation(code: string): Promise<accounts.AcceptInviteResponse> {
  return call('/api/organizations/users/accept-invite', { invite_code: code });
}

export function changeMember(
  request: InOrganisation<accounts.UpdateUserRequest>,
): Promise<accounts.UpdateUserResponse> {
  return ask('users/update-user', request);
}

/** Also oneself, to leave. */
export function removeMember(userId: string): Promise<Message> {
  return ask('users/remove-user', { user_id: userId });
}

export function addKey(
  request: InOrganisation<accounts.AddAPIKeyRequest>,
): Promise<accounts.AddAPIKeyResponse> {
  return ask('api-keys/add-api-key', request);
}

export function changeKey(request: InOrganisation<accounts.UpdateAPIKeyRequest>): Promise<Message> {
  return ask('api-keys/update-api-key', request);
}

export function deleteKey(apiKeyId: string): Promise<Message> {
  return ask('api-keys/delete-api-key', { api_key_id: apiKeyId });
}

export function getAuditLog(range: audit.AuditLogRange, signal?: Abort): Promise<audit.AuditLogResponse> {
  return ask('get-audit-log', range, signal);
}

export function editUser(request: accounts.EditUserRequest): Promise<accounts.EditUserResponse> {
  return call('/api/users/edit-user', request);
}

export function deleteUser(email: string): Promise<Message> {
  return call('/api/users/delete-user', { confirm_email: email });
}

export function listSessions(signal?: Abort): Promise<accounts.ListSessionsResponse> {
  return call('/api/users/list-sessions', {}, { signal });
}

/** Without an id all of them, the one of this page too. */
export function endSession(sessionId: string | null): Promise<Message> {
  return call('/api/users/revoke-session', { session_id: sessionId });
}

export type Role = accounts.OrganizationOfUser['permission'];
export type Member = accounts.MemberInfo;
export type Invitation = accounts.InvitationInfo;
export type Key = accounts.OrganizationAPIKey;
