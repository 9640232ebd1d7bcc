import { rateLimitAddress } from '../admission/address-key.ts';
import type { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { Random } from '../core/ids.ts';
import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';
import type * as wire from '../schemas/passkeys.ts';
import { ExpectationFailedError } from '../storage/store.ts';
import type { AccountResponse, ClientInfo } from './client-info.ts';
import type { InvitationClaims } from './invitations.ts';
import type { InvitedSignUp } from './invited-sign-up.ts';
import {
  buildCreationOptions,
  createUserHandle,
  type PendingPasskey,
  verifyPasskeyCreation,
} from './passkey-creation.ts';
import { challengeExpiredError, type Passkeys, passkeyExistsError } from './passkeys.ts';
import { type RelyingPartyOptions, requireRelyingParty } from './relying-party.ts';
import { checkDisplayText } from './user-accounts.ts';

export interface PasskeyJoinOptions {
  readonly passkeys: Passkeys;
  readonly invitedSignUp: InvitedSignUp;
  readonly random: Random;
  /** Seals the challenges. */
  readonly sealer: Sealer;
  readonly relyingParty: RelyingPartyOptions;
  /** Limits requests per client, together with sign-ins with a passkey. */
  readonly limiter: Pick<SlidingWindowLimiter, 'consume'>;
}

/** Account that waits for the reply of an authenticator, sealed in a token: nothing is stored for it. */
interface PendingJoin extends PendingPasskey, InvitationClaims {
  /** Name of the user. */
  readonly name: string | null;
}

const sealingContext = 'joining with a passkey';
/** The user can rename the passkey. */
const passkeyName = 'Passkey';

/**
 * Sign-up with an invitation and a passkey, without a password. The account is created when the reply of the authenticator
 * is verified, together with the passkey and the membership.
 */
export class PasskeyJoin {
  readonly #options: PasskeyJoinOptions;

  constructor(options: PasskeyJoinOptions) {
    this.#options = options;
  }

  /**
   * Stores nothing. Errors: 400 for an invalid name; 404 for an invalid invitation; 409 if the address has an account; 429
   * for too many requests from one client; 503 where passkeys are not supported.
   */
  async begin(
    client: ClientInfo,
    { invite_code: inviteCode, name: sentName }: wire.BeginPasskeyJoinRequest,
  ): Promise<AccountResponse<wire.BeginPasskeyResponse>> {
    const { passkeys, invitedSignUp, random, sealer, relyingParty, limiter } = this.#options;
    const party = requireRelyingParty(client, relyingParty);
    limiter.consume(rateLimitAddress(client.address));
    const { invitationId, organizationId, email } = await invitedSignUp.openCode(inviteCode);
    const name = sentName || null;
    if (name !== null) checkDisplayText('name', name);
    const pending: PendingJoin = {
      ...passkeys.createChallenge(),
      userHandle: createUserHandle(random),
      party,
      invitationId,
      organizationId,
      email,
      name,
    };
    const options = buildCreationOptions({ email, name }, pending, []);
    return { kind: 'json', body: { options, passkey_token: sealToText(sealer, pending, sealingContext) } };
  }

  /**
   * Errors: 400 for an invalid reply of the authenticator or an expired challenge; 404 for an invitation that was used or
   * deleted meanwhile; 409 for a known passkey or if the address has an account; 429 for too many requests from one client;
   * 503 where passkeys are not supported.
   */
  async finish(
    client: ClientInfo,
    { passkey_token: token, credential }: wire.PasskeyJoinRequest,
  ): Promise<AccountResponse<wire.PasskeySignInResponse>> {
    const { passkeys, invitedSignUp, sealer, relyingParty, limiter } = this.#options;
    requireRelyingParty(client, relyingParty);
    const { address } = client;
    limiter.consume(rateLimitAddress(address));
    const pending = openSealedText<PendingJoin>(sealer, token, sealingContext);
    if (pending === null) throw challengeExpiredError();
    const invitation = invitedSignUp.open(pending);
    passkeys.checkChallenge(pending);
    const verified = await verifyPasskeyCreation(credential, pending);
    return invitedSignUp
      .signUp(client, { invitation, name: pending.name }, ({ userId }) => {
        const passkey = { ...verified, userId, name: passkeyName };
        return passkeys.createOperations(passkey, pending, { actor: userId, address }).operations;
      })
      .catch((error: unknown) => {
        throw error instanceof ExpectationFailedError ? passkeyExistsError(error) : error;
      });
  }
}
