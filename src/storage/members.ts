import type { Role } from '../schemas/principal.ts';
import { tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/** Membership of a user in an organization. */
export interface Member {
  readonly organizationId: string;
  readonly userId: string;
  readonly role: Role;
  /** Milliseconds since the epoch. */
  readonly joinedAt: number;
}

const membersTable = new Table<readonly [organizationId: string, userId: string], Member>(tables.members, [
  uuid,
  uuid,
]);
const membershipsTable = new Table<readonly [userId: string, organizationId: string], Uint8Array>(
  tables.memberships,
  [uuid, uuid],
  bytesCodec,
);
const emptyBytes = new Uint8Array(0);

/** Members by organization and by user. */
export class Members {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(organizationId: string, userId: string): Member | undefined {
    return membersTable.get(this.#store, [organizationId, userId]);
  }

  async listByOrganization(organizationId: string): Promise<Member[]> {
    const found: Member[] = [];
    for await (const { value } of membersTable.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  /** Ordered by organization id. */
  async listByUser(userId: string): Promise<Member[]> {
    const keys: (readonly [string, string])[] = [];
    for await (const { key } of membershipsTable.range(this.#store, [userId])) keys.push([key[1], key[0]]);
    return membersTable.getMany(this.#store, keys).filter((member) => member !== undefined);
  }

  /** Rejects the write unless the user is a member with a role accepted by `holds` when the write is applied. */
  expect(organizationId: string, userId: string, holds: (role: Role) => boolean): WriteOperation {
    const isAllowed = (known: Member | undefined) => known !== undefined && holds(known.role);
    return membersTable.expect([organizationId, userId], isAllowed, 'the member has the required role');
  }

  put(member: Member): WriteOperation[] {
    const { organizationId, userId } = member;
    return [
      membersTable.put([organizationId, userId], member),
      membershipsTable.put([userId, organizationId], emptyBytes),
    ];
  }

  delete({ organizationId, userId }: Member): WriteOperation[] {
    return [membersTable.delete([organizationId, userId]), membershipsTable.delete([userId, organizationId])];
  }
}
