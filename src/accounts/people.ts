import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Operation, Store } from '../store/store.ts';
import { type User, Users } from '../store/users.ts';

/** The lone operator's user. No mail reaches this address, so nobody else can prove to own it. */
export const operatorEmail = 'operator@localhost';

export interface PeopleOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly audit: AuditLog;
  /** Whether somebody who is new may become a user. */
  readonly mayJoin: (email: string) => Promise<boolean>;
}

/** What of a profile its owner may change; what is absent stays, null clears. */
export interface ProfileChanges {
  readonly name?: string | null | undefined;
  readonly avatarUrl?: string | null | undefined;
  readonly company?: string | null | undefined;
}

/** The people of this installation. Somebody is a user from the first sign-in on, which proves the address. */
export class People {
  readonly #options: PeopleOptions;
  readonly #records: Users;
  readonly #changes = new Mutex();

  constructor(options: PeopleOptions) {
    this.#options = options;
    this.#records = new Users(options.store);
  }

  find(userId: string): User | undefined {
    return this.#records.get(userId);
  }

  /** In the order asked. */
  findMany(userIds: readonly string[]): (User | undefined)[] {
    return this.#records.getMany(userIds);
  }

  byEmail(email: string): User | undefined {
    return this.#records.byEmail(email);
  }

  /**
   * Signs in a user, or whoever proved to own an address, as a new user where there is none. `alongside` gives what
   * must be written with it, and anything that the caller wants to have back; a refusal of it refuses the sign-in. 403
   * for somebody new where not everybody may be.
   */
  arrive<With>(
    who: { readonly email: string; readonly isOperator?: boolean } | { readonly userId: string },
    by: Omit<Actor, 'actor'>,
    alongside: (user: User) => { readonly operations: readonly Operation[]; readonly with: With },
  ): Promise<{ readonly user: User; readonly with: With }> {
    return this.#changes.run(async () => {
      const { store, clock, chance, audit, mayJoin } = this.#options;
      const now = clock.now();
      const known = 'email' in who ? this.#records.byEmail(who.email) : this.#records.get(who.userId);
      const email = known?.email ?? ('email' in who ? who.email : null);
      if (email === null) {
        throw new AppError('bad_request', 'This account was just deleted: start the sign-in again.');
      }
      if (known?.disabledAt !== undefined) throw disabled();
      if (known === undefined && !(await mayJoin(email))) throw notInvited();
      const user: User = known
        ? { ...known, lastLoginAt: now }
        : {
            userId: chance.uuid(),
            email,
            name: null,
            avatarUrl: null,
            company: null,
            createdAt: now,
            lastLoginAt: now,
          };
      const fact = { ...by, actor: user.userId, organizationId: null, target: user.email };
      const beside = alongside(user);
      await store.write(
        [
          ...beside.operations,
          ...(known ? this.#records.update(user) : this.#records.create(user)),
          ...(known ? [] : [audit.entry({ ...fact, action: 'user.created' })]),
          audit.entry({ ...fact, action: 'user.login' }),
        ],
        // Also on a full disk: people who belong here must get in to make room. Strangers must not fill the reserve.
        { mayUseReserve: known !== undefined || ('email' in who && who.isOperator === true) },
      );
      return { user, with: beside.with };
    });
  }

  /** Part of the list of all, in the order of their ids. */
  after(userId: string | null, limit: number): Promise<User[]> {
    return this.#records.after(userId, limit);
  }

  /**
   * Deletes a user, or keeps them out from `disabledAt` on (null: no longer), together with what `write` adds to the
   * operations that it is given. 404 when there is no such user.
   */
  end(
    userId: string,
    how: 'delete' | { readonly disabledAt: number | null },
    write: (user: User, operations: readonly Operation[]) => Promise<void>,
  ): Promise<void> {
    return this.#changes.run(async () => {
      const user = this.find(userId);
      if (user === undefined) throw new AppError('not_found', `There is no user "${userId}".`);
      if (how === 'delete') return write(user, this.#records.delete(user));
      const { disabledAt: _before, ...kept } = user;
      const after = how.disabledAt === null ? kept : { ...kept, disabledAt: how.disabledAt };
      return write(user, this.#records.update(after));
    });
  }

  /** Errors: 400 nothing given, or no good name or address; 404 when the user is gone. */
  edit(userId: string, changes: ProfileChanges, by: Omit<Actor, 'actor'>): Promise<User> {
    const given = Object.entries(changes).filter(([, value]) => value !== undefined);
    if (given.length === 0) {
      throw new AppError('bad_request', 'Nothing to change is given: send name, avatar_url or company.');
    }
    if (typeof changes.name === 'string') checkText('name', changes.name);
    if (typeof changes.company === 'string') checkText('company', changes.company);
    if (typeof changes.avatarUrl === 'string') checkAvatar(changes.avatarUrl);
    return this.#changes.run(async () => {
      const { store, audit } = this.#options;
      const before = this.find(userId);
      if (before === undefined) throw noUser();
      const after: User = { ...before, ...Object.fromEntries(given) };
      assert(after.email === before.email, 'an address is never edited');
      await store.write([
        ...this.#records.update(after),
        audit.entry({
          ...by,
          actor: userId,
          organizationId: null,
          action: 'user.updated',
          target: userId,
          details: { fields: given.map(([field]) => field).join(', ') },
        }),
      ]);
      return after;
    });
  }
}

const noLine = /[\p{Cc}\p{Surrogate}\u2028\u2029]/u;
/**
 * Signs that nobody sees, or that turn the direction of what stands around a name: with them it would look like another,
 * or lie in a mail. Those that letters and emojis are joined with may be there.
 */
const unseen = /(?!\u200c|\u200d|[\u180b-\u180f\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/u;

/** A name for people: one line of 1 to 255 characters. Errors: 400 that names the field. */
export function checkText(field: string, text: string): void {
  const length = [...text].length;
  const isFine =
    length >= 1 &&
    length <= limits.personTextMax &&
    /[^\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text) &&
    !noLine.test(text) &&
    !unseen.test(text);
  if (isFine) return;
  throw new AppError(
    'bad_request',
    `${field} must be one line of 1 to ${limits.personTextMax} characters that can be seen, not only blanks.`,
  );
}

/** A signed-in user was deleted meanwhile. */
export function noUser(): AppError {
  return new AppError('not_found', 'Your user does not exist any more.');
}

function disabled(): AppError {
  return new AppError(
    'forbidden',
    'This account is disabled. The administrator of this server can enable it again.',
    { shouldRetry: false },
  );
}

function notInvited(): AppError {
  return new AppError(
    'forbidden',
    'Only people who are invited get in here: ask a member of your organisation to invite this address.',
  );
}

function checkAvatar(address: string): void {
  // What a URL parser takes away in silence must not be kept and shown.
  const url = /^[\x21-\x7e]+$/.test(address) && URL.canParse(address) ? new URL(address) : null;
  if (url?.protocol === 'https:' && address.length <= limits.avatarUrlUnitsMax && url.username === '') return;
  throw new AppError('bad_request', 'avatar_url must be an https:// address of at most 2,048 characters.');
}
