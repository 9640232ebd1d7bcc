import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { type Chance, derivedUuid } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { Mutex } from '../core/async/mutex.ts';
import { checkCollectionName } from '../schemas/checks.ts';
import type { KeyPermission, KeyRestriction } from '../schemas/principal.ts';
import { type ApiKey, ApiKeys, type StoredRestriction } from '../store/api-keys.ts';
import type { Operation, Store, WriteOptions } from '../store/store.ts';
import { issueKey, keyDigest, maskKey, operatorKeyShape } from './key-format.ts';

export interface KeyRingOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly audit: AuditLog;
  /** 400 for what is no filter of metadata. */
  readonly checkFilter: (filter: unknown) => void;
  readonly keysPerOrganisationMax?: number;
}

export interface NewKey {
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

export interface KeyPlace {
  readonly organizationId: string;
  readonly keyId: string;
}

/** What to change; what is absent or null stays. */
export interface KeyChanges {
  readonly name?: string | null | undefined;
  readonly permission?: KeyPermission | null | undefined;
  /** The whole of it; one without bounds ends it. */
  readonly restriction?: KeyRestriction | null | undefined;
}

/**
 * The API keys of all organisations. Secrets leave it once, when they are issued; every change is durable when its
 * promise resolves. Whether the organisation exists is the caller's question.
 */
export class KeyRing {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #chance: Chance;
  readonly #audit: AuditLog;
  readonly #records: ApiKeys;
  readonly #checkFilter: KeyRingOptions['checkFilter'];
  readonly #keysPerOrganisationMax: number;
  readonly #changes = new Mutex();
  /** Since they were written last, by key. */
  readonly #uses = new Map<string, { readonly place: KeyPlace; readonly at: number }>();
  #revision = 0;
  #operatorDigest: string | null = null;
  /** The key that QUARRY_API_KEY sets in this run of the program. */
  #configuredKeyId: string | null = null;

  constructor(options: KeyRingOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#chance = options.chance;
    this.#audit = options.audit;
    this.#records = new ApiKeys(options.store);
    this.#checkFilter = options.checkFilter;
    this.#keysPerOrganisationMax = options.keysPerOrganisationMax ?? limits.apiKeysPerOrganisationMax;
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
    return this.#records.byHash(digest);
  }

  /** Whether a key has ended by itself. */
  hasExpired({ expiresAt }: ApiKey): boolean {
    return expiresAt !== undefined && expiresAt <= this.#clock.now();
  }

  /** Notes that a key is used, in memory; `writeUses` makes it last. */
  noteUse(place: KeyPlace): void {
    this.#uses.set(place.keyId, { place, at: this.#clock.now() });
  }

  /** Milliseconds since the epoch; null for a key that was never used. */
  lastUse(place: KeyPlace): number | null {
    return this.#uses.get(place.keyId)?.at ?? this.#records.lastUse(place);
  }

  /** For housekeeping, and for the end: uses that a crash loses are those since the last time. */
  async writeUses(): Promise<void> {
    const noted = [...this.#uses.values()];
    this.#uses.clear();
    const alive = noted.filter(
      ({ place }) => this.#records.get(place.organizationId, place.keyId) !== undefined,
    );
    await this.#store.write(alive.map(({ place, at }) => this.#records.putUse(place, at)));
  }

  /** The keys of an organisation, oldest first. */
  async list(organizationId: string): Promise<ApiKey[]> {
    const keys = await this.#records.list(organizationId);
    return keys.sort((a, b) => a.createdAt - b.createdAt);
  }

  /** The only moment at which `secret` is known. 400 for a bad name or too many keys. */
  issue(wanted: NewKey, by: Actor): Promise<{ readonly secret: string; readonly key: ApiKey }> {
    return this.#changes.run(async () => {
      checkName('name', wanted.name, 1);
      if (wanted.createdBy !== null) checkName('created_by', wanted.createdBy, 0);
      // A leap second is well-formed and no time that there is (NaN): a key with it would never end.
      if (wanted.expiresAt !== undefined && !(wanted.expiresAt > this.#clock.now())) {
        throw new AppError('bad_request', 'expires_at must be a time to come.');
      }
      const { restriction: asked, keysMax = this.#keysPerOrganisationMax, ...given } = wanted;
      const restriction = this.#bounds(asked ?? noBounds);
      await this.#refuseTooMany(wanted.organizationId, Math.min(keysMax, this.#keysPerOrganisationMax));
      const secret = issueKey(this.#chance);
      const key = this.#record({ ...given, keyId: this.#chance.uuid(), ...restriction }, secret);
      await this.#write([...this.#records.create(key), this.#entry('created', key, by)]);
      return { secret, key };
    });
  }

  /** 404 when the organisation has no such key, whoever else may have it. */
  update(place: KeyPlace, changes: KeyChanges, by: Actor): Promise<ApiKey> {
    return this.#changes.run(async () => {
      const before = this.#get(place);
      const name = changes.name ?? before.name;
      checkName('name', name, 1);
      const { restriction: known, ...rest } = before;
      const kept = known === undefined ? {} : { restriction: known };
      const bounds = (changes.restriction ?? null) === null ? kept : this.#bounds(changes.restriction!);
      const after: ApiKey = { ...rest, name, permission: changes.permission ?? before.permission, ...bounds };
      await this.#write([...this.#records.update(after), this.#entry('updated', after, by)]);
      return after;
    });
  }

  /** Ends a key at once. 404 when the organisation has no such key, 409 for the one the running settings name. */
  revoke(place: KeyPlace, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const key = this.#get(place);
      if (key.keyId === this.#configuredKeyId) {
        throw new AppError(
          'conflict',
          'This key is set by QUARRY_API_KEY: change or remove that setting and restart the server to end it.',
        );
      }
      // Also on a full disk: what leaked must end.
      await this.#write([...this.#records.delete(key), this.#entry('deleted', key, by)], {
        mayUseReserve: true,
      });
      if (key.hash === this.#operatorDigest) this.#operatorDigest = null;
    });
  }

  /** To be written with the end of their organisation: ends all of its keys. */
  async endAll(organizationId: string): Promise<Operation[]> {
    const keys = await this.#records.list(organizationId);
    return keys.flatMap((key) => this.#records.delete(key));
  }

  /** Remembers the key that an operator set in an earlier run, so that its free shape is still accepted. */
  recallOperatorKey(organizationId: string): void {
    const key = this.#records.get(organizationId, operatorKeyId(organizationId));
    this.#operatorDigest = key?.hash ?? null;
  }

  /**
   * Makes `secret` the operator's key of this organisation, in place of an earlier one; the same secret again changes
   * nothing. A key that the organisation was issued before stays what it is. 409 when it is another organisation's.
   */
  setOperatorKey(organizationId: string, secret: string): Promise<void> {
    assert(operatorKeyShape.test(secret), 'the settings accept only well-formed keys');
    return this.#changes.run(async () => {
      const digest = keyDigest(secret);
      const known = this.findByDigest(digest);
      if (known !== undefined && known.organizationId !== organizationId) {
        throw new AppError(
          'conflict',
          'QUARRY_API_KEY is the API key of another organisation: choose another.',
        );
      }
      this.#configuredKeyId = known?.keyId ?? operatorKeyId(organizationId);
      const operations = this.#operatorKeyOperations(organizationId, secret, known);
      if (operations.length > 0) await this.#write(operations);
      this.#operatorDigest = digest;
    });
  }

  #operatorKeyOperations(organizationId: string, secret: string, known: ApiKey | undefined): Operation[] {
    const keyId = operatorKeyId(organizationId);
    const earlier = this.#records.get(organizationId, keyId);
    const remove =
      earlier === undefined || earlier.keyId === known?.keyId ? [] : this.#records.delete(earlier);
    if (known !== undefined) return remove;
    const wanted = { organizationId, name: 'QUARRY_API_KEY', permission: 'all', createdBy: null } as const;
    return [...remove, ...this.#records.create(this.#record({ ...wanted, keyId }, secret))];
  }

  /** A restriction as it is stored; nothing where it bounds nothing. 400 for one that cannot be meant. */
  #bounds({ collections, filter }: KeyRestriction): { restriction?: StoredRestriction } {
    if (collections !== null && (collections.length < 1 || collections.length > limits.keyCollectionsMax)) {
      throw new AppError(
        'bad_request',
        `A key is restricted to 1 to ${limits.keyCollectionsMax} collections; it is ${collections.length}. null stands for all.`,
      );
    }
    for (const name of collections ?? []) checkCollectionName(name);
    const isBound = filter !== null && Object.keys(filter).length > 0;
    const text = isBound ? JSON.stringify(filter) : null;
    if (text !== null && Buffer.byteLength(text) > limits.keyFilterBytesMax) {
      throw new AppError(
        'bad_request',
        `The filter of a key has at most ${limits.keyFilterBytesMax} bytes of compact JSON.`,
      );
    }
    if (isBound) this.#checkFilter(filter);
    if (collections === null && text === null) return {};
    return { restriction: { collections: collections && [...new Set(collections)], filter: text } };
  }

  #record(
    wanted: Omit<NewKey, 'restriction' | 'keysMax'> & KeyPlace & Pick<ApiKey, 'restriction'>,
    secret: string,
  ): ApiKey {
    return { ...wanted, hash: keyDigest(secret), masked: maskKey(secret), createdAt: this.#clock.now() };
  }

  #get(place: KeyPlace): ApiKey {
    const key = this.#records.get(place.organizationId, place.keyId);
    if (key !== undefined) return key;
    throw new AppError('not_found', `The organisation has no API key "${place.keyId}".`);
  }

  async #refuseTooMany(organizationId: string, most: number): Promise<void> {
    const keys = await this.#records.list(organizationId);
    if (keys.length < most) return;
    throw new AppError(
      'bad_request',
      `The organisation has ${keys.length} API keys, the most there may be: delete one first.`,
    );
  }

  #entry(what: 'created' | 'updated' | 'deleted', key: ApiKey, by: Actor): Operation {
    const { organizationId, keyId, name, permission, restriction } = key;
    const bounds =
      restriction === undefined
        ? {}
        : { collections: restriction.collections?.length ?? null, filtered: restriction.filter !== null };
    const details = { name, permission, ...bounds };
    return this.#audit.entry({ ...by, organizationId, action: `api_key.${what}`, target: keyId, details });
  }

  async #write(operations: readonly Operation[], options: WriteOptions = {}): Promise<void> {
    await this.#store.write(operations, options);
    this.#revision += 1;
  }
}

const noBounds: KeyRestriction = { collections: null, filter: null };

/** A stored restriction as everybody else knows it. */
export function restrictionOf({ restriction }: Pick<ApiKey, 'restriction'>): KeyRestriction | null {
  if (restriction === undefined) return null;
  const { collections, filter } = restriction;
  return { collections, filter: filter === null ? null : (JSON.parse(filter) as KeyRestriction['filter']) };
}

/** The operator's key has one fixed id per organisation, so that setting another secret finds the one to replace. */
function operatorKeyId(organizationId: string): string {
  return derivedUuid('operator key', organizationId);
}

function checkName(field: string, name: string, bytesMin: number): void {
  const bytes = Buffer.byteLength(name);
  if (bytes >= bytesMin && bytes <= limits.keyNameBytesMax && !/\p{Surrogate}/u.test(name)) return;
  throw new AppError(
    'bad_request',
    `${field} must be well-formed text of ${bytesMin} to ${limits.keyNameBytesMax} bytes of UTF-8.`,
  );
}
