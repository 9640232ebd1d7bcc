import type { KeyPermission } from '../schemas/principal.ts';
import { putDeletion } from './deletions.ts';
import { hash, tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** Access restriction of an API key; at least one of the two fields is set. */
export interface StoredRestriction {
  /** Names of collections; null for all. */
  readonly collections: readonly string[] | null;
  /** A metadata filter as JSON text, because users choose the field names in it; null for none. */
  readonly filter: string | null;
}

export interface ApiKeyReference {
  readonly organizationId: string;
  readonly keyId: string;
}

export interface ApiKey {
  readonly keyId: string;
  readonly organizationId: string;
  /** SHA-256 of the whole secret, lower-case hex. The secret itself is never stored. */
  readonly hash: string;
  /** Abbreviated form shown in lists instead of the secret. */
  readonly masked: string;
  readonly name: string;
  readonly permission: KeyPermission;
  /** Id of the user who created the key; null for the installation and the administrator. */
  readonly createdBy: string | null;
  /** Milliseconds since the epoch, like all times. */
  readonly createdAt: number;
  /** Expiration time; absent for a key that does not expire. */
  readonly expiresAt?: number;
  /** Absent for a key with access to its whole organization. */
  readonly restriction?: StoredRestriction;
  /**
   * Origins whose pages may read replies to this key; absent for none. A build that does not know the field allows
   * none, so it needs no new format of the data directory.
   */
  readonly allowedOrigins?: readonly string[];
}

const keysTable = new Table<readonly [organizationId: string, keyId: string], ApiKey>(tables.apiKeys, [
  uuid,
  uuid,
]);
const keyHashesTable = new Table<readonly [hash: string], readonly [organizationId: string, keyId: string]>(
  tables.apiKeyHash,
  [hash],
);

/**
 * Time of the last use of each key. Stored apart from the key, so that recording it never overwrites a change
 * of the key.
 */
const lastUsesTable = new Table<readonly [organizationId: string, keyId: string], number>(tables.apiKeyUse, [
  uuid,
  uuid,
]);

/** API keys by the hash of their secret and by organization. */
export class ApiKeys {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(organizationId: string, keyId: string): ApiKey | undefined {
    return keysTable.get(this.#store, [organizationId, keyId]);
  }

  /** `secretHash`: SHA-256 of the presented secret, lower-case hex. */
  findByHash(secretHash: string): ApiKey | undefined {
    const key = keyHashesTable.get(this.#store, [secretHash]);
    return key === undefined ? undefined : this.get(key[0], key[1]);
  }

  /** Returns the keys of an organization, ordered by id. */
  async list(organizationId: string): Promise<ApiKey[]> {
    const found: ApiKey[] = [];
    for await (const { value } of keysTable.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  /** Errors: `ExpectationFailedError` if another key has the same secret. */
  create(key: ApiKey): WriteOperation[] {
    return [
      keyHashesTable.expect([key.hash], (taken) => taken === undefined, 'the API key is unused'),
      keysTable.put([key.organizationId, key.keyId], key),
      keyHashesTable.put([key.hash], [key.organizationId, key.keyId]),
    ];
  }

  /**
   * Replaces name, permission, restriction or origins; the secret of a key never changes. Errors:
   * `ExpectationFailedError` if the key does not exist.
   */
  update(key: ApiKey): WriteOperation[] {
    return [
      keysTable.expect([key.organizationId, key.keyId], (known) => known !== undefined, 'the API key exists'),
      keysTable.put([key.organizationId, key.keyId], key),
    ];
  }

  delete({ organizationId, keyId, hash: secretHash }: ApiKey): WriteOperation[] {
    return [
      keysTable.delete([organizationId, keyId]),
      keyHashesTable.delete([secretHash]),
      lastUsesTable.delete([organizationId, keyId]),
      putDeletion('api key', keyId),
    ];
  }

  /** Returns milliseconds since the epoch, to the minute; null for a key that was never used. */
  getLastUse({ organizationId, keyId }: Pick<ApiKey, 'organizationId' | 'keyId'>): number | null {
    return lastUsesTable.get(this.#store, [organizationId, keyId]) ?? null;
  }

  putLastUse(
    { organizationId, keyId }: Pick<ApiKey, 'organizationId' | 'keyId'>,
    at: number,
  ): WriteOperation {
    return lastUsesTable.put([organizationId, keyId], at);
  }
}
