import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';
import { type PasswordRecord, PasswordRecords } from '../storage/passwords.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import { hashPassword, verifyPassword } from './password.ts';

export interface PasswordsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly audit: AuditLog;
  /** Seals the links with which users choose a new password. */
  readonly sealer: Sealer;
}

/** Permission to choose a new password, contained in a link. */
interface PasswordLink {
  readonly userId: string;
  /** Time of the last change of the password when the link was created: a change invalidates the link. */
  readonly changedAt: number | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const sealingContext = 'password link';

/**
 * Verified in place of a missing password, so that a reply takes the same time for every address. The hash of
 * random bytes.
 */
const noPasswordHash =
  '$argon2id$v=19$m=19456,t=2,p=1$6GWeAz+jyLR3dZyg3KuXSg$MLTH5cBbitxSHeRSCNEUeTiEzGdJ3B+QdBlHy5TIE/4';

/** Passwords of users. */
export class Passwords {
  readonly #options: PasswordsOptions;
  readonly #records: PasswordRecords;
  readonly #changes = new Mutex();

  constructor(options: PasswordsOptions) {
    this.#options = options;
    this.#records = new PasswordRecords(options.store);
  }

  has(userId: string): boolean {
    return this.#records.get(userId) !== undefined;
  }

  /** Returns whether the password is that of the user; takes the same time for a user without one, and for null. */
  async verify(userId: string | null, password: string): Promise<boolean> {
    const record = userId === null ? undefined : this.#records.get(userId);
    const isCorrect = await verifyPassword(password, record?.hash ?? noPasswordHash);
    return isCorrect && record !== undefined;
  }

  /** Returns the record of a new password. */
  async hash(password: string): Promise<PasswordRecord> {
    return { hash: await hashPassword(password), changedAt: this.#options.clock.now() };
  }

  /** Operations to be written with a new user. */
  createOperations(userId: string, password: PasswordRecord): WriteOperation[] {
    return [this.#records.put(userId, password)];
  }

  /** Operations to be written with the deletion of the user. */
  deleteOperations(userId: string): WriteOperation[] {
    return [this.#records.delete(userId)];
  }

  /**
   * Replaces the password, or sets the first one. `prepare` runs before, serialized with other changes: it
   * throws to reject the change, or returns further operations.
   */
  change(
    userId: string,
    password: string,
    by: Actor,
    prepare: () => Promise<readonly WriteOperation[]>,
  ): Promise<void> {
    return this.#changes.run(async () => {
      const { store, audit } = this.#options;
      const operations = [...(await prepare()), this.#records.put(userId, await this.hash(password))];
      const entry = { ...by, organizationId: null, action: 'password.changed', target: userId };
      await store.write([...operations, audit.entryOperation(entry)], { mayUseReserve: true });
    });
  }

  /** Returns the token of a link with which the user can choose a new password. */
  issueLink(userId: string): { readonly token: string; readonly expiresAt: number } {
    const expiresAt = this.#options.clock.now() + limits.passwordLinkMsMax;
    const changedAt = this.#records.get(userId)?.changedAt ?? null;
    const link: PasswordLink = { userId, changedAt, expiresAt };
    return { token: sealToText(this.#options.sealer, link, sealingContext), expiresAt };
  }

  /** Returns the user of a link. Errors: 400 with the same message for every invalid link. */
  openLink(token: string): string {
    const link = openSealedText<PasswordLink>(this.#options.sealer, token, sealingContext);
    const isValid =
      link !== null &&
      link.expiresAt > this.#options.clock.now() &&
      link.changedAt === (this.#records.get(link.userId)?.changedAt ?? null);
    if (isValid) return link.userId;
    throw new AppError(
      'bad_request',
      'This link is invalid, has expired or was already used. Ask the administrator for a new one.',
    );
  }
}
