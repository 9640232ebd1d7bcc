import { isDeleted, putDeletion } from './deletions.ts';
import { hash, tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** A passkey (WebAuthn credential) of a user. */
export interface Passkey {
  readonly passkeyId: string;
  readonly userId: string;
  /** Chosen by the user. */
  readonly name: string;
  /** ID chosen by the authenticator, in base64url. */
  readonly credentialId: string;
  /** SHA-256 of the credential ID, lower-case hex. */
  readonly credentialHash: string;
  /** COSE key. */
  readonly publicKey: Uint8Array;
  /** Signature counter of the last use; 0 for authenticators without one. */
  readonly counter: number;
  /** How browsers reach the authenticator, such as `usb`. */
  readonly transports: readonly string[];
  /** Host name to which the authenticator binds the passkey. */
  readonly relyingPartyId: string;
  /** Random bytes by which authenticators recognize the account, in base64url; all passkeys of a user have the same. */
  readonly userHandle: string;
  /** Whether the authenticator copies the passkey to other devices of its owner. */
  readonly isSynced: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch; null before the first sign-in. */
  readonly lastUsedAt: number | null;
}

type PasskeyKey = readonly [userId: string, passkeyId: string];

const passkeysTable = new Table<PasskeyKey, Passkey>(tables.passkeys, [uuid, uuid]);
const credentialsTable = new Table<readonly [credentialHash: string], PasskeyKey>(tables.passkeyCredentials, [
  hash,
]);

/** Passkeys by user and by the hash of their credential ID. */
export class PasskeyRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(userId: string, passkeyId: string): Passkey | undefined {
    return passkeysTable.get(this.#store, [userId, passkeyId]);
  }

  findByCredential(credentialHash: string): Passkey | undefined {
    const key = credentialsTable.get(this.#store, [credentialHash]);
    return key === undefined ? undefined : passkeysTable.get(this.#store, key);
  }

  /** Passkeys of a user, unordered. */
  async list(userId: string): Promise<Passkey[]> {
    const found: Passkey[] = [];
    for await (const { value } of passkeysTable.range(this.#store, [userId])) found.push(value);
    return found;
  }

  /** Passkeys that were deleted after the backup from which this store was restored. */
  async listDeleted(): Promise<Passkey[]> {
    const found: Passkey[] = [];
    for await (const { value } of passkeysTable.range(this.#store, []))
      if (isDeleted(this.#store, 'passkey', value.passkeyId)) found.push(value);
    return found;
  }

  /** Errors: `ExpectationFailedError` if the credential belongs to a passkey when the write is applied. */
  create(passkey: Passkey): WriteOperation[] {
    const { userId, passkeyId, credentialHash } = passkey;
    return [
      credentialsTable.expect([credentialHash], (known) => known === undefined, 'the credential is new'),
      credentialsTable.put([credentialHash], [userId, passkeyId]),
      passkeysTable.put([userId, passkeyId], passkey),
    ];
  }

  /**
   * Errors: `ExpectationFailedError` if the passkey was deleted, or used with another counter, when the write is
   * applied.
   */
  update(before: Passkey, after: Passkey): WriteOperation[] {
    const key = [before.userId, before.passkeyId] as const;
    const isUnchanged = (known: Passkey | undefined) => known?.counter === before.counter;
    return [
      passkeysTable.expect(key, isUnchanged, 'the passkey exists with this counter'),
      passkeysTable.put(key, after),
    ];
  }

  delete({ userId, passkeyId, credentialHash }: Passkey): WriteOperation[] {
    return [
      passkeysTable.delete([userId, passkeyId]),
      credentialsTable.delete([credentialHash]),
      putDeletion('passkey', passkeyId),
    ];
  }
}
