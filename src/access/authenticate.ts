import { hash, timingSafeEqual } from 'node:crypto';
import { isIssuedKey, keyDigest } from '../accounts/key-format.ts';
import type { KeyRing } from '../accounts/key-ring.ts';
import type { OrganisationDirectory } from '../accounts/organisation-directory.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Principal } from '../schemas/principal.ts';
import { type Operation, operationNeeds, unauthorised } from './authorise.ts';

export interface AuthenticatorOptions {
  readonly keys: KeyRing;
  readonly organisations: OrganisationDirectory;
  /** QUARRY_ADMIN_KEY; null turns administration off. */
  readonly adminKey: string | null;
  readonly clock: Clock;
  readonly cacheEntriesMax?: number;
}

interface Remembered {
  readonly principal: Principal;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly until: number;
}

/** `Bearer`, blanks, and a token of printable characters; nothing longer than the longest key is looked at. */
const bearerShape = /^Bearer +([\x21-\x7e]{1,256}) *$/i;

/**
 * Says who is calling from the `Authorization` header alone. It remembers what it found for a second at most, and
 * forgets everything when a key or an organisation changes, so a revoked key ends at once.
 */
export class Authenticator {
  readonly #keys: KeyRing;
  readonly #organisations: OrganisationDirectory;
  readonly #clock: Clock;
  readonly #adminDigest: Buffer | null;
  readonly #cacheEntriesMax: number;
  readonly #cache = new Map<string, Remembered>();
  #cacheRevision = 0;

  constructor(options: AuthenticatorOptions) {
    this.#keys = options.keys;
    this.#organisations = options.organisations;
    this.#clock = options.clock;
    this.#adminDigest = options.adminKey === null ? null : digestBytes(keyDigest(options.adminKey));
    this.#cacheEntriesMax = options.cacheEntriesMax ?? limits.keyCacheEntriesMax;
  }

  /** Entries remembered now. */
  get cacheSize(): number {
    return this.#cache.size;
  }

  /**
   * The caller of `operation`; null for an operation that asks nobody. Errors: 401 for no, a malformed, an unknown
   * or a deleted key; 503 for administration without QUARRY_ADMIN_KEY, whoever asks.
   */
  authenticate(header: string | undefined, operation: Operation): Principal | null {
    const need = operationNeeds[operation];
    if (need === 'nothing') return null;
    if (need === 'administrator' && this.#adminDigest === null) throw administrationOff();
    return this.identify(header);
  }

  /** The caller, whatever is asked for. Throws 401 as `authenticate` does. */
  identify(header: string | undefined): Principal {
    if (header === undefined || header === '') {
      throw unauthorised('There is no API key: send the header "Authorization: Bearer <API key>".');
    }
    const token = bearerShape.exec(header)?.[1];
    if (token === undefined) {
      throw unauthorised('The Authorization header must read "Bearer <API key>".');
    }
    const digest = hash('sha256', token, 'hex');
    const principal = this.#recall(digest) ?? this.#lookUp(token, digest);
    if (principal === null) throw unauthorised('The API key is not valid: it is unknown or was deleted.');
    return principal;
  }

  #recall(digest: string): Principal | null {
    // Both only grow, so their sum changes when either does.
    const revision = this.#keys.revision + this.#organisations.revision;
    if (revision !== this.#cacheRevision) {
      this.#cache.clear();
      this.#cacheRevision = revision;
      return null;
    }
    const remembered = this.#cache.get(digest);
    if (remembered === undefined) return null;
    if (this.#clock.monotonic() < remembered.until) return remembered.principal;
    this.#cache.delete(digest);
    return null;
  }

  /** Only a key of the right shape, or the operator's own, costs a look-up. */
  #lookUp(token: string, digest: string): Principal | null {
    const bytes = digestBytes(digest);
    if (this.#adminDigest !== null && timingSafeEqual(bytes, this.#adminDigest)) {
      return { kind: 'administrator' };
    }
    const { operatorDigest } = this.#keys;
    const isOperators = operatorDigest !== null && timingSafeEqual(bytes, digestBytes(operatorDigest));
    if (!isOperators && !isIssuedKey(token)) return null;
    const key = this.#keys.findByDigest(digest);
    if (key === undefined) return null;
    const organisation = this.#organisations.find(key.organizationId);
    if (organisation === undefined) return null;
    const { keyId, organizationId, permission } = key;
    const principal = {
      kind: 'organisation',
      organizationId,
      keyId,
      permission,
      zdr: organisation.zdr,
    } as const;
    this.#remember(digest, principal);
    return principal;
  }

  #remember(digest: string, principal: Principal): void {
    if (this.#cache.size >= this.#cacheEntriesMax) {
      const oldest = this.#cache.keys().next();
      if (oldest.done !== true) this.#cache.delete(oldest.value);
    }
    this.#cache.set(digest, { principal, until: this.#clock.monotonic() + limits.keyCacheMs });
  }
}

function digestBytes(digest: string): Buffer {
  return Buffer.from(digest, 'hex');
}

function administrationOff(): AppError {
  return new AppError(
    'unavailable',
    'Administration is off: start the server with QUARRY_ADMIN_KEY set to use /v1/admin.',
    { shouldRetry: false },
  );
}
