import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { Mutex } from '../core/async/mutex.ts';
import { type Role, roles } from '../schemas/principal.ts';
import { type Member, Members } from '../store/members.ts';
import type { Operation, Store } from '../store/store.ts';
import { Users } from '../store/users.ts';

export interface MembershipsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly audit: AuditLog;
}

/** Which person and which organisation. */
export interface Place {
  readonly organizationId: string;
  readonly userId: string;
}

/**
 * Who belongs to which organisation, and as what. Changes come one after another, so that an organisation keeps an owner
 * even when two of them remove each other at the same time. Reads see every change at once.
 */
export class Memberships {
  readonly #options: MembershipsOptions;
  readonly #records: Members;
  readonly #changes = new Mutex();
  readonly #users: Users;

  constructor(options: MembershipsOptions) {
    this.#options = options;
    this.#records = new Members(options.store);
    this.#users = new Users(options.store);
  }

  roleOf({ organizationId, userId }: Place): Role | null {
    return this.#records.get(organizationId, userId)?.role ?? null;
  }

  /** Members in the order in which they joined. */
  async ofOrganisation(organizationId: string): Promise<Member[]> {
    const members = await this.#records.ofOrganisation(organizationId);
    return members.sort((a, b) => a.joinedAt - b.joinedAt);
  }

  async ofUser(userId: string): Promise<Member[]> {
    const members = await this.#records.ofUser(userId);
    return members.sort((a, b) => a.joinedAt - b.joinedAt);
  }

  /** To be written with the organisation that somebody creates. */
  founder(place: Place): Operation[] {
    return this.#records.put({ ...place, role: 'OWNER', joinedAt: this.#options.clock.now() });
  }

  /** Joins a write that is refused when the user was deleted by then. */
  userExists(userId: string): Operation {
    return this.#users.expect(userId);
  }

  /** Joins a write that is refused when this member may do less than `role` by then. */
  stillAtLeast({ organizationId, userId }: Place, role: Role): Operation {
    const holds = (known: Role) => roles.indexOf(known) <= roles.indexOf(role);
    return this.#records.expect(organizationId, userId, holds);
  }

  /** To be written with the end of the organisation: nobody belongs to it any more. */
  async endAll(organizationId: string): Promise<Operation[]> {
    const members = await this.#records.ofOrganisation(organizationId);
    return members.flatMap((member) => this.#records.delete(member));
  }

  /** Makes somebody a member; `alongside` is written with it. Who is one already stays what they are. */
  join(place: Place, { role, by, alongside }: Joining): Promise<Role> {
    return this.#changes.run(async () => {
      const { store, clock, audit } = this.#options;
      const known = this.roleOf(place);
      const joined = known ?? role;
      await store.write([
        ...alongside,
        ...(known === null ? this.#records.put({ ...place, role, joinedAt: clock.now() }) : []),
        audit.entry({
          ...by,
          organizationId: place.organizationId,
          action: 'member.joined',
          target: place.userId,
          details: { permission: joined },
        }),
      ]);
      return joined;
    });
  }

  /** Errors: 404 no such member; 403 when the last owner would be none. */
  change(place: Place, role: Role, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const member = this.#get(place);
      if (member.role === role) return;
      if (await this.#isLastOwner(member)) {
        throw new AppError(
          'forbidden',
          'The last owner must stay an owner: make somebody else an owner first.',
        );
      }
      const { store, audit } = this.#options;
      await store.write(
        [
          ...this.#records.put({ ...member, role }),
          audit.entry({
            ...by,
            organizationId: place.organizationId,
            action: 'member.permission_changed',
            target: place.userId,
            details: { from: member.role, to: role },
          }),
        ],
        { mayUseReserve: true },
      );
    });
  }

  /** Errors: 404 no such member; 400 for the last owner. */
  remove(place: Place, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const member = this.#get(place);
      if (await this.#isLastOwner(member)) {
        throw new AppError(
          'bad_request',
          'The last owner cannot be removed: make somebody else an owner first, or delete the organisation.',
        );
      }
      await this.#options.store.write(this.#end(member, by), { mayUseReserve: true });
    });
  }

  /**
   * Ends all memberships of a user in the write that `write` makes of the operations. Errors: what `lastOwner` makes of
   * the organizations that would be left without an owner.
   */
  leaveAll(
    userId: string,
    by: Actor,
    {
      lastOwner,
      write,
    }: {
      readonly lastOwner: (organizationIds: readonly string[]) => AppError;
      readonly write: (operations: readonly Operation[]) => Promise<void>;
    },
  ): Promise<void> {
    return this.#changes.run(async () => {
      const members = await this.#records.ofUser(userId);
      const owned: string[] = [];
      for (const member of members) {
        if (await this.#isLastOwner(member)) owned.push(member.organizationId);
      }
      if (owned.length > 0) throw lastOwner(owned);
      await write(members.flatMap((member) => this.#end(member, by)));
    });
  }

  #end(member: Member, by: Actor): Operation[] {
    const { organizationId, userId } = member;
    const action = by.actor === userId ? 'member.left' : 'member.removed';
    return [
      ...this.#records.delete(member),
      this.#options.audit.entry({ ...by, organizationId, action, target: userId }),
    ];
  }

  #get({ organizationId, userId }: Place): Member {
    const member = this.#records.get(organizationId, userId);
    if (member !== undefined) return member;
    throw new AppError('not_found', `The organisation has no member "${userId}".`);
  }

  async #isLastOwner(member: Member): Promise<boolean> {
    if (member.role !== 'OWNER') return false;
    const members = await this.#records.ofOrganisation(member.organizationId);
    return members.filter(({ role }) => role === 'OWNER').length === 1;
  }
}

interface Joining {
  readonly role: Role;
  readonly by: Actor;
  readonly alongside: readonly Operation[];
}
