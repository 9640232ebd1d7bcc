import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Role } from '../schemas/principal.ts';
import { Identities } from '../store/identities.ts';
import { SecondFactorRecords } from '../store/second-factors.ts';
import type { Store } from '../store/store.ts';
import type { User } from '../store/users.ts';
import type { Memberships } from './memberships.ts';
import type { OrganisationDirectory } from './organisation-directory.ts';
import type { People } from './people.ts';
import type { SecondFactors } from './second-factors.ts';
import type { Sessions } from './sessions.ts';

export interface UserDirectoryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly audit: AuditLog;
  readonly people: People;
  readonly sessions: Sessions;
  readonly memberships: Memberships;
  readonly organisations: OrganisationDirectory;
  readonly secondFactors: SecondFactors;
}

/** A user with what the administrator sees of them. */
export interface UserEntry {
  readonly user: User;
  /** Sessions that are open now. */
  readonly sessions: number;
  readonly hasSecondFactor: boolean;
  readonly memberships: readonly {
    readonly organizationId: string;
    readonly name: string;
    readonly role: Role;
  }[];
}

interface WantedUsers {
  readonly limit: number;
  readonly search: string | null;
}

interface UserPage {
  readonly entries: readonly UserEntry[];
  readonly next: string | null;
}

/** All users of the installation, and the end of their access: for the administrator, and for a user's own end. */
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
   * Part of the list of all, in the order of their ids; with `search` those whose address or name contains it. `next`:
   * what to continue behind, null for nothing. One call reads a bounded part of the list, so a search may find fewer.
   */
  async after(userId: string | null, { limit, search }: WantedUsers): Promise<UserPage> {
    const readMax = search === null ? limit : limits.usersSearchedMax;
    const users = await this.#options.people.after(userId, readMax);
    const text = search?.toLowerCase() ?? '';
    const found = users.filter((user) => search === null || contains(user, text)).slice(0, limit);
    const last = found.length === limit ? found.at(-1) : users.at(-1);
    const isEnd = users.length < readMax && last === users.at(-1);
    const entries: UserEntry[] = [];
    for (const user of found) entries.push(await this.#entry(user));
    return { entries, next: isEnd ? null : (last?.userId ?? null) };
  }

  /** Null when no user has this address. */
  async byEmail(email: string): Promise<UserEntry | null> {
    const user = this.#options.people.byEmail(email);
    return user === undefined ? null : this.#entry(user);
  }

  /** Ends all sessions of a user at once. 404 when there is no such user. */
  async endSessions(userId: string, by: Actor): Promise<number> {
    const { people, sessions } = this.#options;
    if (people.find(userId) === undefined) throw new AppError('not_found', `There is no user "${userId}".`);
    return sessions.revokeAll(userId, by);
  }

  /** Ends the sessions of a user and refuses every sign-in until `enable`. Idempotent. 404 when there is no such user. */
  disable(userId: string, by: Actor): Promise<void> {
    const { people, sessions, store, audit, clock } = this.#options;
    return people.end(userId, { disabledAt: clock.now() }, async (_user, operations) => {
      const fact = { ...by, organizationId: null, action: 'user.disabled', target: userId };
      const ends = await sessions.endAll(userId, by);
      await store.write([...operations, ...ends, audit.entry(fact)], { mayUseReserve: true });
    });
  }

  /** Turns the second factor of a user off, who has lost it. Idempotent. 404 when there is no such user. */
  async resetSecondFactor(userId: string, by: Actor): Promise<void> {
    const { people, secondFactors } = this.#options;
    if (people.find(userId) === undefined) throw new AppError('not_found', `There is no user "${userId}".`);
    await secondFactors.reset(userId, by);
  }

  /** Idempotent. 404 when there is no such user. */
  enable(userId: string, by: Actor): Promise<void> {
    const { people, store, audit } = this.#options;
    return people.end(userId, { disabledAt: null }, async (_user, operations) => {
      const fact = { ...by, organizationId: null, action: 'user.enabled', target: userId };
      await store.write([...operations, audit.entry(fact)], { mayUseReserve: true });
    });
  }

  /**
   * Deletes a user with their profile, sessions, memberships and links to identity providers. API keys that they created
   * belong to their organizations and stay. Errors: 404 when there is no such user, 409 while an organization would be
   * left without an owner.
   */
  delete(userId: string, by: Actor): Promise<void> {
    const { people, sessions, memberships, store, audit } = this.#options;
    return people.end(userId, 'delete', async (_user, operations) => {
      const ends = [
        ...(await sessions.endAll(userId, by)),
        ...(await this.#identities.unlink(userId)),
        this.#secondFactors.delete(userId),
      ];
      const fact = { ...by, organizationId: null, action: 'user.deleted', target: userId };
      await memberships.leaveAll(userId, by, {
        lastOwner: (organizationIds) => this.#lastOwner(organizationIds, by.actor === userId),
        write: (departures) =>
          store.write([...operations, ...ends, ...departures, audit.entry(fact)], { mayUseReserve: true }),
      });
    });
  }

  #lastOwner(organizationIds: readonly string[], isSelf: boolean): AppError {
    const names = organizationIds.map((id) => {
      const name = this.#options.organisations.find(id)?.name;
      return name === undefined ? id : `"${name}" (${id})`;
    });
    return new AppError(
      'conflict',
      `${isSelf ? 'You are' : 'The user is'} the last owner of ${names.join(', ')}: make another member an owner, or delete the organization first.`,
      { shouldRetry: false },
    );
  }

  async #entry(user: User): Promise<UserEntry> {
    const { sessions, memberships, organisations, secondFactors } = this.#options;
    const members = await memberships.ofUser(user.userId);
    return {
      user,
      sessions: (await sessions.list(user.userId)).length,
      hasSecondFactor: secondFactors.isOn(user.userId),
      memberships: members.flatMap(({ organizationId, role }) => {
        const found = organisations.find(organizationId);
        return found === undefined ? [] : [{ organizationId, name: found.name, role }];
      }),
    };
  }
}

/** `text` in lower case, as addresses are. */
function contains({ email, name }: User, text: string): boolean {
  return email.includes(text) || (name ?? '').toLowerCase().includes(text);
}
