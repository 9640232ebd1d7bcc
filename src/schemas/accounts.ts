import {
  DBAPIKeyPermission,
  expiryInput,
  expiryOutput,
  lastUseOutput,
  originsChange,
  originsInput,
  originsOutput,
  restrictionChange,
  restrictionInput,
  restrictionOutput,
  SubscriptionType,
} from './admin.ts';
import { auditLogRangeFields } from './audit.ts';
import { OrganizationStorage, overrideFields, RateLimits } from './organization-limits.ts';
import { roles } from './principal.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp, Uuid } from './wire.ts';

/** Schemas of the account API: users, organizations, members, invitations, API keys, audit log. */

export const OrganizationPermission = OneOf(roles, {
  title: 'OrganizationPermission',
  description:
    'Role of a member: `OWNER` can do everything, `ADMIN` can also manage API keys, `MEMBER` can use the organization and invite members.',
});

const organizationId = Uuid('ID of the organization.');
const userId = Uuid('ID of the user.');
export const email = Type.String({
  description: 'An email address without a display name.',
  examples: ['ada@example.com'],
});
export const optionalText = (description: string) => Type.Optional(Nullable(Type.String(), { description }));

export const GenericMessageResponse = Component('GenericMessageResponse', 'Confirmation.', {
  message: Type.String({ description: 'Message for display.' }),
});
export type GenericMessageResponse = Static<typeof GenericMessageResponse>;

// users

export const UserInfo = Component('UserInfo', 'A user.', {
  id: userId,
  email: Type.String(),
  email_verified: Type.Boolean({
    description:
      'False for a user who joined with an invitation that was not sent by email, until a sign-in verifies the address.',
  }),
  name: Nullable(Type.String()),
  avatar_url: Nullable(Type.String()),
  company: Nullable(Type.String()),
  is_admin: Type.Boolean({ description: 'Always false: the administrator is not a user.' }),
  created_at: Timestamp('Time of the first sign-in.'),
});
export type UserInfo = Static<typeof UserInfo>;

export const OrganizationOfUser = Component('OrganizationOfUser', 'An organization of the user.', {
  organization_id: organizationId,
  name: Type.String(),
  permission: OrganizationPermission,
  subscription_tier: SubscriptionType,
  created_at: Timestamp('Creation time.'),
});
export type OrganizationOfUser = Static<typeof OrganizationOfUser>;

export const InvitationToUser = Component('InvitationToUser', 'A pending invitation for the user.', {
  id: Uuid('ID of the invitation.'),
  organization_id: organizationId,
  organization_name: Type.String(),
  permission: OrganizationPermission,
  invite_code: Type.String({ description: 'Code that accepts the invitation.' }),
  invited_by: Nullable(Type.String({ description: 'Address of the inviting user.' })),
  expires_at: Timestamp('Expiry time.'),
});
export type InvitationToUser = Static<typeof InvitationToUser>;

export const GetUserResponse = Component('GetUserResponse', 'The user and their organizations.', {
  user: UserInfo,
  administrator_signed_in: Type.Boolean({
    description: 'Whether this browser also has an administrator session.',
  }),
  billing_enabled: Type.Boolean({ description: 'Whether payments are enabled on this server.' }),
  has_password: Type.Boolean({ description: 'Whether the user can sign in with a password.' }),
  passkeys: Type.Integer({ description: 'Number of passkeys of the user.' }),
  organizations: Type.Array(OrganizationOfUser),
  invitations: Type.Array(InvitationToUser),
});
export type GetUserResponse = Static<typeof GetUserResponse>;

export const EditUserRequest = Component(
  'EditUserRequest',
  'Profile changes; absent fields stay unchanged.',
  {
    name: optionalText('1 to 255 characters; null or an empty string clears it.'),
    avatar_url: optionalText('An https:// URL; null or an empty string clears it.'),
    company: optionalText('1 to 255 characters; null or an empty string clears it.'),
    email: optionalText('Cannot be changed. Sign in with the other address instead.'),
  },
);
export type EditUserRequest = Static<typeof EditUserRequest>;

export const DeleteUserRequest = Component('DeleteUserRequest', 'Deletion of your own account.', {
  confirm_email: Type.String({ description: 'The address of your account, as confirmation.' }),
});
export type DeleteUserRequest = Static<typeof DeleteUserRequest>;

export const EditUserResponse = Component('EditUserResponse', 'The updated profile.', {
  user: UserInfo,
});
export type EditUserResponse = Static<typeof EditUserResponse>;

export const SessionInfo = Component('SessionInfo', 'A session of the user.', {
  id: Uuid('ID of the session.'),
  created_at: Timestamp('Creation time.'),
  last_seen_at: Timestamp('Last use, to the minute.'),
  expires_at: Timestamp('Latest expiry time.'),
  address: Type.String({ description: 'Network address that opened the session.' }),
  user_agent: Type.String(),
  is_current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
});
export type SessionInfo = Static<typeof SessionInfo>;

export const ListSessionsResponse = Component('ListSessionsResponse', 'The sessions of the user.', {
  sessions: Type.Array(SessionInfo),
});
export type ListSessionsResponse = Static<typeof ListSessionsResponse>;

export const RevokeSessionRequest = Component(
  'RevokeSessionRequest',
  'A session to end; absent or null ends all.',
  {
    session_id: Type.Optional(Nullable(Uuid('ID of the session.'))),
  },
);
export type RevokeSessionRequest = Static<typeof RevokeSessionRequest>;

// organizations

export const AddOrganizationRequest = Component('AddOrganizationRequest', 'An organization to create.', {
  name: Type.String({ description: '1 to 255 characters.', examples: ['Acme'] }),
});
export type AddOrganizationRequest = Static<typeof AddOrganizationRequest>;

export const AddOrganizationResponse = Component(
  'AddOrganizationResponse',
  'The new organization; its creator is an owner.',
  OrganizationOfUser.properties,
);
export type AddOrganizationResponse = Static<typeof AddOrganizationResponse>;

export const GetOrganizationInfoRequest = Component(
  'GetOrganizationInfoRequest',
  'The organization to describe.',
  {
    organization_id: organizationId,
  },
);
export type GetOrganizationInfoRequest = Static<typeof GetOrganizationInfoRequest>;

export const MemberInfo = Component('MemberInfo', 'A member.', {
  user_id: userId,
  email: Type.String(),
  name: Nullable(Type.String()),
  permission: OrganizationPermission,
  joined_at: Timestamp('Time when the user joined the organization.'),
  last_login_at: Timestamp('Time of the last sign-in.'),
});
export type MemberInfo = Static<typeof MemberInfo>;

export const InvitationInfo = Component('InvitationInfo', 'An open invitation.', {
  id: Uuid('ID of the invitation.'),
  email: Type.String(),
  permission: OrganizationPermission,
  status: Type.Literal('pending'),
  created_at: Timestamp('Time of the invitation.'),
  expires_at: Timestamp('Expiry time.'),
});
export type InvitationInfo = Static<typeof InvitationInfo>;

export const OrganizationAPIKey = Component('OrganizationAPIKey', 'An API key without its secret.', {
  id: Uuid('ID of the API key.'),
  name: Type.String(),
  permission: DBAPIKeyPermission,
  created_at: Timestamp('Creation time.'),
  created_by: Nullable(Type.String()),
  expires_at: expiryOutput,
  last_used_at: lastUseOutput,
  restriction: restrictionOutput,
  allowed_origins: originsOutput,
  api_key: Type.String({ description: 'The key, masked.' }),
});
export type OrganizationAPIKey = Static<typeof OrganizationAPIKey>;

export const OrganizationInfo = Component('OrganizationInfo', 'An organization.', {
  organization_id: organizationId,
  name: Type.String(),
  subscription_tier: SubscriptionType,
  created_at: Timestamp('Creation time.'),
  zdr: Type.Boolean({ description: 'Zero data retention.' }),
  ...overrideFields,
  rate_limits: RateLimits,
  storage: OrganizationStorage,
});
export type OrganizationInfo = Static<typeof OrganizationInfo>;

export const GetOrganizationInfoResponse = Component(
  'GetOrganizationInfoResponse',
  'An organization with its members and keys.',
  {
    organization: OrganizationInfo,
    users: Type.Array(MemberInfo),
    invitations: Type.Array(InvitationInfo),
    api_keys: Type.Array(OrganizationAPIKey),
    upload_bytes_max: Type.Integer({ description: 'Maximum file size in bytes.' }),
  },
);
export type GetOrganizationInfoResponse = Static<typeof GetOrganizationInfoResponse>;

export const UpdateOrganizationRequest = Component('UpdateOrganizationRequest', 'A new name.', {
  organization_id: organizationId,
  name: Type.String({ description: '1 to 255 characters.' }),
});
export type UpdateOrganizationRequest = Static<typeof UpdateOrganizationRequest>;

export const DeleteOrganizationRequest = Component(
  'DeleteOrganizationRequest',
  'An organization to delete.',
  {
    organization_id: organizationId,
    confirm_name: optionalText(
      'The name of the organization, as confirmation; with another name nothing is deleted.',
    ),
  },
);
export type DeleteOrganizationRequest = Static<typeof DeleteOrganizationRequest>;

// members

export const InviteUserRequest = Component('InviteUserRequest', 'An invitation to send.', {
  organization_id: organizationId,
  email,
  permission: Type.Optional(
    Nullable(OrganizationPermission, { description: 'Role of the user; default `MEMBER`.' }),
  ),
});
export type InviteUserRequest = Static<typeof InviteUserRequest>;

export const InviteUserResponse = Component('InviteUserResponse', 'The invitation.', {
  invitation: Nullable(InvitationInfo),
  status: OneOf(['invited', 'already_member'], {}),
  message: Type.String(),
  invite_code: Type.Optional(
    Type.String({ description: 'The invitation code; present only if email is not configured.' }),
  ),
});
export type InviteUserResponse = Static<typeof InviteUserResponse>;

export const AcceptInviteRequest = Component('AcceptInviteRequest', 'The code of an invitation.', {
  invite_code: Type.String({ description: 'A JWT, from the invitation.' }),
});
export type AcceptInviteRequest = Static<typeof AcceptInviteRequest>;

export const AcceptInviteResponse = Component('AcceptInviteResponse', 'The new membership.', {
  organization_id: organizationId,
  name: Type.String(),
  permission: OrganizationPermission,
});
export type AcceptInviteResponse = Static<typeof AcceptInviteResponse>;

export const UpdateUserRequest = Component('UpdateUserRequest', 'New role of a member.', {
  organization_id: organizationId,
  user_id: userId,
  permission: OrganizationPermission,
});
export type UpdateUserRequest = Static<typeof UpdateUserRequest>;

export const UpdateUserResponse = Component('UpdateUserResponse', 'The role of the member.', {
  user_id: userId,
  permission: OrganizationPermission,
});
export type UpdateUserResponse = Static<typeof UpdateUserResponse>;

export const RemoveUserRequest = Component(
  'RemoveUserRequest',
  'A member to remove; yourself to leave the organization.',
  {
    organization_id: organizationId,
    user_id: userId,
  },
);
export type RemoveUserRequest = Static<typeof RemoveUserRequest>;

export const RemoveUserResponse = Component(
  'RemoveUserResponse',
  'The member was removed.',
  GenericMessageResponse.properties,
);
export type RemoveUserResponse = Static<typeof RemoveUserResponse>;

export const DeleteInviteUserRequest = Component('DeleteInviteUserRequest', 'An invitation to delete.', {
  organization_id: organizationId,
  email,
});
export type DeleteInviteUserRequest = Static<typeof DeleteInviteUserRequest>;

export const DeleteInviteUserResponse = Component(
  'DeleteInviteUserResponse',
  'The invitation was deleted.',
  GenericMessageResponse.properties,
);
export type DeleteInviteUserResponse = Static<typeof DeleteInviteUserResponse>;

// API keys

export const AddAPIKeyRequest = Component('AddAPIKeyRequest', 'An API key to create.', {
  organization_id: organizationId,
  name: Type.String({
    description: 'Display name: one line of 1 to 255 characters, at most 256 bytes of UTF-8.',
    examples: ['Website'],
  }),
  permission: DBAPIKeyPermission,
  expires_at: expiryInput,
  restriction: restrictionInput,
  allowed_origins: originsInput,
});
export type AddAPIKeyRequest = Static<typeof AddAPIKeyRequest>;

export const AddAPIKeyResponse = Component('AddAPIKeyResponse', 'The new key, shown only in this reply.', {
  api_key: Type.String({ description: 'The secret; the server stores only its hash.' }),
  id: Uuid('ID of the API key.'),
  name: Type.String(),
  permission: DBAPIKeyPermission,
  created_at: Timestamp('Creation time.'),
  expires_at: expiryOutput,
  restriction: restrictionOutput,
  allowed_origins: originsOutput,
});
export type AddAPIKeyResponse = Static<typeof AddAPIKeyResponse>;

export const UpdateAPIKeyRequest = Component('UpdateAPIKeyRequest', 'Changes to an API key.', {
  organization_id: organizationId,
  api_key_id: Uuid('ID of the API key.'),
  name: optionalText('A new name; absent or null keeps it.'),
  permission: Type.Optional(Nullable(DBAPIKeyPermission)),
  restriction: restrictionChange,
  allowed_origins: originsChange,
});
export type UpdateAPIKeyRequest = Static<typeof UpdateAPIKeyRequest>;

export const DeleteAPIKeyRequest = Component('DeleteAPIKeyRequest', 'An API key to revoke.', {
  organization_id: organizationId,
  api_key_id: Uuid('ID of the API key.'),
});
export type DeleteAPIKeyRequest = Static<typeof DeleteAPIKeyRequest>;

// audit log

export const OrganizationAuditLogRequest = Component(
  'OrganizationAuditLogRequest',
  'Page of the audit log.',
  { organization_id: organizationId, ...auditLogRangeFields },
);
export type OrganizationAuditLogRequest = Static<typeof OrganizationAuditLogRequest>;
