import type { Role } from '../schemas/principal.ts';
import { tables, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/** A person's place in one organisation. */
export interface Member {
  readonly organizationId: string;
  readonly userId: string;
  readonly role: Role;
  /** Milliseconds since the epoch. */
  readonly joinedAt: number;
}

const members = new Table<readonly [organizationId: string, userId: string], Member>(tables.members, [
  uuid,
  uuid,
]);
const memberships = new Table<readonly [userId: string, organizationId: string], Uint8Array>(
  tables.memberships,
  [uuid, uuid],
  bytesCodec,
);
const nothing = new Uint8Array(0);

/** Who belongs to which organisation, from both ends. */
export class Members {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(organizationId: string, userId: string): Member | undefined {
    return members.get(this.#store, [organizationId, userId]);
  }

  async ofOrganisation(organizationId: string): Promise<Member[]> {
    const found: Member[] = [];
    for await (const { value } of members.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  /** In the order of the organisations' ids. */
  async ofUser(userId: string): Promise<Member[]> {
    const places: (readonly [string, string])[] = [];
    for await (const { key } of memberships.range(this.#store, [userId])) places.push([key[1], key[0]]);
    return members.getMany(this.#store, places).filter((member) => member !== undefined);
  }

  /** Refuses the write unless somebody is a member by then, and as what `holds` wants. */
  expect(organizationId: string, userId: string, holds: (role: Role) => boolean): Operation {
    const isSo = (known: Member | undefined) => known !== undefined && holds(known.role);
    return members.expect([organizationId, userId], isSo, 'the member may still do so');
  }

  put(member: Member): Operation[] {
    const { organizationId, userId } = member;
    return [
      members.put([organizationId, userId], member),
      memberships.put([userId, organizationId], nothing),
    ];
  }

  delete({ organizationId, userId }: Member): Operation[] {
    return [members.delete([organizationId, userId]), memberships.delete([userId, organizationId])];
  }
}
