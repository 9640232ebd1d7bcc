import type { PasswordSignInResponse } from '../schemas/passwords.ts';
import type { Invitation } from '../storage/invitations.ts';
import { ExpectationFailedError, type WriteOperation } from '../storage/store.ts';
import type { User } from '../storage/users.ts';
import type { AccountResponse, ClientInfo } from './client-info.ts';
import { type InvitationClaims, type Invitations, invitationNotFoundError } from './invitations.ts';
import type { Memberships } from './memberships.ts';
import type { Sessions } from './sessions.ts';
import { buildJsonSignInReply } from './sign-in-reply.ts';
import { accountExistsError, type UserAccounts } from './user-accounts.ts';

export interface InvitedSignUpOptions {
  readonly userAccounts: UserAccounts;
  readonly sessions: Sessions;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  /** Redirect target after sign-up. */
  readonly home: string;
}

/** Sign-up with an invitation, which is the only way to get an account without mail and identity providers. */
export class InvitedSignUp {
  readonly #options: InvitedSignUpOptions;

  constructor(options: InvitedSignUpOptions) {
    this.#options = options;
  }

  /** Returns the open invitation of a code. Errors: 404 for an invalid invitation; 409 if the address has an account. */
  async openCode(inviteCode: string): Promise<Invitation> {
    const claims = await this.#options.invitations.verifyCode(inviteCode);
    if (claims === null) throw invitationNotFoundError();
    return this.open(claims);
  }

  /** Returns the open invitation. Errors: 404 if it was used, replaced or deleted; 409 if the address has an account. */
  open({ organizationId, email, invitationId }: InvitationClaims): Invitation {
    const { invitations, userAccounts } = this.#options;
    const invitation = invitations.find(organizationId, email);
    if (invitation?.invitationId !== invitationId) throw invitationNotFoundError();
    if (userAccounts.findByEmail(email) !== undefined) throw accountExistsError(email);
    return invitation;
  }

  /**
   * Creates the account, makes it a member, consumes the invitation and signs in, all in one write with the operations of
   * `prepare`. Errors: 404 if the invitation was used or deleted meanwhile; 409 if the address has an account;
   * `ExpectationFailedError` of an operation of `prepare`.
   */
  async signUp(
    client: ClientInfo,
    { invitation, name }: { readonly invitation: Invitation; readonly name: string | null },
    prepare: (user: User) => readonly WriteOperation[],
  ): Promise<AccountResponse<PasswordSignInResponse>> {
    const { userAccounts, sessions, home } = this.#options;
    const { address } = client;
    const previousToken = client.isBrowser ? client.sessionToReplace('session') : undefined;
    const profile = { email: invitation.email, name, isEmailVerified: invitation.isMailed === true };
    const { user, result } = await userAccounts
      .signUp(profile, { address }, (newUser) => {
        const created = sessions.create(newUser.userId, client, previousToken);
        const operations = [
          ...prepare(newUser),
          ...created.operations,
          ...this.#joinOperations(newUser.userId, invitation, address),
        ];
        return { operations, result: created };
      })
      .catch((error: unknown) => {
        if (error instanceof ExpectationFailedError) this.open(invitation);
        throw error;
      });
    return buildJsonSignInReply(client, { user, ...result, redirect: home });
  }

  #joinOperations(userId: string, invitation: Invitation, address: string): WriteOperation[] {
    const { memberships, invitations } = this.#options;
    const { organizationId, role, invitedBy } = invitation;
    return [
      memberships.expectRoleAtLeast({ organizationId, userId: invitedBy }, role),
      ...invitations.consume(invitation),
      ...memberships.joinOperations({ organizationId, userId }, role, { actor: userId, address }),
    ];
  }
}
