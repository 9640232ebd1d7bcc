import {
  DBAPIKeyPermission,
  expiryInput,
  expiryOutput,
  lastUseOutput,
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

/** Schemas of the account API: users, sign-in, organizations, members, invitations, API keys, audit log. */

export const OrganizationPermission = OneOf(roles, {
  title: 'OrganizationPermission',
  description: 'What a member may do: `OWNER` everything, `ADMIN` also API keys, `MEMBER` use and invite.',
});

const organizationId = Uuid('The organisation.');
const userId = Uuid('The user.');
const email = Type.String({ description: 'A plain e-mail address.', examples: ['ada@example.com'] });
const optionalText = (description: string) => Type.Optional(Nullable(Type.String(), { description }));

export const GenericMessageResponse = Component('GenericMessageResponse', 'It is done.', {
  message: Type.String({ description: 'A word for people.' }),
});
export type GenericMessageResponse = Static<typeof GenericMessageResponse>;

// sign-in

export const SignInOptionsResponse = Component('SignInOptionsResponse', 'How people can sign in here.', {
  mail: Type.Boolean({ description: 'By a link in a mail.' }),
  google: Type.Boolean({ description: 'At Google, or the issuer of OpenID Connect that takes its place.' }),
  github: Type.Boolean({ description: 'At GitHub.' }),
  administrator: Type.Boolean({ description: 'With the password of the administrator.' }),
  resend_seconds: Type.Integer({ description: 'How long to wait before another mail to one address.' }),
});
export type SignInOptionsResponse = Static<typeof SignInOptionsResponse>;

export const AdminLoginRequest = Component('AdminLoginRequest', 'The administrator signs in.', {
  username: optionalText('Ignored; there is one administrator.'),
  password: Type.String({ description: 'The password behind QUARRY_ADMIN_PASSWORD_HASH.', maxLength: 1_024 }),
  code: optionalText('Of the second factor, where one is set up.'),
});
export type AdminLoginRequest = Static<typeof AdminLoginRequest>;

export const AdminStatusResponse = Component(
  'AdminStatusResponse',
  'Whether the administrator is signed in.',
  {
    is_admin: Type.Boolean(),
    expires_at: Type.Optional(Timestamp('When the session ends.')),
    access_token: Type.Optional(
      Type.String({ description: 'The session as a bearer token, shown this once.' }),
    ),
  },
);
export type AdminStatusResponse = Static<typeof AdminStatusResponse>;

export const SendMagicLinkRequest = Component('SendMagicLinkRequest', 'Who wants to sign in.', {
  email,
  redirect_url: optionalText('Where the browser goes then: a path of this server.'),
});
export type SendMagicLinkRequest = Static<typeof SendMagicLinkRequest>;

export const SendMagicLinkResponse = Component('SendMagicLinkResponse', 'The same for every address.', {
  message: Type.String(),
});
export type SendMagicLinkResponse = Static<typeof SendMagicLinkResponse>;

export const VerifyMagicLinkRequest = Component('VerifyMagicLinkRequest', 'The token of a link.', {
  token: Type.String({ description: 'From the link.' }),
});
export type VerifyMagicLinkRequest = Static<typeof VerifyMagicLinkRequest>;

export const ConfirmMagicLinkRequest = Component(
  'ConfirmMagicLinkRequest',
  'The form of the confirmation page.',
  {
    token: Type.String(),
    confirmation: Type.String(),
  },
);
export type ConfirmMagicLinkRequest = Static<typeof ConfirmMagicLinkRequest>;

export const LoginLinkRequest = Component('LoginLinkRequest', 'The operator wants to sign in.', {
  proof: Type.String({ description: 'What only somebody who can read the data directory knows.' }),
});
export type LoginLinkRequest = Static<typeof LoginLinkRequest>;

export const LoginLinkResponse = Component('LoginLinkResponse', 'A link that works once.', {
  url: Type.String(),
  expires_at: Timestamp('When it stops working.'),
});
export type LoginLinkResponse = Static<typeof LoginLinkResponse>;

const provider = Type.String({ description: '`google` or `github`.', examples: ['google'] });
const optionalString = (description: string) => Type.Optional(Type.String({ description }));

export const BeginProviderLoginRequest = Component('BeginProviderLoginRequest', 'Where to sign in.', {
  provider,
  redirect_url: optionalString('Where the browser goes then: a path of this server.'),
  invite_code: optionalString(
    'Of an invitation that is accepted with the sign-in, if it is for that address.',
  ),
});
export type BeginProviderLoginRequest = Static<typeof BeginProviderLoginRequest>;

export const BeginProviderLoginResponse = Component('BeginProviderLoginResponse', 'Where to go.', {
  url: Type.String({ description: 'Of the provider.' }),
});
export type BeginProviderLoginResponse = Static<typeof BeginProviderLoginResponse>;

export const FinishProviderLoginRequest = Component(
  'FinishProviderLoginRequest',
  'What the provider sends back.',
  {
    provider,
    state: Type.String({ description: 'Names the sign-in.' }),
    code: optionalString('For the server, once.'),
    iss: optionalString('Who sends it back.'),
    error: optionalString('Why not.'),
    error_description: optionalString('Why not, for people.'),
  },
);
export type FinishProviderLoginRequest = Static<typeof FinishProviderLoginRequest>;

// people

export const UserInfo = Component('UserInfo', 'A person.', {
  id: userId,
  email: Type.String(),
  email_verified: Type.Boolean({ description: 'Always true: signing in proves the address.' }),
  name: Nullable(Type.String()),
  avatar_url: Nullable(Type.String()),
  company: Nullable(Type.String()),
  is_admin: Type.Boolean({ description: 'Always false: the administrator is no user.' }),
  created_at: Timestamp('The first sign-in.'),
});
export type UserInfo = Static<typeof UserInfo>;

export const SignInResponse = Component('SignInResponse', 'Signed in.', {
  access_token: Type.String({ description: 'The session, for `Authorization: Bearer`. Shown this once.' }),
  token_type: Type.Literal('bearer'),
  expires_at: Timestamp('When the session ends at the latest.'),
  user: UserInfo,
});
export type SignInResponse = Static<typeof SignInResponse>;

export const OrganizationOfUser = Component('OrganizationOfUser', 'An organisation that one belongs to.', {
  organization_id: organizationId,
  name: Type.String(),
  permission: OrganizationPermission,
  subscription_tier: SubscriptionType,
  created_at: Timestamp('When it was created.'),
});
export type OrganizationOfUser = Static<typeof OrganizationOfUser>;

export const InvitationToUser = Component('InvitationToUser', 'An invitation that waits for one.', {
  id: Uuid('The invitation.'),
  organization_id: organizationId,
  organization_name: Type.String(),
  permission: OrganizationPermission,
  invite_code: Type.String({ description: 'Accepts it; the person who asks is the one it was sent to.' }),
  invited_by: Nullable(Type.String({ description: 'Address of whoever invited.' })),
  expires_at: Timestamp('When it ends.'),
});
export type InvitationToUser = Static<typeof InvitationToUser>;

export const GetUserResponse = Component('GetUserResponse', 'Who one is, and where one belongs.', {
  user: UserInfo,
  administrator_signed_in: Type.Boolean({
    description: 'Whether this browser has an open session of the administrator beside that of the person.',
  }),
  billing_enabled: Type.Boolean({ description: 'Whether this server takes payments.' }),
  organizations: Type.Array(OrganizationOfUser),
  invitations: Type.Array(InvitationToUser),
});
export type GetUserResponse = Static<typeof GetUserResponse>;

export const EditUserRequest = Component('EditUserRequest', 'What to change; the rest stays.', {
  name: optionalText('1 to 255 characters; null or an empty text clears it.'),
  avatar_url: optionalText('An https:// address; null or an empty text clears it.'),
  company: optionalText('1 to 255 characters; null or an empty text clears it.'),
  email: optionalText('Cannot be changed: sign in with the other address instead.'),
});
export type EditUserRequest = Static<typeof EditUserRequest>;

export const DeleteUserRequest = Component('DeleteUserRequest', 'Which account to delete: your own.', {
  confirm_email: Type.String({ description: 'The address of your account, so that no other is meant.' }),
});
export type DeleteUserRequest = Static<typeof DeleteUserRequest>;

export const EditUserResponse = Component('EditUserResponse', 'The profile as it is now.', {
  user: UserInfo,
});
export type EditUserResponse = Static<typeof EditUserResponse>;

export const SessionInfo = Component('SessionInfo', 'A place where one is signed in.', {
  id: Uuid('The session.'),
  created_at: Timestamp('When it was opened.'),
  last_seen_at: Timestamp('When it was used last, to the minute.'),
  expires_at: Timestamp('When it ends at the latest.'),
  address: Type.String({ description: 'Network address where it was opened.' }),
  user_agent: Type.String(),
  is_current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
});
export type SessionInfo = Static<typeof SessionInfo>;

export const ListSessionsResponse = Component('ListSessionsResponse', 'Where one is signed in.', {
  sessions: Type.Array(SessionInfo),
});
export type ListSessionsResponse = Static<typeof ListSessionsResponse>;

export const RevokeSessionRequest = Component(
  'RevokeSessionRequest',
  'A session to end; absent or null ends all.',
  {
    session_id: Type.Optional(Nullable(Uuid('The session.'))),
  },
);
export type RevokeSessionRequest = Static<typeof RevokeSessionRequest>;

// organizations

export const AddOrganizationRequest = Component('AddOrganizationRequest', 'An organisation to create.', {
  name: Type.String({ description: '1 to 255 characters.', examples: ['Acme'] }),
});
export type AddOrganizationRequest = Static<typeof AddOrganizationRequest>;

export const AddOrganizationResponse = Component(
  'AddOrganizationResponse',
  'The new organisation; its creator is an owner.',
  OrganizationOfUser.properties,
);
export type AddOrganizationResponse = Static<typeof AddOrganizationResponse>;

export const GetOrganizationInfoRequest = Component('GetOrganizationInfoRequest', 'Which organisation.', {
  organization_id: organizationId,
});
export type GetOrganizationInfoRequest = Static<typeof GetOrganizationInfoRequest>;

export const MemberInfo = Component('MemberInfo', 'A member.', {
  user_id: userId,
  email: Type.String(),
  name: Nullable(Type.String()),
  permission: OrganizationPermission,
  joined_at: Timestamp('When they joined.'),
  last_login_at: Timestamp('When they signed in last.'),
});
export type MemberInfo = Static<typeof MemberInfo>;

export const InvitationInfo = Component('InvitationInfo', 'An open invitation.', {
  id: Uuid('The invitation.'),
  email: Type.String(),
  permission: OrganizationPermission,
  status: Type.Literal('pending'),
  created_at: Timestamp('When it was sent.'),
  expires_at: Timestamp('When it ends.'),
});
export type InvitationInfo = Static<typeof InvitationInfo>;

export const OrganizationAPIKey = Component('OrganizationAPIKey', 'An API key without its secret.', {
  id: Uuid('The API key.'),
  name: Type.String(),
  permission: DBAPIKeyPermission,
  created_at: Timestamp('When it was issued.'),
  created_by: Nullable(Type.String()),
  expires_at: expiryOutput,
  last_used_at: lastUseOutput,
  restriction: restrictionOutput,
  api_key: Type.String({ description: 'The key, masked.' }),
});
export type OrganizationAPIKey = Static<typeof OrganizationAPIKey>;

export const OrganizationInfo = Component('OrganizationInfo', 'An organisation.', {
  organization_id: organizationId,
  name: Type.String(),
  subscription_tier: SubscriptionType,
  created_at: Timestamp('When it was created.'),
  zdr: Type.Boolean({ description: 'Zero data retention.' }),
  ...overrideFields,
  rate_limits: RateLimits,
  storage: OrganizationStorage,
});
export type OrganizationInfo = Static<typeof OrganizationInfo>;

export const GetOrganizationInfoResponse = Component(
  'GetOrganizationInfoResponse',
  'An organisation with its people and keys.',
  {
    organization: OrganizationInfo,
    users: Type.Array(MemberInfo),
    invitations: Type.Array(InvitationInfo),
    api_keys: Type.Array(OrganizationAPIKey),
    upload_bytes_max: Type.Integer({ description: 'Bytes of the largest file that the server takes.' }),
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
  'An organisation to delete.',
  {
    organization_id: organizationId,
    confirm_name: optionalText('Its name, for safety; another name deletes nothing.'),
  },
);
export type DeleteOrganizationRequest = Static<typeof DeleteOrganizationRequest>;

// members

export const InviteUserRequest = Component('InviteUserRequest', 'Whom to invite.', {
  organization_id: organizationId,
  email,
  permission: Type.Optional(Nullable(OrganizationPermission, { description: '`MEMBER` when absent.' })),
});
export type InviteUserRequest = Static<typeof InviteUserRequest>;

export const InviteUserResponse = Component('InviteUserResponse', 'The invitation.', {
  invitation: Nullable(InvitationInfo),
  status: OneOf(['invited', 'already_member'], {}),
  message: Type.String(),
  invite_code: Type.Optional(
    Type.String({ description: 'The code to hand on, only where the server sends no mail.' }),
  ),
});
export type InviteUserResponse = Static<typeof InviteUserResponse>;

export const AcceptInviteRequest = Component('AcceptInviteRequest', 'The code of an invitation.', {
  invite_code: Type.String({ description: 'A JWT, from the invitation.' }),
});
export type AcceptInviteRequest = Static<typeof AcceptInviteRequest>;

export const AcceptInviteResponse = Component('AcceptInviteResponse', 'Where one belongs now.', {
  organization_id: organizationId,
  name: Type.String(),
  permission: OrganizationPermission,
});
export type AcceptInviteResponse = Static<typeof AcceptInviteResponse>;

export const UpdateUserRequest = Component('UpdateUserRequest', 'What a member may do.', {
  organization_id: organizationId,
  user_id: userId,
  permission: OrganizationPermission,
});
export type UpdateUserRequest = Static<typeof UpdateUserRequest>;

export const UpdateUserResponse = Component('UpdateUserResponse', 'What the member may do now.', {
  user_id: userId,
  permission: OrganizationPermission,
});
export type UpdateUserResponse = Static<typeof UpdateUserResponse>;

export const RemoveUserRequest = Component('RemoveUserRequest', 'A member to remove; oneself to leave.', {
  organization_id: organizationId,
  user_id: userId,
});
export type RemoveUserRequest = Static<typeof RemoveUserRequest>;

export const RemoveUserResponse = Component(
  'RemoveUserResponse',
  'The member is gone.',
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
  'The invitation is gone.',
  GenericMessageResponse.properties,
);
export type DeleteInviteUserResponse = Static<typeof DeleteInviteUserResponse>;

// API keys

export const AddAPIKeyRequest = Component('AddAPIKeyRequest', 'An API key to issue.', {
  organization_id: organizationId,
  name: Type.String({ description: 'A name for people, 1 to 255 characters.', examples: ['Website'] }),
  permission: DBAPIKeyPermission,
  expires_at: expiryInput,
  restriction: restrictionInput,
});
export type AddAPIKeyRequest = Static<typeof AddAPIKeyRequest>;

export const AddAPIKeyResponse = Component('AddAPIKeyResponse', 'The new key, shown this once.', {
  api_key: Type.String({ description: 'The secret; the server keeps only its hash.' }),
  id: Uuid('The API key.'),
  name: Type.String(),
  permission: DBAPIKeyPermission,
  created_at: Timestamp('When it was issued.'),
  expires_at: expiryOutput,
  restriction: restrictionOutput,
});
export type AddAPIKeyResponse = Static<typeof AddAPIKeyResponse>;

export const UpdateAPIKeyRequest = Component('UpdateAPIKeyRequest', 'What to change of an API key.', {
  organization_id: organizationId,
  api_key_id: Uuid('The API key.'),
  name: optionalText('A new name; absent or null keeps it.'),
  permission: Type.Optional(Nullable(DBAPIKeyPermission)),
  restriction: restrictionChange,
});
export type UpdateAPIKeyRequest = Static<typeof UpdateAPIKeyRequest>;

export const DeleteAPIKeyRequest = Component('DeleteAPIKeyRequest', 'An API key to revoke.', {
  organization_id: organizationId,
  api_key_id: Uuid('The API key.'),
});
export type DeleteAPIKeyRequest = Static<typeof DeleteAPIKeyRequest>;

// audit log

export const OrganizationAuditLogRequest = Component(
  'OrganizationAuditLogRequest',
  'Which part of the audit log.',
  { organization_id: organizationId, ...auditLogRangeFields },
);
export type OrganizationAuditLogRequest = Static<typeof OrganizationAuditLogRequest>;
