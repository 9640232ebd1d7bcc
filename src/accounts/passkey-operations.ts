import { AppError } from '../core/app-error.ts';
import type { Random } from '../core/ids.ts';
import { passkeyLimits } from '../core/passkey-limits.ts';
import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';
import type { GenericMessageResponse } from '../schemas/accounts.ts';
import type * as wire from '../schemas/passkeys.ts';
import { toPasskeyInfo } from '../schemas/passkeys.ts';
import type { Passkey } from '../storage/passkeys.ts';
import type { User } from '../storage/users.ts';
import type { Mailer } from './mailer.ts';
import {
  buildCreationOptions,
  createUserHandle,
  type PendingPasskey,
  verifyPasskeyCreation,
} from './passkey-creation.ts';
import { challengeExpiredError, type Passkeys } from './passkeys.ts';
import { findRelyingParty, type RelyingPartyOptions, requireRelyingParty } from './relying-party.ts';
import type { Sessions } from './sessions.ts';
import { buildPasskeyAddedMail } from './sign-in-reply.ts';
import { operatorEmail, type UserAccounts, userNotFoundError } from './user-accounts.ts';
import type { UserCall } from './user-operations.ts';

export interface PasskeyOperationsOptions {
  readonly passkeys: Passkeys;
  readonly userAccounts: UserAccounts;
  readonly sessions: Sessions;
  readonly mail: Mailer;
  readonly random: Random;
  /** Seals the challenges of new passkeys. */
  readonly sealer: Sealer;
  readonly relyingParty: RelyingPartyOptions;
}

/** Passkey that its owner is adding, sealed in a token: nothing is stored for it. */
interface PendingAddition extends PendingPasskey {
  readonly userId: string;
}

const sealingContext = 'new passkey';

/** Operations of users on their own passkeys. */
export class PasskeyOperations {
  readonly #options: PasskeyOperationsOptions;

  constructor(options: PasskeyOperationsOptions) {
    this.#options = options;
  }

  async list({ principal, client }: UserCall): Promise<wire.ListPasskeysResponse> {
    const { passkeys, sessions, relyingParty } = this.#options;
    const { userId, sessionId } = principal;
    return {
      passkeys: (await passkeys.list(userId)).map(toPasskeyInfo),
      is_available: findRelyingParty(client, relyingParty) !== null,
      needs_sign_in: !(await sessions.isRecent(userId, sessionId)),
    };
  }

  /**
   * Errors: 403 if the user signed in too long ago, so that a stolen session cannot be made permanent; 400 for too many
   * passkeys; 503 where passkeys are not supported.
   */
  async begin({ principal, client }: UserCall): Promise<wire.BeginPasskeyResponse> {
    const { passkeys, sessions, sealer, random, relyingParty } = this.#options;
    const { userId, sessionId } = principal;
    const party = requireRelyingParty(client, relyingParty);
    const user = this.#requireUser(userId);
    if (!(await sessions.isRecent(userId, sessionId))) throw signInAgainError();
    await passkeys.checkCount(userId);
    const known = await passkeys.list(userId);
    const userHandle = known[0]?.userHandle ?? createUserHandle(random);
    const pending: PendingAddition = { ...passkeys.createChallenge(), userId, userHandle, party };
    return {
      options: buildCreationOptions(user, pending, known),
      passkey_token: sealToText(sealer, pending, sealingContext),
    };
  }

  /** Errors: 400 for an invalid reply of the authenticator or an expired challenge; 409 for a known passkey. */
  async add(
    { principal, client }: UserCall,
    { passkey_token: token, credential, name }: wire.AddPasskeyRequest,
  ): Promise<wire.PasskeyResponse> {
    const { passkeys, sealer } = this.#options;
    const { userId } = principal;
    const pending = openSealedText<PendingAddition>(sealer, token, sealingContext);
    if (pending?.userId !== userId) throw challengeExpiredError();
    passkeys.checkChallenge(pending);
    const verified = await verifyPasskeyCreation(credential, pending);
    const passkey = { ...verified, userId, name: name.trim() };
    const created = await passkeys.add(passkey, pending, { actor: userId, address: client.address });
    this.#notify(userId, created);
    return { passkey: toPasskeyInfo(created) };
  }

  /** Errors: 404 if the user has no such passkey. */
  async update(
    { principal, client }: UserCall,
    { passkey_id: passkeyId, name }: wire.UpdatePasskeyRequest,
  ): Promise<wire.PasskeyResponse> {
    const { userId } = principal;
    const by = { actor: userId, address: client.address };
    const renamed = await this.#options.passkeys.rename(userId, passkeyId.toLowerCase(), name.trim(), by);
    return { passkey: toPasskeyInfo(renamed) };
  }

  /** Errors: 404 if the user has no such passkey. */
  async delete(
    { principal, client }: UserCall,
    { passkey_id: passkeyId }: wire.DeletePasskeyRequest,
  ): Promise<GenericMessageResponse> {
    const { userId } = principal;
    const by = { actor: userId, address: client.address };
    await this.#options.passkeys.delete(userId, passkeyId.toLowerCase(), by);
    return { message: 'The passkey was deleted. Also delete it from your device or password manager.' };
  }

  /** Sends no mail to an unverified address, which may belong to another person. */
  #notify(userId: string, { name }: Passkey): void {
    const { mail, userAccounts } = this.#options;
    const user = userAccounts.find(userId);
    if (!mail.isEnabled || user === undefined || user.isEmailUnverified === true) return;
    if (user.email !== operatorEmail) mail.enqueue(buildPasskeyAddedMail(user.email, name));
  }

  #requireUser(userId: string): User {
    const user = this.#options.userAccounts.find(userId);
    if (user === undefined) throw userNotFoundError();
    return user;
  }
}

function signInAgainError(): AppError {
  const minutes = passkeyLimits.recentSignInMsMax / 60_000;
  return new AppError(
    'forbidden',
    `To add a passkey, sign in again: your sign-in is older than ${minutes} minutes.`,
    { shouldRetry: false },
  );
}
