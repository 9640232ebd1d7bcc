import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import { type User, Users } from '../storage/users.ts';

/** Address of the operator's user. Receives no mail, so no other person can prove ownership of it. */
export const operatorEmail = 'operator@localhost';

export interface UserAccountsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly audit: AuditLog;
  /** Returns whether a new user with this address may sign up. */
  readonly canSignUp: (email: string) => Promise<boolean>;
  /**
   * Operations that remove the password, second factor, passkeys and sessions of an account whose address was not
   * verified. Written with the first sign-in that verifies it, because another person may have created them.
   */
  readonly endUnverifiedAccess: (user: User) => Promise<readonly WriteOperation[]>;
}

/** New account; `isEmailVerified`: whether the user has proven ownership of the address. */
export interface NewUser {
  readonly email: string;
  readonly name: string | null;
  readonly isEmailVerified: boolean;
}

interface PreparedSignIn<Result> {
  readonly operations: readonly WriteOperation[];
  readonly result: Result;
}

/** `isClaimed`: this sign-in verifies the address of an account that was created without verification. */
type PrepareSignIn<Result> = (user: User, state: { readonly isClaimed: boolean }) => PreparedSignIn<Result>;

/** Profile fields that the user may change. Absent fields stay unchanged; null clears. */
export interface ProfileChanges {
  readonly name?: string | null | undefined;
  readonly avatarUrl?: string | null | undefined;
  readonly company?: string | null | undefined;
}

/** Users of this installation. A user is created by the first sign-in, which verifies the address, or with an invitation. */
export class UserAccounts {
  readonly #options: UserAccountsOptions;
  readonly #records: Users;
  readonly #changes = new Mutex();

  constructor(options: UserAccountsOptions) {
    this.#options = options;
    this.#records = new Users(options.store);
  }

  find(userId: string): User | undefined {
    return this.#records.get(userId);
  }

  /** In the order of `userIds`. */
  findMany(userIds: readonly string[]): (User | undefined)[] {
    return this.#records.getMany(userIds);
  }

  findByEmail(email: string): User | undefined {
    return this.#records.findByEmail(email);
  }

  /**
   * Signs in a user, or the owner of a verified address, who becomes a new user if necessary. `prepare` returns
   * operations to be written with the sign-in and a result for the caller; if it throws, the sign-in fails.
   * Errors: 403 for a disabled user, and for a new user where sign-up is restricted.
   */
  signIn<Result>(
    identity: { readonly email: string; readonly isOperator?: boolean } | { readonly userId: string },
    by: Omit<Actor, 'actor'>,
    prepare: PrepareSignIn<Result>,
  ): Promise<{ readonly user: User; readonly result: Result }> {
    return this.#changes.run(async () => {
      const { store, clock, audit, canSignUp, endUnverifiedAccess } = this.#options;
      const known =
        'email' in identity ? this.#records.findByEmail(identity.email) : this.#records.get(identity.userId);
      const email = known?.email ?? ('email' in identity ? identity.email : null);
      if (email === null) {
        throw new AppError('bad_request', 'This account has just been deleted. Start the sign-in again.');
      }
      if (known?.disabledAt !== undefined) throw accountDisabledError();
      if (known === undefined && !(await canSignUp(email))) throw signUpNotAllowedError();
      const isClaimed = known?.isEmailUnverified === true && 'email' in identity;
      const before = isClaimed ? withVerifiedEmail(known) : (known ?? this.#newUser(email, null));
      const user: User = { ...before, lastLoginAt: clock.now() };
      const auditEvent = { ...by, actor: user.userId, organizationId: null, target: user.email };
      const prepared = prepare(user, { isClaimed });
      await store.write(
        [
          ...(isClaimed ? await endUnverifiedAccess(user) : []),
          ...prepared.operations,
          ...(known ? this.#records.update(user) : this.#records.create(user)),
          ...(isClaimed ? [audit.entryOperation({ ...auditEvent, action: 'user.email_verified' })] : []),
          ...(known ? [] : [audit.entryOperation({ ...auditEvent, action: 'user.created' })]),
          audit.entryOperation({ ...auditEvent, action: 'user.login' }),
        ],
        // Existing users may sign in on a full disk in order to free space. New users must not fill the
        // reserve.
        { mayUseReserve: known !== undefined || ('email' in identity && identity.isOperator === true) },
      );
      return { user, result: prepared.result };
    });
  }

  /**
   * Creates a user and signs the user in. Errors: 403 where sign-up is restricted; 409 if the address has an
   * account.
   */
  signUp<Result>(
    { email, name, isEmailVerified }: NewUser,
    by: Omit<Actor, 'actor'>,
    prepare: (user: User) => PreparedSignIn<Result>,
  ): Promise<{ readonly user: User; readonly result: Result }> {
    return this.#changes.run(async () => {
      const { store, audit, canSignUp } = this.#options;
      if (this.#records.findByEmail(email) !== undefined) throw accountExistsError(email);
      if (!(await canSignUp(email))) throw signUpNotAllowedError();
      const proof = isEmailVerified ? {} : ({ isEmailUnverified: true } as const);
      const user: User = { ...this.#newUser(email, name), ...proof };
      const auditEvent = { ...by, actor: user.userId, organizationId: null, target: email };
      const prepared = prepare(user);
      await store.write([
        ...prepared.operations,
        ...this.#records.create(user),
        audit.entryOperation({ ...auditEvent, action: 'user.created' }),
        audit.entryOperation({ ...auditEvent, action: 'user.login' }),
      ]);
      return { user, result: prepared.result };
    });
  }

  #newUser(email: string, name: string | null): User {
    const { clock, random } = this.#options;
    const now = clock.now();
    return {
      userId: random.uuid(),
      email,
      name,
      avatarUrl: null,
      company: null,
      createdAt: now,
      lastLoginAt: now,
    };
  }

  /** One page of all users in the order of their ids. */
  listAfter(userId: string | null, limit: number): Promise<User[]> {
    return this.#records.listAfter(userId, limit);
  }

  /**
   * Deletes a user, or disables it at `disabledAt` (null: enables it). `write` writes the given operations
   * together with its own. Errors: 404 if there is no such user.
   */
  deleteOrSetDisabled(
    userId: string,
    change: 'delete' | { readonly disabledAt: number | null },
    write: (user: User, operations: readonly WriteOperation[]) => Promise<void>,
  ): Promise<void> {
    return this.#changes.run(async () => {
      const user = this.find(userId);
      if (user === undefined) throw new AppError('not_found', `The user "${userId}" does not exist.`);
      if (change === 'delete') return write(user, this.#records.delete(user));
      const { disabledAt: _before, ...enabledUser } = user;
      const updated =
        change.disabledAt === null ? enabledUser : { ...enabledUser, disabledAt: change.disabledAt };
      return write(user, this.#records.update(updated));
    });
  }

  /** Errors: 400 for no changes or an invalid name or avatar URL; 404 if the user was deleted. */
  updateProfile(userId: string, changes: ProfileChanges, by: Omit<Actor, 'actor'>): Promise<User> {
    const changedFields = Object.entries(changes).filter(([, value]) => value !== undefined);
    if (changedFields.length === 0) {
      throw new AppError('bad_request', 'The request has no changes: send name, avatar_url or company.');
    }
    if (typeof changes.name === 'string') checkDisplayText('name', changes.name);
    if (typeof changes.company === 'string') checkDisplayText('company', changes.company);
    if (typeof changes.avatarUrl === 'string') checkAvatarUrl(changes.avatarUrl);
    return this.#changes.run(async () => {
      const { store, audit } = this.#options;
      const before = this.find(userId);
      if (before === undefined) throw userNotFoundError();
      const after: User = { ...before, ...Object.fromEntries(changedFields) };
      assert(after.email === before.email, 'the email address of a user does not change');
      await store.write([
        ...this.#records.update(after),
        audit.entryOperation({
          ...by,
          actor: userId,
          organizationId: null,
          action: 'user.updated',
          target: userId,
          details: { fields: changedFields.map(([field]) => field).join(', ') },
        }),
      ]);
      return after;
    });
  }
}

const controlOrLineBreakPattern = /[\p{Cc}\p{Surrogate}\u2028\u2029]/u;
/**
 * Invisible characters and characters that change the text direction, which could make a name look like
 * another or distort a mail. Joiners of letters and emojis are allowed.
 */
const invisiblePattern = /(?!\u200c|\u200d|[\u180b-\u180f\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/u;

export function accountExistsError(email: string): AppError {
  return new AppError(
    'conflict',
    `${email} already has an account. Sign in, then open the invitation again.`,
    { shouldRetry: false },
  );
}

function withVerifiedEmail({ isEmailUnverified: _, ...user }: User): User {
  return user;
}

/** Validates a display name: one line of 1 to 255 characters. Errors: 400 that names the field. */
export function checkDisplayText(field: string, text: string): void {
  const length = [...text].length;
  const isValid =
    length >= 1 &&
    length <= limits.profileTextUnitsMax &&
    /[^\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text) &&
    !controlOrLineBreakPattern.test(text) &&
    !invisiblePattern.test(text);
  if (isValid) return;
  throw new AppError(
    'bad_request',
    `${field} must be a single line of 1 to ${limits.profileTextUnitsMax} characters with at least one visible character.`,
  );
}

/** Error for a signed-in user who was deleted meanwhile. */
export function userNotFoundError(): AppError {
  return new AppError('not_found', 'Your user account no longer exists.');
}

function accountDisabledError(): AppError {
  return new AppError(
    'forbidden',
    'This account is disabled. Ask the administrator of this server to enable it.',
    { shouldRetry: false },
  );
}

function signUpNotAllowedError(): AppError {
  return new AppError(
    'forbidden',
    'This server accepts invited users only. Ask a member of your organization to invite this address.',
  );
}

function checkAvatarUrl(address: string): void {
  // URL parsers silently drop some characters, which must not be stored and displayed.
  const url = /^[\x21-\x7e]+$/.test(address) && URL.canParse(address) ? new URL(address) : null;
  if (url?.protocol === 'https:' && address.length <= limits.avatarUrlUnitsMax && url.username === '') return;
  throw new AppError(
    'bad_request',
    'avatar_url must be an https:// URL of at most 2,048 ASCII characters, without a user name.',
  );
}
