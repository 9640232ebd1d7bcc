import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { Actor } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { rateLimits } from '../core/rate-limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type * as wire from '../schemas/accounts.ts';
import { type Role, roles } from '../schemas/principal.ts';
import type { Invitation } from '../storage/invitations.ts';
import type { Organization } from '../storage/organizations.ts';
import { ExpectationFailedError } from '../storage/store.ts';
import type { User } from '../storage/users.ts';
import { normalizeEmail } from './email-address.ts';
import { type InvitationClaims, type Invitations, invitationNotFoundError } from './invitations.ts';
import type { Mailer } from './mailer.ts';
import { allRoles, type MembershipAuthorizer, ownerRoles, toActor } from './membership-authorizer.ts';
import type { Memberships } from './memberships.ts';
import type { OrganizationDirectory } from './organization-directory.ts';
import { successReply, toInvitationInfo } from './organization-replies.ts';
import type { UserAccounts } from './user-accounts.ts';
import type { UserCall } from './user-operations.ts';

export interface InvitationOperationsOptions {
  readonly userAccounts: UserAccounts;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly organizations: OrganizationDirectory;
  readonly authorizer: MembershipAuthorizer;
  readonly mail: Mailer;
  readonly clock: Clock;
  /** `https://host` of links in emails; never taken from a request. */
  readonly publicUrl: () => string;
}

/** Operations of users on invitations to organizations. */
export class InvitationOperations {
  readonly #options: InvitationOperationsOptions;
  readonly #rateByUser: SlidingWindowLimiter;
  readonly #rateByOrganization: SlidingWindowLimiter;
  readonly #rateByEmail: SlidingWindowLimiter;

  constructor(options: InvitationOperationsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#rateByUser = new SlidingWindowLimiter('invitations', rateLimits.invitationsOfUser, clock);
    this.#rateByOrganization = new SlidingWindowLimiter(
      'invitations',
      rateLimits.invitationsOfOrganization,
      clock,
    );
    this.#rateByEmail = new SlidingWindowLimiter(
      'invitations to one address',
      rateLimits.invitationsToAddress,
      clock,
    );
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
    this.#rateByEmail.consume(`${organizationId} ${email}`);
    this.#rateByUser.consume(invitedBy);
    this.#rateByOrganization.consume(organizationId);
    const invitation = await invitations.invite(
      { organizationId, email, role: invitedRole, invitedBy, ...(mail.isEnabled ? { isMailed: true } : {}) },
      toActor(call),
    );
    const code = await invitations.signCode(invitation);
    const reply = { invitation: toInvitationInfo(invitation), status: 'invited' } as const;
    if (!mail.isEnabled) {
      const message = 'This server does not send email. Share the invite code yourself.';
      return { ...reply, message, invite_code: code };
    }
    const from = userAccounts.find(invitedBy)?.email ?? '';
    const server = this.#options.publicUrl();
    mail.enqueue(buildInvitationMail({ organization, invitation, code, from, server }), organizationId);
    return { ...reply, message: `The invitation was sent to ${email}.` };
  }

  /** Errors: 404 with the same message for every invalid code and for one issued to another address. */
  async accept(call: UserCall, request: wire.AcceptInviteRequest): Promise<wire.AcceptInviteResponse> {
    const { userAccounts, invitations } = this.#options;
    const claims = await invitations.verifyCode(request.invite_code);
    const user = userAccounts.find(call.principal.userId);
    if (claims === null || user === undefined) throw invitationNotFoundError();
    return this.#join(user, claims, toActor(call));
  }

  /**
   * Accepts an invitation for a sign-in that started with a code. Returns false if the code is void for this
   * user.
   */
  async acceptAtSignIn(user: User, claims: InvitationClaims, address: string): Promise<boolean> {
    try {
      await this.#join(user, claims, { actor: user.userId, address });
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return false;
      throw error;
    }
  }

  async #join(
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

  async delete(
    call: UserCall,
    request: wire.DeleteInviteUserRequest,
  ): Promise<wire.DeleteInviteUserResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    const email = normalizeEmail(request.email);
    await this.#options.invitations.delete(organization.organizationId, email, toActor(call));
    return successReply;
  }
}

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
      'Open this link to join, and sign in with the address that received this email:',
      `${server}/app/join#${code}`,
      '',
      `The link expires on ${until}. If you did not expect this invitation, ignore this email.`,
    ].join('\n'),
  };
}
