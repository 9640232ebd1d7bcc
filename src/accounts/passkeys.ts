import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { passkeyLimits } from '../core/passkey-limits.ts';
import { type Passkey, PasskeyRecords } from '../storage/passkeys.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from '../storage/store.ts';
import { UsedLinks } from '../storage/used-links.ts';
import { Users } from '../storage/users.ts';
import { hashToken } from './secret-token.ts';
import { checkDisplayText } from './user-accounts.ts';

export interface PasskeysOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly audit: AuditLog;
}

/** Single-use challenge that an authenticator signs. */
export interface PasskeyChallenge {
  /** 256 random bits in base64url. */
  readonly challenge: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export type NewPasskey = Omit<Passkey, 'passkeyId' | 'credentialHash' | 'createdAt' | 'lastUsedAt'>;

const challengeBytes = 32;

/** Passkeys of users. An update cannot restore a passkey that is deleted at the same time, because it expects the record. */
export class Passkeys {
  readonly #options: PasskeysOptions;
  readonly #records: PasskeyRecords;
  readonly #usedChallenges: UsedLinks;
  readonly #users: Users;
  readonly #changes = new Mutex();

  constructor(options: PasskeysOptions) {
    this.#options = options;
    this.#records = new PasskeyRecords(options.store);
    this.#usedChallenges = new UsedLinks(options.store);
    this.#users = new Users(options.store);
  }

  /** Passkeys of a user, oldest first. */
  async list(userId: string): Promise<Passkey[]> {
    const passkeys = await this.#records.list(userId);
    return passkeys.sort((a, b) => a.createdAt - b.createdAt);
  }

  /** `credentialId`: in base64url. */
  findByCredential(credentialId: string): Passkey | undefined {
    return this.#records.findByCredential(hashToken(credentialId));
  }

  createChallenge(): PasskeyChallenge {
    const { random, clock } = this.#options;
    const challenge = Buffer.from(random.bytes(challengeBytes)).toString('base64url');
    return { challenge, expiresAt: clock.now() + passkeyLimits.challengeMsMax };
  }

  /** Errors: 400 for a challenge that has expired or was answered. */
  checkChallenge({ challenge, expiresAt }: PasskeyChallenge): void {
    if (expiresAt <= this.#options.clock.now() || this.#usedChallenges.has(hashToken(challenge)))
      throw challengeExpiredError();
  }

  /** Operations to be written with the effect of the answer. The write fails if the challenge was answered meanwhile. */
  consumeChallenge({ challenge, expiresAt }: PasskeyChallenge): WriteOperation[] {
    return this.#usedChallenges.markUsed({ hash: hashToken(challenge), expiresAt });
  }

  /** Errors: 400 for too many passkeys. */
  async checkCount(userId: string): Promise<void> {
    if ((await this.list(userId)).length < passkeyLimits.perUserMax) return;
    throw new AppError(
      'bad_request',
      `You have ${passkeyLimits.perUserMax} passkeys, which is the maximum. Delete one that you no longer use.`,
    );
  }

  /** Errors: 400 for an invalid name or too many passkeys; 409 for a known credential or an answered challenge. */
  add(passkey: NewPasskey, challenge: PasskeyChallenge, by: Actor): Promise<Passkey> {
    checkDisplayText('name', passkey.name);
    return this.#changes.run(async () => {
      const { userId } = passkey;
      await this.checkCount(userId);
      const { created, operations } = this.createOperations(passkey, challenge, by);
      await this.#options.store.write([this.#users.expect(userId), ...operations]).catch((error: unknown) => {
        throw error instanceof ExpectationFailedError ? passkeyExistsError(error) : error;
      });
      return created;
    });
  }

  /** Operations to be written with a new user. The write fails for a known credential or an answered challenge. */
  createOperations(
    passkey: NewPasskey,
    challenge: PasskeyChallenge,
    by: Actor,
  ): { readonly created: Passkey; readonly operations: WriteOperation[] } {
    const { clock, random } = this.#options;
    const created: Passkey = {
      ...passkey,
      passkeyId: random.uuid(),
      credentialHash: hashToken(passkey.credentialId),
      createdAt: clock.now(),
      lastUsedAt: null,
    };
    const operations = [
      ...this.consumeChallenge(challenge),
      ...this.#records.create(created),
      this.#auditEntry('passkey.added', created, by),
    ];
    return { created, operations };
  }

  /** Errors: 400 for an invalid name; 404 if the user has no such passkey, even if another user has it. */
  rename(userId: string, passkeyId: string, name: string, by: Actor): Promise<Passkey> {
    checkDisplayText('name', name);
    return this.#changes.run(async () => {
      const before = this.#require(userId, passkeyId);
      const after = { ...before, name };
      const operations = this.#records.update(before, after);
      await this.#options.store
        .write([...operations, this.#auditEntry('passkey.renamed', after, by)])
        .catch((error: unknown) => {
          if (!(error instanceof ExpectationFailedError)) throw error;
          throw new AppError('conflict', 'The passkey was used at the same time. Repeat the request.', {
            cause: error,
            isRepeatable: true,
          });
        });
      return after;
    });
  }

  /** Errors: 404 if the user has no such passkey, even if another user has it. */
  delete(userId: string, passkeyId: string, by: Actor): Promise<void> {
    return this.#changes.run(() => this.#delete([this.#require(userId, passkeyId)], by));
  }

  /** Returns their number. */
  deleteAll(userId: string, by: Actor): Promise<number> {
    return this.#changes.run(async () => {
      const passkeys = await this.list(userId);
      if (passkeys.length > 0) await this.#delete(passkeys, by);
      return passkeys.length;
    });
  }

  /** Operations to be written with the end of all access to an account. */
  async deleteAllOperations(userId: string): Promise<WriteOperation[]> {
    return (await this.list(userId)).flatMap((passkey) => this.#records.delete(passkey));
  }

  /**
   * Operations to be written with a sign-in. The write fails if the passkey was deleted or used meanwhile.
   */
  useOperations(passkey: Passkey, use: Pick<Passkey, 'counter' | 'isSynced'>): WriteOperation[] {
    return this.#records.update(passkey, { ...passkey, ...use, lastUsedAt: this.#options.clock.now() });
  }

  #require(userId: string, passkeyId: string): Passkey {
    const passkey = this.#records.get(userId, passkeyId);
    if (passkey !== undefined) return passkey;
    throw new AppError('not_found', `The user has no passkey "${passkeyId}".`);
  }

  async #delete(passkeys: readonly Passkey[], by: Actor): Promise<void> {
    const operations = passkeys.flatMap((passkey) => [
      ...this.#records.delete(passkey),
      this.#auditEntry('passkey.deleted', passkey, by),
    ]);
    // Allowed on a full disk: a lost authenticator must be removable.
    await this.#options.store.write(operations, { mayUseReserve: true });
  }

  #auditEntry(action: string, { userId, passkeyId, name }: Passkey, by: Actor): WriteOperation {
    const details = { passkey_id: passkeyId, name };
    return this.#options.audit.entryOperation({
      ...by,
      organizationId: null,
      action,
      target: userId,
      details,
    });
  }
}

export function passkeyExistsError(cause: ExpectationFailedError): AppError {
  return new AppError('conflict', 'This passkey was already added.', { cause });
}

export function challengeExpiredError(): AppError {
  return new AppError(
    'bad_request',
    'The challenge is invalid, has expired or was already answered. Start again.',
  );
}
