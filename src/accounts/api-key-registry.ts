import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import { deriveUuid, type Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { checkCollectionName } from '../schemas/checks.ts';
import type { KeyPermission, KeyRestriction } from '../schemas/principal.ts';
import { type ApiKey, type ApiKeyReference, ApiKeys, type StoredRestriction } from '../storage/api-keys.ts';
import type { Store, WriteOperation, WriteOptions } from '../storage/store.ts';
import { normalizeOrigins } from './allowed-origins.ts';
import { generateKey, hashKey, maskKey, operatorKeyPattern } from './key-format.ts';

export interface ApiKeyRegistryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly audit: AuditLog;
  /** Errors: 400 for an invalid metadata filter. */
  readonly checkFilter: (filter: unknown) => void;
  readonly keysPerOrganizationMax?: number;
}

export interface NewApiKey {
  readonly organizationId: string;
  readonly name: string;
  readonly permission: KeyPermission;
  readonly createdBy: string | null;
  /** Milliseconds since the epoch; absent for a key that never expires. */
  readonly expiresAt?: number;
  /** Null or absent: access to all documents of the organization. */
  readonly restriction?: KeyRestriction | null | undefined;
  /** Null or absent: none. */
  readonly allowedOrigins?: readonly string[] | null | undefined;
  /** Maximum number of keys of the organization including this one, if lower than the general maximum. */
  readonly keysMax?: number;
}

/** Changes to a key. Absent and null fields stay unchanged. */
export interface ApiKeyChanges {
  readonly name?: string | null | undefined;
  readonly permission?: KeyPermission | null | undefined;
  /** Replaces the whole restriction. A restriction without bounds removes it. */
  readonly restriction?: KeyRestriction | null | undefined;
  /** Replaces the whole list. */
  readonly allowedOrigins?: readonly string[] | null | undefined;
}

/**
 * API keys of all organizations. A secret is returned only once, when it is issued. Every change is durable
 * when its promise resolves. The caller checks that the organization exists.
 */
export class ApiKeyRegistry {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #audit: AuditLog;
  readonly #records: ApiKeys;
  readonly #checkFilter: ApiKeyRegistryOptions['checkFilter'];
  readonly #keysPerOrganizationMax: number;
  readonly #changes = new Mutex();
  /** Uses since the last write, by key id. */
  readonly #unwrittenUses = new Map<string, { readonly reference: ApiKeyReference; readonly at: number }>();
  #revision = 0;
  #operatorDigest: string | null = null;
  /** Id of the key set by QUARRY_API_KEY in this process. */
  #configuredKeyId: string | null = null;

  constructor(options: ApiKeyRegistryOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#audit = options.audit;
    this.#records = new ApiKeys(options.store);
    this.#checkFilter = options.checkFilter;
    this.#keysPerOrganizationMax = options.keysPerOrganizationMax ?? limits.apiKeysPerOrganizationMax;
  }

  /** Increases with every change; caches compare it to detect stale entries. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Digest of the operator's key, set now or in an earlier run. It is the only key accepted in any format.
   */
  get operatorDigest(): string | null {
    return this.#operatorDigest;
  }

  /** Finds a key. `digest`: SHA-256 of the presented secret, lower-case hexadecimal. */
  findByDigest(digest: string): ApiKey | undefined {
    return this.#records.findByHash(digest);
  }

  /** Whether a key has expired. */
  hasExpired({ expiresAt }: ApiKey): boolean {
    return expiresAt !== undefined && expiresAt <= this.#clock.now();
  }

  /** Records the use of a key in memory; `flushUses` writes it. */
  recordUse(reference: ApiKeyReference): void {
    this.#unwrittenUses.set(reference.keyId, { reference, at: this.#clock.now() });
  }

  /** Milliseconds since the epoch; null for a key that was never used. */
  lastUsedAt(reference: ApiKeyReference): number | null {
    return this.#unwrittenUses.get(reference.keyId)?.at ?? this.#records.getLastUse(reference);
  }

  /**
   * Writes recorded uses. Called by periodic maintenance and at shutdown; a crash loses the uses since the
   * last call.
   */
  async flushUses(): Promise<void> {
    const pendingUses = [...this.#unwrittenUses.values()];
    this.#unwrittenUses.clear();
    const existingUses = pendingUses.filter(
      ({ reference }) => this.#records.get(reference.organizationId, reference.keyId) !== undefined,
    );
    await this.#store.write(existingUses.map(({ reference, at }) => this.#records.putLastUse(reference, at)));
  }

  /** Keys of an organization, oldest first. */
  async list(organizationId: string): Promise<ApiKey[]> {
    const keys = await this.#records.list(organizationId);
    return keys.sort((a, b) => a.createdAt - b.createdAt);
  }

  /**
   * Issues a key. `secret` is returned only here. Errors: 400 for an invalid name or expiry, or too many
   * keys.
   */
  issue(input: NewApiKey, by: Actor): Promise<{ readonly secret: string; readonly key: ApiKey }> {
    return this.#changes.run(async () => {
      checkText('name', input.name, 1);
      if (input.createdBy !== null) checkText('created_by', input.createdBy, 0);
      // A leap second is well-formed but parses to NaN, and a key with that expiry would never expire.
      if (input.expiresAt !== undefined && !(input.expiresAt > this.#clock.now())) {
        throw new AppError('bad_request', 'expires_at must be in the future.');
      }
      const { keysMax = this.#keysPerOrganizationMax, restriction, allowedOrigins, ...fields } = input;
      const access = {
        ...this.#toStoredRestriction(restriction ?? unrestricted),
        ...toStoredOrigins(allowedOrigins ?? []),
      };
      await this.#checkKeyLimit(input.organizationId, Math.min(keysMax, this.#keysPerOrganizationMax));
      const secret = generateKey(this.#random);
      const key = this.#buildRecord({ ...fields, keyId: this.#random.uuid(), ...access }, secret);
      await this.#write([...this.#records.create(key), this.#auditEntry('created', key, by)]);
      return { secret, key };
    });
  }

  /** Errors: 404 if the organization has no such key, even if another organization has it. */
  update(reference: ApiKeyReference, changes: ApiKeyChanges, by: Actor): Promise<ApiKey> {
    return this.#changes.run(async () => {
      const before = this.#requireKey(reference);
      const name = changes.name ?? before.name;
      checkText('name', name, 1);
      const { restriction: known, allowedOrigins: knownOrigins, ...rest } = before;
      const unchanged = known === undefined ? {} : { restriction: known };
      const storedRestriction =
        (changes.restriction ?? null) === null ? unchanged : this.#toStoredRestriction(changes.restriction!);
      const after: ApiKey = {
        ...rest,
        name,
        permission: changes.permission ?? before.permission,
        ...storedRestriction,
        ...toStoredOrigins(changes.allowedOrigins ?? knownOrigins ?? []),
      };
      await this.#write([...this.#records.update(after), this.#auditEntry('updated', after, by)]);
      return after;
    });
  }

  /**
   * Revokes a key immediately. Errors: 404 if the organization has no such key; 409 for the key set by
   * QUARRY_API_KEY.
   */
  revoke(reference: ApiKeyReference, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const key = this.#requireKey(reference);
      if (key.keyId === this.#configuredKeyId) {
        throw new AppError(
          'conflict',
          'This key is set by QUARRY_API_KEY. To revoke it, change or remove that setting and restart the server.',
        );
      }
      // Allowed on a full disk: a leaked key must be revocable.
      await this.#write([...this.#records.delete(key), this.#auditEntry('deleted', key, by)], {
        mayUseReserve: true,
      });
      if (key.hash === this.#operatorDigest) this.#operatorDigest = null;
    });
  }

  /** Operations that delete all keys of an organization, to be written together with its deletion. */
  async deleteAllOperations(organizationId: string): Promise<WriteOperation[]> {
    const keys = await this.#records.list(organizationId);
    return keys.flatMap((key) => this.#records.delete(key));
  }

  /** Loads the key that an operator set in an earlier run, so that its free format is still accepted. */
  loadOperatorKey(organizationId: string): void {
    const key = this.#records.get(organizationId, operatorKeyId(organizationId));
    this.#operatorDigest = key?.hash ?? null;
  }

  /**
   * Makes `secret` the operator's key of this organization, replacing the previous one. Idempotent. A key
   * that was already issued to the organization stays unchanged. Errors: 409 if it is the key of another
   * organization.
   */
  setOperatorKey(organizationId: string, secret: string): Promise<void> {
    assert(operatorKeyPattern.test(secret), 'the settings accept only well-formed keys');
    return this.#changes.run(async () => {
      const digest = hashKey(secret);
      const existing = this.findByDigest(digest);
      if (existing !== undefined && existing.organizationId !== organizationId) {
        throw new AppError(
          'conflict',
          'QUARRY_API_KEY is already the API key of another organization. Use a different key.',
        );
      }
      this.#configuredKeyId = existing?.keyId ?? operatorKeyId(organizationId);
      const operations = this.#operatorKeyOperations(organizationId, secret, existing);
      if (operations.length > 0) await this.#write(operations);
      this.#operatorDigest = digest;
    });
  }

  #operatorKeyOperations(
    organizationId: string,
    secret: string,
    existing: ApiKey | undefined,
  ): WriteOperation[] {
    const keyId = operatorKeyId(organizationId);
    const previous = this.#records.get(organizationId, keyId);
    const remove =
      previous === undefined || previous.keyId === existing?.keyId ? [] : this.#records.delete(previous);
    if (existing !== undefined) return remove;
    const input = { organizationId, name: 'QUARRY_API_KEY', permission: 'all', createdBy: null } as const;
    return [...remove, ...this.#records.create(this.#buildRecord({ ...input, keyId }, secret))];
  }

  /**
   * Converts a restriction to its stored form; empty if it restricts nothing. Errors: 400 for an invalid
   * restriction.
   */
  #toStoredRestriction({ collections, filter }: KeyRestriction): { restriction?: StoredRestriction } {
    if (collections !== null && (collections.length < 1 || collections.length > limits.keyCollectionsMax)) {
      throw new AppError(
        'bad_request',
        `A key can be restricted to 1 to ${limits.keyCollectionsMax} collections, but ${collections.length} were sent. Send null for all collections.`,
      );
    }
    for (const name of collections ?? []) checkCollectionName(name);
    const hasFilter = filter !== null && Object.keys(filter).length > 0;
    const text = hasFilter ? JSON.stringify(filter) : null;
    const filterBytes = text === null ? 0 : Buffer.byteLength(text);
    if (filterBytes > limits.keyFilterBytesMax) {
      throw new AppError(
        'bad_request',
        `The filter of the key is ${filterBytes} bytes as compact JSON; at most ${limits.keyFilterBytesMax} are allowed.`,
      );
    }
    if (hasFilter) this.#checkFilter(filter);
    if (collections === null && text === null) return {};
    return { restriction: { collections: collections && [...new Set(collections)], filter: text } };
  }

  #buildRecord(
    input: Omit<NewApiKey, 'restriction' | 'allowedOrigins' | 'keysMax'> &
      ApiKeyReference &
      Pick<ApiKey, 'restriction' | 'allowedOrigins'>,
    secret: string,
  ): ApiKey {
    return { ...input, hash: hashKey(secret), masked: maskKey(secret), createdAt: this.#clock.now() };
  }

  #requireKey(reference: ApiKeyReference): ApiKey {
    const key = this.#records.get(reference.organizationId, reference.keyId);
    if (key !== undefined) return key;
    throw new AppError('not_found', `The organization has no API key "${reference.keyId}".`);
  }

  async #checkKeyLimit(organizationId: string, keysMax: number): Promise<void> {
    const keys = await this.#records.list(organizationId);
    if (keys.length < keysMax) return;
    throw new AppError(
      'bad_request',
      `The organization has ${keys.length} API keys, which is the maximum. Delete one first.`,
    );
  }

  #auditEntry(event: 'created' | 'updated' | 'deleted', key: ApiKey, by: Actor): WriteOperation {
    const { organizationId, keyId, name, permission, restriction, allowedOrigins } = key;
    const restrictionDetails =
      restriction === undefined
        ? {}
        : { collections: restriction.collections?.length ?? null, filtered: restriction.filter !== null };
    const originDetails = allowedOrigins === undefined ? {} : { origins: allowedOrigins.length };
    const details = { name, permission, ...restrictionDetails, ...originDetails };
    return this.#audit.entryOperation({
      ...by,
      organizationId,
      action: `api_key.${event}`,
      target: keyId,
      details,
    });
  }

  async #write(operations: readonly WriteOperation[], options: WriteOptions = {}): Promise<void> {
    await this.#store.write(operations, options);
    this.#revision += 1;
  }
}

/** Errors: 400 for an invalid list. */
function toStoredOrigins(origins: readonly string[]): Pick<ApiKey, 'allowedOrigins'> {
  return origins.length === 0 ? {} : { allowedOrigins: normalizeOrigins(origins) };
}

const unrestricted: KeyRestriction = { collections: null, filter: null };

/** Converts a stored restriction; null if the key is unrestricted. */
export function restrictionOf({ restriction }: Pick<ApiKey, 'restriction'>): KeyRestriction | null {
  if (restriction === undefined) return null;
  const { collections, filter } = restriction;
  return { collections, filter: filter === null ? null : (JSON.parse(filter) as KeyRestriction['filter']) };
}

/** The operator's key has a fixed id per organization, so that a new secret replaces the previous one. */
function operatorKeyId(organizationId: string): string {
  return deriveUuid('operator key', organizationId);
}

function checkText(field: string, name: string, bytesMin: number): void {
  const bytes = Buffer.byteLength(name);
  if (bytes >= bytesMin && bytes <= limits.keyNameBytesMax && !/\p{Surrogate}/u.test(name)) return;
  throw new AppError(
    'bad_request',
    `${field} must be valid Unicode text of ${bytesMin} to ${limits.keyNameBytesMax} bytes in UTF-8.`,
  );
}
