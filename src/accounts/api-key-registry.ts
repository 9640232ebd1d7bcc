import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import { deriveUuid, type Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { checkCollectionName } from '../schemas/checks.ts';
import type { KeyPermission, KeyRestriction } from '../schemas/principal.ts';
import { type ApiKey, ApiKeys, type StoredRestriction } from '../storage/api-keys.ts';
import type { Store, WriteOperation, WriteOptions } from '../storage/store.ts';
import { generateKey, hashKey, maskKey, operatorKeyPattern } from './key-format.ts';

export interface ApiKeyRegistryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly audit: AuditLog;
  /** 400 for what is no filter of metadata. */
  readonly checkFilter: (filter: unknown) => void;
  readonly keysPerOrganizationMax?: number;
}

export interface NewApiKey {
  readonly organizationId: string;
  readonly name: string;
  readonly permission: KeyPermission;
  readonly createdBy: string | null;
  /** Milliseconds since the epoch; absent for a key that does not end by itself. */
  readonly expiresAt?: number;
  /** Null or absent for one that sees all of its organisation. */
  readonly restriction?: KeyRestriction | null | undefined;
  /** Keys that the organisation may have with it, where that is fewer than it may have at all. */
  readonly keysMax?: number;
}

export interface ApiKeyReference {
  readonly organizationId: string;
  readonly keyId: string;
}

/** What to change; what is absent or null stays. */
export interface ApiKeyChanges {
  readonly name?: string | null | undefined;
  readonly permission?: KeyPermission | null | undefined;
  /** The whole of it; one without bounds ends it. */
  readonly restriction?: KeyRestriction | null | undefined;
}

/**
 * The API keys of all organisations. Secrets leave it once, when they are issued; every change is durable when its
 * promise resolves. Whether the organisation exists is the caller's question.
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
  /** Since they were written last, by key. */
  readonly #unwrittenUses = new Map<string, { readonly reference: ApiKeyReference; readonly at: number }>();
  #revision = 0;
  #operatorDigest: string | null = null;
  /** The key that QUARRY_API_KEY sets in this run of the program. */
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

  /** Grows with every change, so that caches know when to forget. */
  get revision(): number {
    return this.#revision;
  }

  /** Digest of the one key that may have any shape because an operator chose it, now or in an earlier run. */
  get operatorDigest(): string | null {
    return this.#operatorDigest;
  }

  /** `digest`: SHA-256 of the presented secret, lower-case hexadecimal. */
  findByDigest(digest: string): ApiKey | undefined {
    return this.#records.findByHash(digest);
  }

  /** Whether a key has ended by itself. */
  hasExpired({ expiresAt }: ApiKey): boolean {
    return expiresAt !== undefined && expiresAt <= this.#clock.now();
  }

  /** Notes that a key is used, in memory; `writeUses` makes it last. */
  recordUse(reference: ApiKeyReference): void {
    this.#unwrittenUses.set(reference.keyId, { reference, at: this.#clock.now() });
  }

  /** Milliseconds since the epoch; null for a key that was never used. */
  lastUsedAt(reference: ApiKeyReference): number | null {
    return this.#unwrittenUses.get(reference.keyId)?.at ?? this.#records.getLastUse(reference);
  }

  /** For housekeeping, and for the end: uses that a crash loses are those since the last time. */
  async flushUses(): Promise<void> {
    const pendingUses = [...this.#unwrittenUses.values()];
    this.#unwrittenUses.clear();
    const existingUses = pendingUses.filter(
      ({ reference }) => this.#records.get(reference.organizationId, reference.keyId) !== undefined,
    );
    await this.#store.write(existingUses.map(({ reference, at }) => this.#records.putLastUse(reference, at)));
  }

  /** The keys of an organisation, oldest first. */
  async list(organizationId: string): Promise<ApiKey[]> {
    const keys = await this.#records.list(organizationId);
    return keys.sort((a, b) => a.createdAt - b.createdAt);
  }

  /** The only moment at which `secret` is known. 400 for a bad name or too many keys. */
  issue(input: NewApiKey, by: Actor): Promise<{ readonly secret: string; readonly key: ApiKey }> {
    return this.#changes.run(async () => {
      checkText('name', input.name, 1);
      if (input.createdBy !== null) checkText('created_by', input.createdBy, 0);
      // A leap second is well-formed and no time that there is (NaN): a key with it would never end.
      if (input.expiresAt !== undefined && !(input.expiresAt > this.#clock.now())) {
        throw new AppError('bad_request', 'expires_at must be a time to come.');
      }
      const { restriction: requestedRestriction, keysMax = this.#keysPerOrganizationMax, ...fields } = input;
      const restriction = this.#toStoredRestriction(requestedRestriction ?? unrestricted);
      await this.#checkKeyLimit(input.organizationId, Math.min(keysMax, this.#keysPerOrganizationMax));
      const secret = generateKey(this.#random);
      const key = this.#buildRecord({ ...fields, keyId: this.#random.uuid(), ...restriction }, secret);
      await this.#write([...this.#records.create(key), this.#auditEntry('created', key, by)]);
      return { secret, key };
    });
  }

  /** 404 when the organisation has no such key, whoever else may have it. */
  update(reference: ApiKeyReference, changes: ApiKeyChanges, by: Actor): Promise<ApiKey> {
    return this.#changes.run(async () => {
      const before = this.#requireKey(reference);
      const name = changes.name ?? before.name;
      checkText('name', name, 1);
      const { restriction: known, ...rest } = before;
      const unchanged = known === undefined ? {} : { restriction: known };
      const storedRestriction =
        (changes.restriction ?? null) === null ? unchanged : this.#toStoredRestriction(changes.restriction!);
      const after: ApiKey = {
        ...rest,
        name,
        permission: changes.permission ?? before.permission,
        ...storedRestriction,
      };
      await this.#write([...this.#records.update(after), this.#auditEntry('updated', after, by)]);
      return after;
    });
  }

  /** Ends a key at once. 404 when the organisation has no such key, 409 for the one the running settings name. */
  revoke(reference: ApiKeyReference, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const key = this.#requireKey(reference);
      if (key.keyId === this.#configuredKeyId) {
        throw new AppError(
          'conflict',
          'This key is set by QUARRY_API_KEY: change or remove that setting and restart the server to end it.',
        );
      }
      // Also on a full disk: what leaked must end.
      await this.#write([...this.#records.delete(key), this.#auditEntry('deleted', key, by)], {
        mayUseReserve: true,
      });
      if (key.hash === this.#operatorDigest) this.#operatorDigest = null;
    });
  }

  /** To be written with the end of their organisation: ends all of its keys. */
  async deleteAllOperations(organizationId: string): Promise<WriteOperation[]> {
    const keys = await this.#records.list(organizationId);
    return keys.flatMap((key) => this.#records.delete(key));
  }

  /** Remembers the key that an operator set in an earlier run, so that its free shape is still accepted. */
  loadOperatorKey(organizationId: string): void {
    const key = this.#records.get(organizationId, operatorKeyId(organizationId));
    this.#operatorDigest = key?.hash ?? null;
  }

  /**
   * Makes `secret` the operator's key of this organisation, in place of an earlier one; the same secret again changes
   * nothing. A key that the organisation was issued before stays what it is. 409 when it is another organisation's.
   */
  setOperatorKey(organizationId: string, secret: string): Promise<void> {
    assert(operatorKeyPattern.test(secret), 'the settings accept only well-formed keys');
    return this.#changes.run(async () => {
      const digest = hashKey(secret);
      const existing = this.findByDigest(digest);
      if (existing !== undefined && existing.organizationId !== organizationId) {
        throw new AppError(
          'conflict',
          'QUARRY_API_KEY is the API key of another organisation: choose another.',
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

  /** A restriction as it is stored; nothing where it bounds nothing. 400 for one that cannot be meant. */
  #toStoredRestriction({ collections, filter }: KeyRestriction): { restriction?: StoredRestriction } {
    if (collections !== null && (collections.length < 1 || collections.length > limits.keyCollectionsMax)) {
      throw new AppError(
        'bad_request',
        `A key is restricted to 1 to ${limits.keyCollectionsMax} collections; it is ${collections.length}. null stands for all.`,
      );
    }
    for (const name of collections ?? []) checkCollectionName(name);
    const hasFilter = filter !== null && Object.keys(filter).length > 0;
    const text = hasFilter ? JSON.stringify(filter) : null;
    if (text !== null && Buffer.byteLength(text) > limits.keyFilterBytesMax) {
      throw new AppError(
        'bad_request',
        `The filter of a key has at most ${limits.keyFilterBytesMax} bytes of compact JSON.`,
      );
    }
    if (hasFilter) this.#checkFilter(filter);
    if (collections === null && text === null) return {};
    return { restriction: { collections: collections && [...new Set(collections)], filter: text } };
  }

  #buildRecord(
    input: Omit<NewApiKey, 'restriction' | 'keysMax'> & ApiKeyReference & Pick<ApiKey, 'restriction'>,
    secret: string,
  ): ApiKey {
    return { ...input, hash: hashKey(secret), masked: maskKey(secret), createdAt: this.#clock.now() };
  }

  #requireKey(reference: ApiKeyReference): ApiKey {
    const key = this.#records.get(reference.organizationId, reference.keyId);
    if (key !== undefined) return key;
    throw new AppError('not_found', `The organisation has no API key "${reference.keyId}".`);
  }

  async #checkKeyLimit(organizationId: string, keysMax: number): Promise<void> {
    const keys = await this.#records.list(organizationId);
    if (keys.length < keysMax) return;
    throw new AppError(
      'bad_request',
      `The organisation has ${keys.length} API keys, the most there may be: delete one first.`,
    );
  }

  #auditEntry(event: 'created' | 'updated' | 'deleted', key: ApiKey, by: Actor): WriteOperation {
    const { organizationId, keyId, name, permission, restriction } = key;
    const restrictionDetails =
      restriction === undefined
        ? {}
        : { collections: restriction.collections?.length ?? null, filtered: restriction.filter !== null };
    const details = { name, permission, ...restrictionDetails };
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

const unrestricted: KeyRestriction = { collections: null, filter: null };

/** A stored restriction as everybody else knows it. */
export function restrictionOf({ restriction }: Pick<ApiKey, 'restriction'>): KeyRestriction | null {
  if (restriction === undefined) return null;
  const { collections, filter } = restriction;
  return { collections, filter: filter === null ? null : (JSON.parse(filter) as KeyRestriction['filter']) };
}

/** The operator's key has one fixed id per organisation, so that setting another secret finds the one to replace. */
function operatorKeyId(organizationId: string): string {
  return deriveUuid('operator key', organizationId);
}

function checkText(field: string, name: string, bytesMin: number): void {
  const bytes = Buffer.byteLength(name);
  if (bytes >= bytesMin && bytes <= limits.keyNameBytesMax && !/\p{Surrogate}/u.test(name)) return;
  throw new AppError(
    'bad_request',
    `${field} must be well-formed text of ${bytesMin} to ${limits.keyNameBytesMax} bytes of UTF-8.`,
  );
}
