import { AppError } from '../core/app-error.ts';
import type { ReplyDeadline } from '../core/async/reply-deadline.ts';
import { formatCount } from '../core/format.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type * as wire from '../schemas/accounts.ts';
import type { SetPasswordRequest } from '../schemas/passwords.ts';
import type { UserPrincipal } from '../schemas/principal.ts';
import {
  type BeginSecondFactorResponse,
  type ConfirmSecondFactorResponse,
  type SecondFactorCodeRequest,
  type SecondFactorStatusResponse,
  toSecondFactorStatusResponse,
} from '../schemas/second-factors.ts';
import type { Session } from '../storage/sessions.ts';
import type { User } from '../storage/users.ts';
import type { ClientInfo } from './client-info.ts';
import type { Invitations } from './invitations.ts';
import type { Memberships } from './memberships.ts';
import type { OrganizationDirectory } from './organization-directory.ts';
import type { Passkeys } from './passkeys.ts';
import type { PasswordSignIn } from './password-sign-in.ts';
import type { Passwords } from './passwords.ts';
import type { SecondFactors } from './second-factors.ts';
import type { Sessions } from './sessions.ts';
import { operatorEmail, type UserAccounts, userNotFoundError } from './user-accounts.ts';
import type { UserDirectory } from './user-directory.ts';

/** Request of a signed-in user. */
export interface UserCall {
  readonly principal: UserPrincipal;
  readonly client: ClientInfo;
  readonly operation: string;
  /** Name of the operation in the API, such as `api/organizations/get-info`. */
  readonly name: string;
  /** Deadline of the reply; absent for operations without one. */
  readonly deadline?: ReplyDeadline | undefined;
}

export interface UserOperationsOptions {
  readonly userAccounts: UserAccounts;
  readonly sessions: Sessions;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly organizations: OrganizationDirectory;
  readonly directory: Pick<UserDirectory, 'delete'>;
  readonly secondFactors: SecondFactors;
  readonly passwords: Pick<Passwords, 'has'>;
  readonly passkeys: Pick<Passkeys, 'list'>;
  readonly passwordSignIn: Pick<PasswordSignIn, 'change'>;
  readonly isBillingEnabled: boolean;
}

/** Operations of users on their own account. */
export class UserOperations {
  readonly #options: UserOperationsOptions;

  constructor(options: UserOperationsOptions) {
    this.#options = options;
  }

  async getUser({ principal, client }: UserCall): Promise<wire.GetUserResponse> {
    const { memberships, invitations, organizations, sessions, isBillingEnabled } = this.#options;
    const user = this.#requireUser(principal);
    const members = await memberships.listByUser(user.userId);
    // An unverified address may belong to another person, whose invitations must stay unknown.
    const pendingInvitations =
      user.isEmailUnverified === true ? [] : await invitations.listByEmail(user.email);
    const codes = await Promise.all(pendingInvitations.map((invitation) => invitations.signCode(invitation)));
    const administratorToken = client.cookie('admin');
    return {
      user: toUserInfo(user),
      administrator_signed_in:
        administratorToken !== undefined && sessions.find(administratorToken)?.userId === null,
      billing_enabled: isBillingEnabled,
      has_password: this.#options.passwords.has(user.userId),
      passkeys: (await this.#options.passkeys.list(user.userId)).length,
      organizations: members.flatMap(({ organizationId, role }) => {
        const found = organizations.find(organizationId);
        return found === undefined ? [] : [{ ...toOrganizationSummary(found), permission: role }];
      }),
      invitations: pendingInvitations.flatMap((invitation, i) => {
        const found = organizations.find(invitation.organizationId);
        if (found === undefined) return [];
        return [
          {
            id: invitation.invitationId,
            organization_id: invitation.organizationId,
            organization_name: found.name,
            permission: invitation.role,
            invite_code: codes[i]!,
            invited_by: this.#options.userAccounts.find(invitation.invitedBy)?.email ?? null,
            expires_at: toTimestamp(invitation.expiresAt),
          },
        ];
      }),
    };
  }

  async editUser(call: UserCall, request: wire.EditUserRequest): Promise<wire.EditUserResponse> {
    if (typeof request.email === 'string') {
      throw new AppError(
        'bad_request',
        'The email address of an account cannot be changed. Sign in with the other address instead.',
      );
    }
    const changes = {
      name: emptyToNull(request.name),
      avatarUrl: emptyToNull(request.avatar_url),
      company: emptyToNull(request.company),
    };
    const { userId } = call.principal;
    const { address } = call.client;
    const user = await this.#options.userAccounts.updateProfile(userId, changes, { address });
    return { user: toUserInfo(user) };
  }

  /**
   * Errors: 400 if the address is not the user's own; 409 while the user is the last owner of an
   * organization.
   */
  async deleteUser(call: UserCall, request: wire.DeleteUserRequest): Promise<wire.GenericMessageResponse> {
    const { userId, email } = this.#requireUser(call.principal);
    if (request.confirm_email.toLowerCase() !== email) {
      throw new AppError('bad_request', 'confirm_email does not match the email address of your account.');
    }
    await this.#options.directory.delete(userId, { actor: userId, address: call.client.address });
    return { message: 'Your account was deleted.' };
  }

  async getSecondFactor({ principal }: UserCall): Promise<SecondFactorStatusResponse> {
    return toSecondFactorStatusResponse(this.#options.secondFactors.status(principal.userId));
  }

  /** Errors: 409 while it is enabled; 400 for the operator's user, whose link needs none. */
  async beginSecondFactor({ principal }: UserCall): Promise<BeginSecondFactorResponse> {
    const { userId, email } = this.#requireUser(principal);
    if (email === operatorEmail) {
      throw new AppError(
        'bad_request',
        'Operator sign-in links do not use two-factor authentication. Sign in by email or with an identity provider to set it up.',
      );
    }
    const { secret, url } = await this.#options.secondFactors.begin(userId, email);
    return { secret, otpauth_url: url };
  }

  /** Errors: 400 for a wrong code, or if no setup was started. */
  async confirmSecondFactor(
    { principal, client }: UserCall,
    { code }: SecondFactorCodeRequest,
  ): Promise<ConfirmSecondFactorResponse> {
    const by = { actor: principal.userId, address: client.address };
    return { recovery_codes: await this.#options.secondFactors.confirm(principal.userId, code, by) };
  }

  /** Errors: 400 for a wrong code, or while it is disabled. */
  async disableSecondFactor(
    { principal, client }: UserCall,
    { code }: SecondFactorCodeRequest,
  ): Promise<wire.GenericMessageResponse> {
    const by = { actor: principal.userId, address: client.address };
    await this.#options.secondFactors.disable(principal.userId, code, by);
    return { message: 'Two-factor authentication is disabled.' };
  }

  /** See `PasswordSignIn.change`. */
  async setPassword(call: UserCall, request: SetPasswordRequest): Promise<wire.GenericMessageResponse> {
    await this.#options.passwordSignIn.change(call, request);
    return { message: 'Your password was changed. Your other sessions have ended.' };
  }

  async listSessions({ principal }: UserCall): Promise<wire.ListSessionsResponse> {
    const sessions = await this.#options.sessions.list(principal.userId);
    return { sessions: sessions.map((session) => toSessionInfo(session, principal.sessionId)) };
  }

  async revokeSession(
    { principal, client }: UserCall,
    { session_id: sessionId }: wire.RevokeSessionRequest,
  ): Promise<wire.GenericMessageResponse> {
    const { sessions } = this.#options;
    if (typeof sessionId === 'string') {
      await sessions.revoke(principal.userId, sessionId.toLowerCase(), client.address);
      return { message: 'Success!' };
    }
    const ended = await sessions.revokeAll(principal.userId, {
      actor: principal.userId,
      address: client.address,
    });
    return { message: `Signed out everywhere: ${formatCount(ended, 'session')} ended.` };
  }

  #requireUser({ userId }: UserPrincipal): User {
    const user = this.#options.userAccounts.find(userId);
    if (user === undefined) throw userNotFoundError();
    return user;
  }
}

/** An empty string clears a profile field like null; an absent field stays unchanged. */
function emptyToNull(text: string | null | undefined): string | null | undefined {
  return text === '' ? null : text;
}

export function toUserInfo(user: User): wire.UserInfo {
  return {
    id: user.userId,
    email: user.email,
    email_verified: user.isEmailUnverified !== true,
    name: user.name,
    avatar_url: user.avatarUrl,
    company: user.company,
    is_admin: false,
    created_at: toTimestamp(user.createdAt),
  };
}

/** Summary of an organization without the role of the user. */
export function toOrganizationSummary(found: {
  readonly organizationId: string;
  readonly name: string;
  readonly tier: wire.OrganizationOfUser['subscription_tier'];
  readonly createdAt: number;
}): Omit<wire.OrganizationOfUser, 'permission'> {
  return {
    organization_id: found.organizationId,
    name: found.name,
    subscription_tier: found.tier,
    created_at: toTimestamp(found.createdAt),
  };
}

function toSessionInfo(session: Session, currentId: string): wire.SessionInfo {
  return {
    id: session.sessionId,
    created_at: toTimestamp(session.createdAt),
    last_seen_at: toTimestamp(session.lastSeenAt),
    expires_at: toTimestamp(session.expiresAt),
    address: session.address,
    user_agent: session.userAgent,
    is_current: session.sessionId === currentId,
  };
}
