import type { Role } from '../schemas/principal.ts';
import { tables, text, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

export interface Invitation {
  readonly invitationId: string;
  readonly organizationId: string;
  /** Normalised. */
  readonly email: string;
  readonly role: Role;
  /** Who invited. */
  readonly invitedBy: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

const invitations = new Table<readonly [organizationId: string, email: string], Invitation>(
  tables.invitations,
  [uuid, text],
);
const addresses = new Table<readonly [email: string, organizationId: string], Uint8Array>(
  tables.invitationEmail,
  [text, uuid],
  bytesCodec,
);
const nothing = new Uint8Array(0);

/** Open invitations by organisation and by address; at most one for each pair. */
export class InvitationRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(organizationId: string, email: string): Invitation | undefined {
    return invitations.get(this.#store, [organizationId, email]);
  }

  async ofOrganisation(organizationId: string): Promise<Invitation[]> {
    const found: Invitation[] = [];
    for await (const { value } of invitations.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  async ofAddress(email: string): Promise<Invitation[]> {
    const places: (readonly [string, string])[] = [];
    for await (const { key } of addresses.range(this.#store, [email])) places.push([key[1], key[0]]);
    return invitations.getMany(this.#store, places).filter((invitation) => invitation !== undefined);
  }

  /** Those whose time was up by `now`, at most `limit` of them; reads all. */
  async expired(now: number, limit: number): Promise<Invitation[]> {
    const found: Invitation[] = [];
    for await (const { value } of invitations.range(this.#store, [])) {
      if (value.expiresAt <= now) found.push(value);
      if (found.length === limit) break;
    }
    return found;
  }

  /** Replaces an earlier one of the same address, whose code is dead from then on. */
  put(invitation: Invitation): Operation[] {
    const { organizationId, email } = invitation;
    return [
      invitations.put([organizationId, email], invitation),
      addresses.put([email, organizationId], nothing),
    ];
  }

  /** Refused with `ExpectationFailed` when it was replaced, used or deleted meanwhile. */
  delete(invitation: Invitation): Operation[] {
    const { organizationId, email, invitationId } = invitation;
    return [
      invitations.expect(
        [organizationId, email],
        (known) => known?.invitationId === invitationId,
        'the invitation is open',
      ),
      ...this.forget(invitation),
    ];
  }

  /** Whatever became of it. */
  forget({ organizationId, email }: Invitation): Operation[] {
    return [invitations.delete([organizationId, email]), addresses.delete([email, organizationId])];
  }
}
