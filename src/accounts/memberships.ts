import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import { type Role, roles } from '../schemas/principal.ts';
import { type Member, Members } from '../storage/members.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import { Users } from '../storage/users.ts';

export interface MembershipsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly audit: AuditLog;
}

/** Identifies a user in an organization. */
export type MembershipKey = Pick<Member, 'organizationId' | 'userId'>;

/**
 * Members of organizations and their roles. Changes run one after another, so that an organization keeps an
 * owner even if two owners remove each other concurrently. Reads see every change immediately.
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

  roleOf({ organizationId, userId }: MembershipKey): Role | null {
    return this.#records.get(organizationId, userId)?.role ?? null;
  }

  /** Members in the order in which they joined. */
  async listByOrganization(organizationId: string): Promise<Member[]> {
    const members = await this.#records.listByOrganization(organizationId);
    return members.sort((a, b) => a.joinedAt - b.joinedAt);
  }

  async listByUser(userId: string): Promise<Member[]> {
    const members = await this.#records.listByUser(userId);
    return members.sort((a, b) => a.joinedAt - b.joinedAt);
  }

  /** Operations that make the creator of an organization its owner, to be written with the organization. */
  ownerOperations(key: MembershipKey): WriteOperation[] {
    return this.#records.put({ ...key, role: 'OWNER', joinedAt: this.#options.clock.now() });
  }

  /** Operation that makes a write fail if the user was deleted meanwhile. */
  expectUserExists(userId: string): WriteOperation {
    return this.#users.expect(userId);
  }

  /** Operation that makes a write fail if the member's role is lower than `role` by then. */
  expectRoleAtLeast({ organizationId, userId }: MembershipKey, role: Role): WriteOperation {
    const isAtLeast = (known: Role) => roles.indexOf(known) <= roles.indexOf(role);
    return this.#records.expect(organizationId, userId, isAtLeast);
  }

  /** Operations that remove all members, to be written with the deletion of the organization. */
  async deleteAllOperations(organizationId: string): Promise<WriteOperation[]> {
    const members = await this.#records.listByOrganization(organizationId);
    return members.flatMap((member) => this.#records.delete(member));
  }

  /** Operations that make a new member, to be written with the creation of the user. */
  joinOperations(key: MembershipKey, role: Role, by: Actor): WriteOperation[] {
    const { clock } = this.#options;
    return [...this.#records.put({ ...key, role, joinedAt: clock.now() }), this.#joinedEntry(key, role, by)];
  }

  /** Makes a user a member; `extraOperations` are written with it. Existing members keep their role. */
  join(key: MembershipKey, { role, by, extraOperations }: JoinOptions): Promise<Role> {
    return this.#changes.run(async () => {
      const known = this.roleOf(key);
      const operations =
        known === null ? this.joinOperations(key, role, by) : [this.#joinedEntry(key, known, by)];
      await this.#options.store.write([...extraOperations, ...operations]);
      return known ?? role;
    });
  }

  /** Errors: 404 if there is no such member; 403 if no owner would remain. */
  changeRole(key: MembershipKey, role: Role, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const member = this.#requireMember(key);
      if (member.role === role) return;
      if (await this.#isLastOwner(member)) {
        throw new AppError(
          'forbidden',
          'An organization must have an owner. Make another member an owner first.',
        );
      }
      const { store, audit } = this.#options;
      await store.write(
        [
          ...this.#records.put({ ...member, role }),
          audit.entryOperation({
            ...by,
            organizationId: key.organizationId,
            action: 'member.permission_changed',
            target: key.userId,
            details: { from: member.role, to: role },
          }),
        ],
        { mayUseReserve: true },
      );
    });
  }

  /** Errors: 404 if there is no such member; 400 for the last owner. */
  remove(key: MembershipKey, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const member = this.#requireMember(key);
      if (await this.#isLastOwner(member)) {
        throw new AppError(
          'bad_request',
          'The last owner cannot be removed. Make another member an owner first, or delete the organization.',
        );
      }
      await this.#options.store.write(this.#removeOperations(member, by), { mayUseReserve: true });
    });
  }

  /**
   * Removes all memberships of a user in the write that `write` makes with the given operations. Errors: the
   * result of `lastOwnerError` for the organizations that would have no owner left.
   */
  removeUser(
    userId: string,
    by: Actor,
    {
      lastOwnerError,
      write,
    }: {
      readonly lastOwnerError: (organizationIds: readonly string[]) => AppError;
      readonly write: (operations: readonly WriteOperation[]) => Promise<void>;
    },
  ): Promise<void> {
    return this.#changes.run(async () => {
      const members = await this.#records.listByUser(userId);
      const owned: string[] = [];
      for (const member of members) {
        if (await this.#isLastOwner(member)) owned.push(member.organizationId);
      }
      if (owned.length > 0) throw lastOwnerError(owned);
      await write(members.flatMap((member) => this.#removeOperations(member, by)));
    });
  }

  #joinedEntry({ organizationId, userId }: MembershipKey, role: Role, by: Actor): WriteOperation {
    return this.#options.audit.entryOperation({
      ...by,
      organizationId,
      action: 'member.joined',
      target: userId,
      details: { permission: role },
    });
  }

  #removeOperations(member: Member, by: Actor): WriteOperation[] {
    const { organizationId, userId } = member;
    const action = by.actor === userId ? 'member.left' : 'member.removed';
    return [
      ...this.#records.delete(member),
      this.#options.audit.entryOperation({ ...by, organizationId, action, target: userId }),
    ];
  }

  #requireMember({ organizationId, userId }: MembershipKey): Member {
    const member = this.#records.get(organizationId, userId);
    if (member !== undefined) return member;
    throw new AppError('not_found', `The organization has no member "${userId}".`);
  }

  async #isLastOwner(member: Member): Promise<boolean> {
    if (member.role !== 'OWNER') return false;
    const members = await this.#records.listByOrganization(member.organizationId);
    return members.filter(({ role }) => role === 'OWNER').length === 1;
  }
}

interface JoinOptions {
  readonly role: Role;
  readonly by: Actor;
  readonly extraOperations: readonly WriteOperation[];
}
