import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { readAuditPage } from '../audit/audit-page.ts';
import { AppError } from '../core/app-error.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type * as wire from '../schemas/accounts.ts';
import type { AuditLogResponse } from '../schemas/audit.ts';
import { type OrganizationStorage, toWireLimits, toWireOverrides } from '../schemas/organization-limits.ts';
import { type KeyRestriction, type Role, roles } from '../schemas/principal.ts';
import type { ApiKey } from '../storage/api-keys.ts';
import type { Invitation } from '../storage/invitations.ts';
import type { Organization } from '../storage/organizations.ts';
import { ExpectationFailedError } from '../storage/store.ts';
import type { User } from '../storage/users.ts';
import { type ApiKeyRegistry, restrictionOf } from './api-key-registry.ts';
import { normalizeEmail } from './email-address.ts';
import { type InvitationClaims, type Invitations, invitationNotFoundError } from './invitations.ts';
import type { Mailer } from './mailer.ts';
import {
  allRoles,
  type MembershipAuthorizer,
  managerRoles,
  type OrganizationScopedRequest,
  ownerRoles,
  toActor,
} from './membership-authorizer.ts';
import type { Memberships } from './memberships.ts';
import type { OrganizationDirectory } from './organization-directory.ts';
import { checkDisplayText, type UserAccounts, userNotFoundError } from './user-accounts.ts';
import { toOrganizationSummary, toTimestamp, type UserCall } from './user-operations.ts';

export interface OrganizationOperationsOptions {
  readonly userAccounts: UserAccounts;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly organizations: OrganizationDirectory;
  readonly keys: ApiKeyRegistry;
  readonly audit: AuditLog;
  readonly authorizer: MembershipAuthorizer;
  readonly mail: Mailer;
  readonly clock: Clock;
  readonly random: Random;
  /** `https://host` of links in mails; never taken from a request. */
  readonly publicUrl: () => string;
  /**
   * Deletes an organization with all its data. Errors: 404; 409 for the first organization of the
   * installation.
   */
  readonly deleteOrganization: (organizationId: string, by: Actor) => Promise<void>;
  /** Errors: 409 while the organization has unpaid invoices. */
  readonly checkDeletable: (organization: Organization) => Promise<void>;
  /** Maximum number of organizations that one user may own; 0: users cannot create any. */
  readonly ownedOrganizationsMax: number;
  /** Returns the current storage use of an organization. */
  readonly readStorage: (organizationId: string) => Promise<OrganizationStorage>;
  /** Maximum size of one file in bytes. */
  readonly uploadBytesMax: number;
}

const hourMs = 3_600_000;

/**
 * Operations of users on their organizations. A user who is not a member receives 404, which does not reveal
 * whether the organization exists; a member without the required role receives 403.
 */
export class OrganizationOperations {
  readonly #options: OrganizationOperationsOptions;
  readonly #creationRate: SlidingWindowLimiter;
  readonly #creationMutex = new KeyedMutex();
  readonly #invitationRateByUser: SlidingWindowLimiter;
  readonly #invitationRateByOrganization: SlidingWindowLimiter;
  readonly #invitationRateByEmail: SlidingWindowLimiter;

  constructor(options: OrganizationOperationsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#creationRate = new SlidingWindowLimiter('new organizations', [{ ms: hourMs, max: 20 }], clock);
    // Limits users who create many organizations, and could otherwise send unlimited invitations.
    this.#invitationRateByUser = new SlidingWindowLimiter('invitations', [{ ms: hourMs, max: 60 }], clock);
    this.#invitationRateByOrganization = new SlidingWindowLimiter(
      'invitations',
      [{ ms: hourMs, max: 20 }],
      clock,
    );
    this.#invitationRateByEmail = new SlidingWindowLimiter(
      'invitations to one address',
      [{ ms: 60_000, max: 1 }],
      clock,
    );
  }

  /**
   * Errors: 429 if the user owns the maximum number of organizations or creates too many; 403 if users cannot
   * create any.
   */
  async add(call: UserCall, request: wire.AddOrganizationRequest): Promise<wire.AddOrganizationResponse> {
    checkDisplayText('name', request.name);
    if (this.#options.ownedOrganizationsMax === 0) {
      throw new AppError('forbidden', 'On this server, only the administrator can create organizations.');
    }
    // Requests of one user run one after another, so that concurrent ones are counted like consecutive ones.
    return this.#creationMutex.run(call.principal.userId, () => this.#createForUser(call, request));
  }

  async #createForUser(
    call: UserCall,
    request: wire.AddOrganizationRequest,
  ): Promise<wire.AddOrganizationResponse> {
    const { organizations, memberships, random, ownedOrganizationsMax } = this.#options;
    const { userId } = call.principal;
    const owned = (await memberships.listByUser(userId)).filter(({ role }) => role === 'OWNER').length;
    if (owned >= ownedOrganizationsMax) {
      throw new AppError(
        'rate_limited',
        `You own ${owned} organizations, which is the maximum per user. Delete one or transfer its ownership first.`,
        { shouldRetry: false },
      );
    }
    this.#creationRate.consume(userId);
    const organizationId = random.uuid();
    const extraOperations = [
      memberships.expectUserExists(userId),
      ...memberships.ownerOperations({ organizationId, userId }),
    ];
    const created = await organizations
      .createForUser({ organizationId, name: request.name }, toActor(call), extraOperations)
      .catch((error: unknown) => {
        throw error instanceof ExpectationFailedError ? userNotFoundError() : error;
      });
    return { ...toOrganizationSummary(created), permission: 'OWNER' };
  }

  async getInfo(
    call: UserCall,
    request: OrganizationScopedRequest,
  ): Promise<wire.GetOrganizationInfoResponse> {
    const { organization, role } = this.#options.authorizer.authorize(call, request, allRoles);
    const { memberships, invitations, keys, userAccounts, organizations, readStorage, uploadBytesMax } =
      this.#options;
    const { organizationId } = organization;
    const members = await memberships.listByOrganization(organizationId);
    const users = userAccounts.findMany(members.map(({ userId }) => userId));
    return {
      organization: {
        ...toOrganizationInfo(organization),
        rate_limits: toWireLimits(organizations.limitsOf(organizationId), organization.overrides),
        storage: await readStorage(organizationId),
      },
      users: members.flatMap((member, i) => {
        const user = users[i];
        if (user === undefined) return [];
        return [
          {
            user_id: member.userId,
            email: user.email,
            name: user.name,
            permission: member.role,
            joined_at: toTimestamp(member.joinedAt),
            last_login_at: toTimestamp(user.lastLoginAt),
          },
        ];
      }),
      invitations: (await invitations.listByOrganization(organizationId)).map(toInvitationInfo),
      api_keys: (await keys.list(organizationId)).map((key) => toApiKeyInfo(key, keys.lastUsedAt(key), role)),
      upload_bytes_max: uploadBytesMax,
    };
  }

  async rename(
    call: UserCall,
    request: wire.UpdateOrganizationRequest,
  ): Promise<wire.GenericMessageResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    checkDisplayText('name', request.name);
    const { name } = request;
    await this.#options.organizations.update(organization.organizationId, { name }, toActor(call));
    return successReply;
  }

  /** Errors: 409 for the organization of the installation, which owns `QUARRY_API_KEY` and the first key. */
  async delete(
    call: UserCall,
    request: wire.DeleteOrganizationRequest,
  ): Promise<wire.GenericMessageResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    const { organizationId, name } = organization;
    if (typeof request.confirm_name === 'string' && request.confirm_name !== name) {
      throw new AppError('bad_request', 'confirm_name does not match the name of the organization.');
    }
    await this.#options.checkDeletable(organization);
    await this.#options.deleteOrganization(organizationId, toActor(call));
    return successReply;
  }

  /** Invites a user. Every member may invite, with at most their own role. */
  async invite(call: UserCall, request: wire.InviteUserRequest): Promise<wire.InviteUserResponse> {
    const { organization, role } = this.#options.authorizer.authorize(call, request, allRoles);
    const { organizationId } = organization;
    const invitedRole: Role = request.permission ?? 'MEMBER';
    if (roles.indexOf(invitedRole) < roles.indexOf(role)) {
      this.#options.authorizer.recordDenial(call, organizationId, role);
      throw new AppError(
        'forbidden',
        `Your role (${role}) does not allow you to invite users as ${invitedRole}.`,
      );
    }
    const email = normalizeEmail(request.email);
    const { userAccounts, memberships, invitations, mail } = this.#options;
    const existingUser = userAccounts.findByEmail(email);
    if (
      existingUser !== undefined &&
      memberships.roleOf({ organizationId, userId: existingUser.userId }) !== null
    ) {
      return { invitation: null, status: 'already_member', message: `${email} is already a member.` };
    }
    const invitedBy = call.principal.userId;
    this.#invitationRateByEmail.consume(`${organizationId} ${email}`);
    this.#invitationRateByUser.consume(invitedBy);
    this.#invitationRateByOrganization.consume(organizationId);
    const invitation = await invitations.invite(
      { organizationId, email, role: invitedRole, invitedBy },
      toActor(call),
    );
    const code = await invitations.signCode(invitation);
    const reply = { invitation: toInvitationInfo(invitation), status: 'invited' } as const;
    if (!mail.isEnabled) {
      const message = 'This server does not send mail. Share the invite code yourself.';
      return { ...reply, message, invite_code: code };
    }
    const from = userAccounts.find(invitedBy)?.email ?? '';
    const server = this.#options.publicUrl();
    mail.enqueue(buildInvitationMail({ organization, invitation, code, from, server }), organizationId);
    return { ...reply, message: `The invitation was sent to ${email}.` };
  }

  /** Errors: 404 with the same message for every invalid code and for one issued to another address. */
  async acceptInvite(call: UserCall, request: wire.AcceptInviteRequest): Promise<wire.AcceptInviteResponse> {
    const { userAccounts, invitations } = this.#options;
    const claims = await invitations.verifyCode(request.invite_code);
    const user = userAccounts.find(call.principal.userId);
    if (claims === null || user === undefined) throw invitationNotFoundError();
    return this.#accept(user, claims, toActor(call));
  }

  /**
   * Accepts an invitation for a sign-in that started with a code. Returns false if the code is void for this
   * user.
   */
  async acceptInviteAtSignIn(user: User, claims: InvitationClaims, address: string): Promise<boolean> {
    try {
      await this.#accept(user, claims, { actor: user.userId, address });
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return false;
      throw error;
    }
  }

  async #accept(
    { userId, email }: User,
    claims: InvitationClaims,
    by: Actor,
  ): Promise<wire.AcceptInviteResponse> {
    const { memberships, invitations, organizations } = this.#options;
    if (email !== claims.email) throw invitationNotFoundError();
    const { organizationId } = claims;
    const organization = organizations.find(organizationId);
    if (organization === undefined) throw invitationNotFoundError();
    const membershipKey = { organizationId, userId };
    const invitation = invitations.find(organizationId, email);
    if (invitation?.invitationId !== claims.invitationId) {
      const role = memberships.roleOf(membershipKey);
      if (role === null) throw invitationNotFoundError();
      return { organization_id: organizationId, name: organization.name, permission: role };
    }
    const inviterKey = { organizationId, userId: invitation.invitedBy };
    const joinOptions = {
      role: invitation.role,
      by,
      extraOperations: [
        memberships.expectUserExists(userId),
        memberships.expectRoleAtLeast(inviterKey, invitation.role),
        ...invitations.consume(invitation),
      ],
    };
    const permission = await memberships.join(membershipKey, joinOptions).catch((error: unknown) => {
      if (!(error instanceof ExpectationFailedError)) throw error;
      // A concurrent request accepted the invitation first.
      const role = memberships.roleOf(membershipKey);
      if (role === null) throw invitationNotFoundError();
      return role;
    });
    return { organization_id: organizationId, name: organization.name, permission };
  }

  async deleteInvite(
    call: UserCall,
    request: wire.DeleteInviteUserRequest,
  ): Promise<wire.DeleteInviteUserResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    const email = normalizeEmail(request.email);
    await this.#options.invitations.delete(organization.organizationId, email, toActor(call));
    return successReply;
  }

  async updateUser(call: UserCall, request: wire.UpdateUserRequest): Promise<wire.UpdateUserResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    const { permission } = request;
    const membershipKey = {
      organizationId: organization.organizationId,
      userId: request.user_id.toLowerCase(),
    };
    await this.#options.memberships.changeRole(membershipKey, permission, toActor(call));
    return { user_id: membershipKey.userId, permission };
  }

  async removeUser(call: UserCall, request: wire.RemoveUserRequest): Promise<wire.RemoveUserResponse> {
    const userId = request.user_id.toLowerCase();
    const isSelf = userId === call.principal.userId;
    const { organization } = this.#options.authorizer.authorize(
      call,
      request,
      isSelf ? allRoles : ownerRoles,
    );
    const membershipKey = { organizationId: organization.organizationId, userId };
    await this.#options.memberships.remove(membershipKey, toActor(call));
    return successReply;
  }

  async addKey(call: UserCall, request: wire.AddAPIKeyRequest): Promise<wire.AddAPIKeyResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, managerRoles);
    checkDisplayText('name', request.name);
    const { organizationId } = organization;
    const { name, permission, expires_at } = request;
    const createdBy = call.principal.userId;
    const expiry = typeof expires_at === 'string' ? { expiresAt: Date.parse(expires_at) } : {};
    const input = { organizationId, name, permission, createdBy, restriction: parseRestriction(request) };
    const { secret, key } = await this.#options.keys.issue(
      { ...input, ...expiry, keysMax: limits.memberApiKeysMax },
      toActor(call),
    );
    const times = { created_at: toTimestamp(key.createdAt), expires_at: toOptionalTimestamp(key.expiresAt) };
    const restriction = toApiKeyRestriction(key);
    return { api_key: secret, id: key.keyId, name, permission, ...times, restriction };
  }

  async updateKey(call: UserCall, request: wire.UpdateAPIKeyRequest): Promise<wire.GenericMessageResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, managerRoles);
    const { name, permission } = request;
    const restriction = parseRestriction(request);
    if ((name ?? permission ?? restriction ?? null) === null) {
      throw new AppError('bad_request', 'The request has no changes: send name, permission or restriction.');
    }
    if (typeof name === 'string') checkDisplayText('name', name);
    const keyReference = {
      organizationId: organization.organizationId,
      keyId: request.api_key_id.toLowerCase(),
    };
    await this.#options.keys.update(keyReference, { name, permission, restriction }, toActor(call));
    return successReply;
  }

  async deleteKey(call: UserCall, request: wire.DeleteAPIKeyRequest): Promise<wire.GenericMessageResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, managerRoles);
    const keyReference = {
      organizationId: organization.organizationId,
      keyId: request.api_key_id.toLowerCase(),
    };
    await this.#options.keys.revoke(keyReference, toActor(call));
    return successReply;
  }

  async auditLog(call: UserCall, request: wire.OrganizationAuditLogRequest): Promise<AuditLogResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    return readAuditPage(this.#options.audit, organization.organizationId, request);
  }
}

const successReply = Object.freeze({ message: 'Success!' });

interface InvitationMailInput {
  readonly organization: Organization;
  readonly invitation: Invitation;
  readonly code: string;
  /** Address of the inviting user. */
  readonly from: string;
  /** URL of this server. */
  readonly server: string;
}

function buildInvitationMail({ organization, invitation, code, from, server }: InvitationMailInput) {
  const until = toTimestamp(invitation.expiresAt).slice(0, 10);
  return {
    to: invitation.email,
    subject: `You are invited to ${organization.name}`,
    text: [
      `${from} invites you to the organization ${organization.name} on ${server}.`,
      '',
      'Open this link to join, and sign in with the address that received this mail:',
      `${server}/app/join#${code}`,
      '',
      `The link expires on ${until}. If you did not expect this invitation, ignore this mail.`,
    ].join('\n'),
  };
}

function toOrganizationInfo(found: Organization): Omit<wire.OrganizationInfo, 'rate_limits' | 'storage'> {
  return {
    ...toOrganizationSummary(found),
    zdr: found.zdr,
    ...toWireOverrides(found.overrides),
  };
}

function toInvitationInfo({
  invitationId,
  email,
  role,
  createdAt,
  expiresAt,
}: Invitation): wire.InvitationInfo {
  return {
    id: invitationId,
    email,
    permission: role,
    status: 'pending',
    created_at: toTimestamp(createdAt),
    expires_at: toTimestamp(expiresAt),
  };
}

function toOptionalTimestamp(milliseconds: number | null | undefined): string | null {
  return milliseconds === null || milliseconds === undefined ? null : toTimestamp(milliseconds);
}

function toApiKeyInfo(key: ApiKey, lastUse: number | null, viewerRole: Role): wire.OrganizationAPIKey {
  return {
    id: key.keyId,
    name: key.name,
    permission: key.permission,
    created_at: toTimestamp(key.createdAt),
    created_by: key.createdBy,
    expires_at: toOptionalTimestamp(key.expiresAt),
    last_used_at: toOptionalTimestamp(lastUse),
    restriction: toApiKeyRestriction(key),
    // Members who may not manage keys see only enough to tell keys apart.
    api_key: viewerRole === 'MEMBER' ? key.masked.replace(/….*$/u, '…') : key.masked,
  };
}

function parseRestriction({
  restriction,
}: Pick<wire.AddAPIKeyRequest, 'restriction'>): KeyRestriction | null {
  return restriction ? { collections: restriction.collection_names, filter: restriction.filter } : null;
}

function toApiKeyRestriction(key: ApiKey): wire.OrganizationAPIKey['restriction'] {
  const restriction = restrictionOf(key);
  if (restriction === null) return null;
  const { collections, filter } = restriction;
  return { collection_names: collections && [...collections], filter: filter && { ...filter } };
}
