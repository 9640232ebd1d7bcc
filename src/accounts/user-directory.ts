import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Role } from '../schemas/principal.ts';
import { Identities } from '../storage/identities.ts';
import type { Passkey } from '../storage/passkeys.ts';
import { SecondFactorRecords } from '../storage/second-factors.ts';
import type { Store } from '../storage/store.ts';
import type { User } from '../storage/users.ts';
import type { Memberships } from './memberships.ts';
import type { OrganizationDirectory } from './organization-directory.ts';
import type { Passkeys } from './passkeys.ts';
import type { Passwords } from './passwords.ts';
import type { SecondFactors } from './second-factors.ts';
import type { Sessions } from './sessions.ts';
import { operatorEmail, type UserAccounts } from './user-accounts.ts';

export interface UserDirectoryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly audit: AuditLog;
  readonly userAccounts: UserAccounts;
  readonly sessions: Sessions;
  readonly memberships: Memberships;
  readonly organizations: OrganizationDirectory;
  readonly secondFactors: SecondFactors;
  readonly passwords: Passwords;
  readonly passkeys: Passkeys;
}

/** User as shown to the administrator. */
export interface UserEntry {
  readonly user: User;
  /** Number of open sessions. */
  readonly sessions: number;
  readonly hasSecondFactor: boolean;
  /** Number of passkeys. */
  readonly passkeys: number;
  readonly memberships: readonly {
    readonly organizationId: string;
    readonly name: string;
    readonly role: Role;
  }[];
}

interface UserListOptions {
  readonly limit: number;
  readonly search: string | null;
}

interface UserPage {
  readonly entries: readonly UserEntry[];
  readonly next: string | null;
}

/** Lists users and ends their access, for the administrator and for users who delete their own account. */
export class UserDirectory {
  readonly #options: UserDirectoryOptions;
  readonly #identities: Identities;
  readonly #secondFactors: SecondFactorRecords;

  constructor(options: UserDirectoryOptions) {
    this.#options = options;
    this.#identities = new Identities(options.store);
    this.#secondFactors = new SecondFactorRecords(options.store);
  }

  /**
   * One page of all users in the order of their ids; with `search`, those whose address or name contains it.
   * `next`: id to continue after; null at the end. One call reads a bounded part of the list, so a search may
   * return fewer entries than `limit`.
   */
  async listAfter(userId: string | null, { limit, search }: UserListOptions): Promise<UserPage> {
    const readMax = search === null ? limit : limits.usersSearchedMax;
    const users = await this.#options.userAccounts.listAfter(userId, readMax);
    const text = search?.toLowerCase() ?? '';
    const found = users.filter((user) => search === null || matchesSearch(user, text)).slice(0, limit);
    const last = found.length === limit ? found.at(-1) : users.at(-1);
    const isEnd = users.length < readMax && last === users.at(-1);
    const entries: UserEntry[] = [];
    for (const user of found) entries.push(await this.#buildEntry(user));
    return { entries, next: isEnd ? null : (last?.userId ?? null) };
  }

  /** Returns null if no user has this address. */
  async findByEmail(email: string): Promise<UserEntry | null> {
    const user = this.#options.userAccounts.findByEmail(email);
    return user === undefined ? null : this.#buildEntry(user);
  }

  /** Ends all sessions of a user. Returns their number. Errors: 404 if there is no such user. */
  async endSessions(userId: string, by: Actor): Promise<number> {
    this.#requireUser(userId);
    return this.#options.sessions.revokeAll(userId, by);
  }

  /**
   * Ends the sessions of a user and rejects every sign-in until `enable`. Idempotent. Errors: 404 if there is
   * no such user.
   */
  disable(userId: string, by: Actor): Promise<void> {
    const { userAccounts, sessions, store, audit, clock } = this.#options;
    return userAccounts.deleteOrSetDisabled(
      userId,
      { disabledAt: clock.now() },
      async (_user, operations) => {
        const auditEvent = { ...by, organizationId: null, action: 'user.disabled', target: userId };
        const endOperations = await sessions.deleteAllOperations(userId, by);
        await store.write([...operations, ...endOperations, audit.entryOperation(auditEvent)], {
          mayUseReserve: true,
        });
      },
    );
  }

  /**
   * Disables the second factor of a user who has lost it. Idempotent. Errors: 404 if there is no such user.
   */
  async resetSecondFactor(userId: string, by: Actor): Promise<void> {
    this.#requireUser(userId);
    await this.#options.secondFactors.reset(userId, by);
  }

  /** Passkeys of a user, oldest first. Errors: 404 if there is no such user. */
  listPasskeys(userId: string): Promise<Passkey[]> {
    this.#requireUser(userId);
    return this.#options.passkeys.list(userId);
  }

  /**
   * Deletes one passkey of a user (null: all), so that a lost device cannot sign in. Errors: 404 if there is no such user
   * or passkey.
   */
  async deletePasskeys(userId: string, passkeyId: string | null, by: Actor): Promise<void> {
    const { passkeys } = this.#options;
    this.#requireUser(userId);
    if (passkeyId === null) await passkeys.deleteAll(userId, by);
    else await passkeys.delete(userId, passkeyId, by);
  }

  /**
   * Returns the token of a link with which a user can choose a new password. Errors: 404 if there is no such
   * user; 400 for the user of the operator.
   */
  async createPasswordLink(
    userId: string,
    by: Actor,
  ): Promise<{ readonly token: string; readonly expiresAt: number }> {
    const { passwords, store, audit } = this.#options;
    const user = this.#requireUser(userId);
    if (user.email === operatorEmail)
      throw new AppError('bad_request', 'The operator signs in with the link of "quarry login-link".');
    const auditEvent = { ...by, organizationId: null, action: 'password_link.created', target: userId };
    await store.write([audit.entryOperation(auditEvent)], { mayUseReserve: true });
    return passwords.issueLink(userId);
  }

  /** Idempotent. Errors: 404 if there is no such user. */
  enable(userId: string, by: Actor): Promise<void> {
    const { userAccounts, store, audit } = this.#options;
    return userAccounts.deleteOrSetDisabled(userId, { disabledAt: null }, async (_user, operations) => {
      const auditEvent = { ...by, organizationId: null, action: 'user.enabled', target: userId };
      await store.write([...operations, audit.entryOperation(auditEvent)], { mayUseReserve: true });
    });
  }

  /**
   * Deletes a user with profile, sessions, memberships, password, second factor, passkeys and links to identity
   * providers. API keys that the user created belong to their organizations and stay. Errors: 404 if there is no such user;
   * 409 while an organization would be left without an owner.
   */
  delete(userId: string, by: Actor): Promise<void> {
    const { userAccounts, sessions, memberships, store, audit } = this.#options;
    return userAccounts.deleteOrSetDisabled(userId, 'delete', async (_user, operations) => {
      const endOperations = [
        ...(await sessions.deleteAllOperations(userId, by)),
        ...(await this.#identities.deleteByUser(userId)),
        this.#secondFactors.delete(userId),
        ...this.#options.passwords.deleteOperations(userId),
        ...(await this.#options.passkeys.deleteAllOperations(userId)),
      ];
      const auditEvent = { ...by, organizationId: null, action: 'user.deleted', target: userId };
      await memberships.removeUser(userId, by, {
        lastOwnerError: (organizationIds) => this.#lastOwnerError(organizationIds, by.actor === userId),
        write: (membershipOperations) =>
          store.write(
            [...operations, ...endOperations, ...membershipOperations, audit.entryOperation(auditEvent)],
            { mayUseReserve: true },
          ),
      });
    });
  }

  #requireUser(userId: string): User {
    const user = this.#options.userAccounts.find(userId);
    if (user === undefined) throw new AppError('not_found', `The user "${userId}" does not exist.`);
    return user;
  }

  #lastOwnerError(organizationIds: readonly string[], isSelf: boolean): AppError {
    const names = organizationIds.map((id) => {
      const name = this.#options.organizations.find(id)?.name;
      return name === undefined ? id : `"${name}" (${id})`;
    });
    return new AppError(
      'conflict',
      `${isSelf ? 'You are' : 'The user is'} the last owner of ${names.join(', ')}. Make another member an owner, or delete the organization, first.`,
      { shouldRetry: false },
    );
  }

  async #buildEntry(user: User): Promise<UserEntry> {
    const { sessions, memberships, organizations, secondFactors, passkeys } = this.#options;
    const members = await memberships.listByUser(user.userId);
    return {
      user,
      sessions: (await sessions.list(user.userId)).length,
      hasSecondFactor: secondFactors.isEnabled(user.userId),
      passkeys: (await passkeys.list(user.userId)).length,
      memberships: members.flatMap(({ organizationId, role }) => {
        const found = organizations.find(organizationId);
        return found === undefined ? [] : [{ organizationId, name: found.name, role }];
      }),
    };
  }
}

/** `text` is lower case, as addresses are. */
function matchesSearch({ email, name }: User, text: string): boolean {
  return email.includes(text) || (name ?? '').toLowerCase().includes(text);
}
