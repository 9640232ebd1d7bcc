import { rateLimitAddress } from '../admission/address-key.ts';
import type { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { DeniedAccessLog } from '../audit/denied-access-log.ts';
import { AppError } from '../core/app-error.ts';
import { passkeyLimits } from '../core/passkey-limits.ts';
import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';
import type * as wire from '../schemas/passkeys.ts';
import type { Passkey } from '../storage/passkeys.ts';
import { ExpectationFailedError } from '../storage/store.ts';
import type { AccountResponse, ClientInfo } from './client-info.ts';
import { parseLocalPath } from './local-path.ts';
import { challengeExpiredError, type PasskeyChallenge, type Passkeys } from './passkeys.ts';
import {
  findRelyingParty,
  type RelyingParty,
  type RelyingPartyOptions,
  requireRelyingParty,
} from './relying-party.ts';
import type { Sessions } from './sessions.ts';
import { buildJsonSignInReply } from './sign-in-reply.ts';
import type { UserAccounts } from './user-accounts.ts';
import { verifyAssertion } from './webauthn.ts';

export interface PasskeySignInOptions {
  readonly passkeys: Passkeys;
  readonly userAccounts: UserAccounts;
  readonly sessions: Sessions;
  readonly deniedAccessLog: Pick<DeniedAccessLog, 'record'>;
  /** Seals the challenges of sign-ins. */
  readonly sealer: Sealer;
  readonly relyingParty: RelyingPartyOptions;
  /** Limits requests per client, together with joining. */
  readonly limiter: Pick<SlidingWindowLimiter, 'consume'>;
  /** Redirect target for requests that name none. */
  readonly home: string;
}

/** Sign-in that waits for the reply of an authenticator, sealed in a token: nothing is stored for it. */
interface PendingPasskeySignIn extends PasskeyChallenge {
  readonly party: RelyingParty;
  readonly redirect: string;
}

const sealingContext = 'sign-in with a passkey';

/**
 * Sign-in with a passkey, without an email address: the authenticator offers its passkeys of this host name. It verifies
 * its user by a PIN, a fingerprint or a face, so a passkey replaces both factors. Every rejected reply gets the same error.
 */
export class PasskeySignIn {
  readonly #options: PasskeySignInOptions;

  constructor(options: PasskeySignInOptions) {
    this.#options = options;
  }

  /** Whether passkeys are supported at the host name of the request. */
  isAvailable(client: ClientInfo): boolean {
    return findRelyingParty(client, this.#options.relyingParty) !== null;
  }

  /**
   * Stores nothing. Errors: 400 for a redirect to another site; 429 for too many requests from one client; 503 where
   * passkeys are not supported.
   */
  async begin(
    client: ClientInfo,
    request: wire.BeginPasskeySignInRequest,
  ): Promise<AccountResponse<wire.BeginPasskeySignInResponse>> {
    const { passkeys, sealer, relyingParty, limiter, home } = this.#options;
    const party = requireRelyingParty(client, relyingParty);
    const redirect = typeof request.redirect_url === 'string' ? parseLocalPath(request.redirect_url) : home;
    limiter.consume(rateLimitAddress(client.address));
    const challenge = passkeys.createChallenge();
    const pending: PendingPasskeySignIn = { ...challenge, party, redirect };
    const options: wire.PasskeyRequestOptions = {
      rpId: party.id,
      challenge: challenge.challenge,
      timeout: passkeyLimits.challengeMsMax,
      userVerification: 'required',
    };
    return {
      kind: 'json',
      body: { options, passkey_token: sealToText(sealer, pending, sealingContext) },
    };
  }

  /**
   * Errors: 400 for an expired or answered challenge; 401 for a passkey that is not accepted; 403 for a disabled user;
   * 429 for too many requests from one client; 503 where passkeys are not supported.
   */
  async finish(
    client: ClientInfo,
    { passkey_token: token, credential }: wire.PasskeySignInRequest,
  ): Promise<AccountResponse<wire.PasskeySignInResponse>> {
    const { passkeys, userAccounts, sessions, sealer, relyingParty, limiter } = this.#options;
    requireRelyingParty(client, relyingParty);
    const { address } = client;
    limiter.consume(rateLimitAddress(address));
    const pending = openSealedText<PendingPasskeySignIn>(sealer, token, sealingContext);
    if (pending === null) throw challengeExpiredError();
    passkeys.checkChallenge(pending);
    const { passkey, use } = await this.#verify(client, pending, credential);
    const { userId } = passkey;
    const previousToken = client.isBrowser ? client.sessionToReplace('session') : undefined;
    const { user, result: newSession } = await userAccounts
      .signIn({ userId }, { address }, () => {
        const created = sessions.create(userId, client, previousToken);
        const operations = [
          ...passkeys.consumeChallenge(pending),
          ...passkeys.useOperations(passkey, use),
          ...created.operations,
        ];
        return { operations, result: created };
      })
      .catch((error: unknown) => {
        // The passkey was deleted, or the same reply was sent twice.
        throw error instanceof ExpectationFailedError ? this.#rejection(client, passkey, error) : error;
      });
    await sessions.enforceSessionLimit(userId, address);
    return buildJsonSignInReply(client, { user, ...newSession, redirect: pending.redirect });
  }

  async #verify(
    client: ClientInfo,
    { challenge, party }: PendingPasskeySignIn,
    credential: wire.PasskeySignInRequest['credential'],
  ): Promise<{ readonly passkey: Passkey; readonly use: Pick<Passkey, 'counter' | 'isSynced'> }> {
    const passkey = this.#options.passkeys.findByCredential(credential.id);
    const isBound = passkey?.relyingPartyId === party.id;
    if (passkey === undefined || !isBound || credential.response.userHandle !== passkey.userHandle)
      throw this.#rejection(client, null, 'unknown passkey');
    const expected = { challenge, origin: party.origin, relyingPartyId: party.id };
    const use = await verifyAssertion(credential, passkey.publicKey, expected).catch((error: unknown) => {
      throw this.#rejection(client, null, error);
    });
    // A lower counter means that the authenticator was copied; many authenticators always send 0.
    const hasCounter = use.counter > 0 || passkey.counter > 0;
    if (hasCounter && use.counter <= passkey.counter)
      throw this.#rejection(client, passkey, `signature counter ${use.counter} after ${passkey.counter}`);
    return { passkey, use };
  }

  /** `passkey`: null unless its owner signed. */
  #rejection({ address }: ClientInfo, passkey: Passkey | null, reason: unknown): AppError {
    const target = passkey === null ? 'passkey' : `passkey ${passkey.passkeyId}`;
    const actor = passkey?.userId ?? null;
    this.#options.deniedAccessLog.record({
      organizationId: null,
      actor,
      address,
      action: 'sign_in.failed',
      target,
    });
    return new AppError('unauthorized', 'This passkey is not accepted. Sign in with another method.', {
      privateDetails: { reason: String(reason) },
    });
  }
}
