import { AppError } from '../base/app-error.ts';
import type * as wire from '../schemas/accounts.ts';
import type { PersonPrincipal } from '../schemas/principal.ts';
import type {
  BeginSecondFactorResponse,
  ConfirmSecondFactorResponse,
  SecondFactorCodeRequest,
  SecondFactorStatusResponse,
} from '../schemas/second-factors.ts';
import type { Session } from '../store/sessions.ts';
import type { User } from '../store/users.ts';
import type { Invitations } from './invitations.ts';
import type { Memberships } from './memberships.ts';
import type { OrganisationDirectory } from './organisation-directory.ts';
import { noUser, operatorEmail, type People } from './people.ts';
import type { SecondFactorStatus, SecondFactors } from './second-factors.ts';
import type { Sessions } from './sessions.ts';
import type { UserDirectory } from './user-directory.ts';
import type { Visitor } from './visitor.ts';

/** A call of a signed-in person. */
export interface PersonCall {
  readonly principal: PersonPrincipal;
  readonly visitor: Visitor;
  readonly operation: string;
  /** The operation as clients of the API call it, such as `api/organizations/get-info`. */
  readonly name: string;
}

export interface UserOperationsOptions {
  readonly people: People;
  readonly sessions: Sessions;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly organisations: OrganisationDirectory;
  readonly directory: Pick<UserDirectory, 'delete'>;
  readonly secondFactors: SecondFactors;
  readonly takesPayments: boolean;
}

/** What people do with their own account. */
export class UserOperations {
  readonly #options: UserOperationsOptions;

  constructor(options: UserOperationsOptions) {
    this.#options = options;
  }

  async getUser({ principal, visitor }: PersonCall): Promise<wire.GetUserResponse> {
    const { memberships, invitations, organisations, sessions, takesPayments } = this.#options;
    const user = this.#self(principal);
    const members = await memberships.ofUser(user.userId);
    const waiting = await invitations.ofAddress(user.email);
    const codes = await Promise.all(waiting.map((invitation) => invitations.codeOf(invitation)));
    const administrator = visitor.cookie('admin');
    return {
      user: userInfo(user),
      administrator_signed_in: administrator !== undefined && sessions.find(administrator)?.userId === null,
      billing_enabled: takesPayments,
      organizations: members.flatMap(({ organizationId, role }) => {
        const found = organisations.find(organizationId);
        return found === undefined ? [] : [{ ...organisationOfUser(found), permission: role }];
      }),
      invitations: waiting.flatMap((invitation, i) => {
        const found = organisations.find(invitation.organizationId);
        if (found === undefined) return [];
        return [
          {
            id: invitation.invitationId,
            organization_id: invitation.organizationId,
            organization_name: found.name,
            permission: invitation.role,
            invite_code: codes[i]!,
            invited_by: this.#options.people.find(invitation.invitedBy)?.email ?? null,
            expires_at: timestamp(invitation.expiresAt),
          },
        ];
      }),
    };
  }

  async editUser(call: PersonCall, request: wire.EditUserRequest): Promise<wire.EditUserResponse> {
    if (typeof request.email === 'string') {
      throw new AppError('bad_request', 'An address cannot be changed: sign in with the other one instead.');
    }
    const changes = {
      name: cleared(request.name),
      avatarUrl: cleared(request.avatar_url),
      company: cleared(request.company),
    };
    const { userId } = call.principal;
    const { address } = call.visitor;
    const user = await this.#options.people.edit(userId, changes, { address });
    return { user: userInfo(user) };
  }

  /** Errors: 400 for another address than the person's own, 409 while they are the last owner of an organization. */
  async deleteUser(call: PersonCall, request: wire.DeleteUserRequest): Promise<wire.GenericMessageResponse> {
    const { userId, email } = this.#self(call.principal);
    if (request.confirm_email.toLowerCase() !== email) {
      throw new AppError('bad_request', 'confirm_email is not the address of your account.');
    }
    await this.#options.directory.delete(userId, { actor: userId, address: call.visitor.address });
    return { message: 'Your account is deleted.' };
  }

  async getSecondFactor({ principal }: PersonCall): Promise<SecondFactorStatusResponse> {
    return secondFactorInfo(this.#options.secondFactors.status(principal.userId));
  }

  /** Errors: 409 while it is on, 400 for the user of the operator, whose link needs none. */
  async beginSecondFactor({ principal }: PersonCall): Promise<BeginSecondFactorResponse> {
    const { userId, email } = this.#self(principal);
    if (email === operatorEmail) {
      throw new AppError(
        'bad_request',
        'The sign-in link of the operator needs no second factor: sign in by mail or with a provider to set one up.',
      );
    }
    const { secret, url } = await this.#options.secondFactors.begin(userId, email);
    return { secret, otpauth_url: url };
  }

  /** Errors: 400 for a wrong code, and when nothing was begun. */
  async confirmSecondFactor(
    { principal, visitor }: PersonCall,
    { code }: SecondFactorCodeRequest,
  ): Promise<ConfirmSecondFactorResponse> {
    const by = { actor: principal.userId, address: visitor.address };
    return { recovery_codes: await this.#options.secondFactors.confirm(principal.userId, code, by) };
  }

  /** Errors: 400 for a wrong code, and while it is off. */
  async disableSecondFactor(
    { principal, visitor }: PersonCall,
    { code }: SecondFactorCodeRequest,
  ): Promise<wire.GenericMessageResponse> {
    const by = { actor: principal.userId, address: visitor.address };
    await this.#options.secondFactors.disable(principal.userId, code, by);
    return { message: 'The second factor is off.' };
  }

  async listSessions({ principal }: PersonCall): Promise<wire.ListSessionsResponse> {
    const sessions = await this.#options.sessions.list(principal.userId);
    return { sessions: sessions.map((session) => sessionInfo(session, principal.sessionId)) };
  }

  async revokeSession(
    { principal, visitor }: PersonCall,
    { session_id: sessionId }: wire.RevokeSessionRequest,
  ): Promise<wire.GenericMessageResponse> {
    const { sessions } = this.#options;
    if (typeof sessionId === 'string') {
      await sessions.revoke(principal.userId, sessionId.toLowerCase(), visitor.address);
      return { message: 'Success!' };
    }
    const ended = await sessions.revokeAll(principal.userId, {
      actor: principal.userId,
      address: visitor.address,
    });
    return { message: `Signed out everywhere: ${ended} sessions ended.` };
  }

  #self({ userId }: PersonPrincipal): User {
    const user = this.#options.people.find(userId);
    if (user === undefined) throw noUser();
    return user;
  }
}

function secondFactorInfo({ enabledAt, recoveryCodesLeft }: SecondFactorStatus): SecondFactorStatusResponse {
  return {
    is_enabled: enabledAt !== null,
    enabled_at: enabledAt === null ? null : timestamp(enabledAt),
    recovery_codes_left: recoveryCodesLeft,
  };
}

/** An empty text clears a field of a profile as null does; what is absent stays. */
function cleared(text: string | null | undefined): string | null | undefined {
  return text === '' ? null : text;
}

export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

export function userInfo(user: User): wire.UserInfo {
  return {
    id: user.userId,
    email: user.email,
    email_verified: true,
    name: user.name,
    avatar_url: user.avatarUrl,
    company: user.company,
    is_admin: false,
    created_at: timestamp(user.createdAt),
  };
}

/** All but what the person may do there. */
export function organisationOfUser(found: {
  readonly organizationId: string;
  readonly name: string;
  readonly tier: wire.OrganizationOfUser['subscription_tier'];
  readonly createdAt: number;
}): Omit<wire.OrganizationOfUser, 'permission'> {
  return {
    organization_id: found.organizationId,
    name: found.name,
    subscription_tier: found.tier,
    created_at: timestamp(found.createdAt),
  };
}

function sessionInfo(session: Session, currentId: string): wire.SessionInfo {
  return {
    id: session.sessionId,
    created_at: timestamp(session.createdAt),
    last_seen_at: timestamp(session.lastSeenAt),
    expires_at: timestamp(session.expiresAt),
    address: session.address,
    user_agent: session.userAgent,
    is_current: session.sessionId === currentId,
  };
}
