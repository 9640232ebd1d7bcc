import type { KeyPermission } from '../schemas/principal.ts';
import { hash, tables, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

/** What a key is restricted to; at least one of both is. */
export interface StoredRestriction {
  /** Names of collections; null for all. */
  readonly collections: readonly string[] | null;
  /** A filter as JSON text, because users choose names in it; null for none. */
  readonly filter: string | null;
}

export interface ApiKey {
  readonly keyId: string;
  readonly organizationId: string;
  /** SHA-256 of the whole secret, lower-case hex. The secret itself is never stored. */
  readonly hash: string;
  /** What lists show instead of the secret. */
  readonly masked: string;
  readonly name: string;
  readonly permission: KeyPermission;
  /** Who made it: a user's id, or null for the installation and the administrator. */
  readonly createdBy: string | null;
  /** Milliseconds since the epoch, as all times. */
  readonly createdAt: number;
  /** When it ends by itself; absent for one that does not. */
  readonly expiresAt?: number;
  /** Absent for one that sees all of its organisation. */
  readonly restriction?: StoredRestriction;
}

const keys = new Table<readonly [organizationId: string, keyId: string], ApiKey>(tables.apiKeys, [
  uuid,
  uuid,
]);
const keyHashes = new Table<readonly [hash: string], readonly [organizationId: string, keyId: string]>(
  tables.apiKeyHash,
  [hash],
);

/** When a key was used last; apart from the key, so that noting it never undoes a change. */
const uses = new Table<readonly [organizationId: string, keyId: string], number>(tables.apiKeyUse, [
  uuid,
  uuid,
]);

/** API keys by the hash of their secret and by organisation. */
export class ApiKeys {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(organizationId: string, keyId: string): ApiKey | undefined {
    return keys.get(this.#store, [organizationId, keyId]);
  }

  /** `secretHash`: SHA-256 of the presented secret, lower-case hex. */
  byHash(secretHash: string): ApiKey | undefined {
    const found = keyHashes.get(this.#store, [secretHash]);
    return found === undefined ? undefined : this.get(found[0], found[1]);
  }

  /** Keys of one organisation, in the order of their ids. */
  async list(organizationId: string): Promise<ApiKey[]> {
    const found: ApiKey[] = [];
    for await (const { value } of keys.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  /** Refused with `ExpectationFailed` when another key has the same secret. */
  create(key: ApiKey): Operation[] {
    return [
      keyHashes.expect([key.hash], (taken) => taken === undefined, 'the API key is new'),
      keys.put([key.organizationId, key.keyId], key),
      keyHashes.put([key.hash], [key.organizationId, key.keyId]),
    ];
  }

  /** Replaces name, permission or restriction; the secret of a key never changes. */
  update(key: ApiKey): Operation[] {
    return [
      keys.expect([key.organizationId, key.keyId], (known) => known !== undefined, 'the API key exists'),
      keys.put([key.organizationId, key.keyId], key),
    ];
  }

  delete({ organizationId, keyId, hash: secretHash }: ApiKey): Operation[] {
    return [
      keys.delete([organizationId, keyId]),
      keyHashes.delete([secretHash]),
      uses.delete([organizationId, keyId]),
    ];
  }

  /** Milliseconds since the epoch, to the minute; null for one that was never used. */
  lastUse({ organizationId, keyId }: Pick<ApiKey, 'organizationId' | 'keyId'>): number | null {
    return uses.get(this.#store, [organizationId, keyId]) ?? null;
  }

  putUse({ organizationId, keyId }: Pick<ApiKey, 'organizationId' | 'keyId'>, at: number): Operation {
    return uses.put([organizationId, keyId], at);
  }
}
