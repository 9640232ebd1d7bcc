import type { Role } from '../schemas/principal.ts';
import { tables, text, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { bytesCodec, Table } from './table.ts';

export interface Invitation {
  readonly invitationId: string;
  readonly organizationId: string;
  /** Normalized. */
  readonly email: string;
  readonly role: Role;
  /** User id of the inviter. */
  readonly invitedBy: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Whether only the owner of the address received the code, by mail. */
  readonly isMailed?: true;
}

const invitationsTable = new Table<readonly [organizationId: string, email: string], Invitation>(
  tables.invitations,
  [uuid, text],
);
const emailTable = new Table<readonly [email: string, organizationId: string], Uint8Array>(
  tables.invitationEmail,
  [text, uuid],
  bytesCodec,
);
const emptyBytes = new Uint8Array(0);

/** Open invitations by organization and by address; at most one per pair. */
export class InvitationRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(organizationId: string, email: string): Invitation | undefined {
    return invitationsTable.get(this.#store, [organizationId, email]);
  }

  async listByOrganization(organizationId: string): Promise<Invitation[]> {
    const found: Invitation[] = [];
    for await (const { value } of invitationsTable.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  async listByEmail(email: string): Promise<Invitation[]> {
    const keys: (readonly [string, string])[] = [];
    for await (const { key } of emailTable.range(this.#store, [email])) keys.push([key[1], key[0]]);
    return invitationsTable.getMany(this.#store, keys).filter((invitation) => invitation !== undefined);
  }

  /** Returns up to `limit` invitations that expired by `now`; scans all. */
  async listExpired(now: number, limit: number): Promise<Invitation[]> {
    const found: Invitation[] = [];
    for await (const { value } of invitationsTable.range(this.#store, [])) {
      if (value.expiresAt <= now) found.push(value);
      if (found.length === limit) break;
    }
    return found;
  }

  /** Replaces an earlier invitation of the same address, whose code becomes invalid. */
  put(invitation: Invitation): WriteOperation[] {
    const { organizationId, email } = invitation;
    return [
      invitationsTable.put([organizationId, email], invitation),
      emailTable.put([email, organizationId], emptyBytes),
    ];
  }

  /** Errors: `ExpectationFailedError` if it was replaced, used or deleted meanwhile. */
  delete(invitation: Invitation): WriteOperation[] {
    const { organizationId, email, invitationId } = invitation;
    return [
      invitationsTable.expect(
        [organizationId, email],
        (known) => known?.invitationId === invitationId,
        'the invitation is open',
      ),
      ...this.deleteUnconditionally(invitation),
    ];
  }

  /** Deletes without checking the current state. */
  deleteUnconditionally({ organizationId, email }: Invitation): WriteOperation[] {
    return [invitationsTable.delete([organizationId, email]), emailTable.delete([email, organizationId])];
  }
}
