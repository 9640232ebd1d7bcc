import { hash, timingSafeEqual } from 'node:crypto';
import { isIssuedKey, keyDigest } from '../accounts/key-format.ts';
import { type KeyRing, restrictionOf } from '../accounts/key-ring.ts';
import type { Memberships } from '../accounts/memberships.ts';
import { noOrganisation, type OrganisationDirectory } from '../accounts/organisation-directory.ts';
import type { Sessions } from '../accounts/sessions.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { uuidPattern } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Principal } from '../schemas/principal.ts';
import { type Need, type Operation, operationNeeds, unauthorised } from './authorise.ts';
import { bearerOf, type Credentials, cookieOf, refuseForeign } from './credentials.ts';

export interface AuthenticatorOptions {
  readonly keys: KeyRing;
  readonly organisations: OrganisationDirectory;
  readonly sessions: Sessions;
  readonly memberships: Memberships;
  /** QUARRY_ADMIN_KEY. */
  readonly adminKey: string | null;
  /** Whether the administrator can sign in with a password; without it and the key administration is off. */
  readonly hasAdminPassword: boolean;
  readonly clock: Clock;
  readonly cacheEntriesMax?: number;
}

interface Remembered {
  readonly principal: Principal;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly until: number;
}

/** What the token of a session begins with. */
const sessionPrefix = 'zes_';

/**
 * Says who is calling from the headers alone: an API key, the administrator's key, or somebody who signed in, by token
 * or by cookie. It remembers the keys that it found for a second at most, and forgets all when a key or an organisation
 * changes, so a revoked key ends at once; sessions it never remembers.
 */
export class Authenticator {
  readonly #keys: KeyRing;
  readonly #organisations: OrganisationDirectory;
  readonly #sessions: Sessions;
  readonly #memberships: Memberships;
  readonly #administrationIsOn: boolean;
  readonly #clock: Clock;
  readonly #adminDigest: Buffer | null;
  readonly #cacheEntriesMax: number;
  readonly #cache = new Map<string, Remembered>();
  #cacheRevision = 0;

  constructor(options: AuthenticatorOptions) {
    this.#keys = options.keys;
    this.#organisations = options.organisations;
    this.#sessions = options.sessions;
    this.#memberships = options.memberships;
    this.#administrationIsOn = options.adminKey !== null || options.hasAdminPassword;
    this.#clock = options.clock;
    this.#adminDigest = options.adminKey === null ? null : digestBytes(keyDigest(options.adminKey));
    this.#cacheEntriesMax = options.cacheEntriesMax ?? limits.keyCacheEntriesMax;
  }

  /** Entries remembered now. */
  get cacheSize(): number {
    return this.#cache.size;
  }

  /**
   * The caller of `operation`; null for an operation that asks nobody. Errors: 401 for no, a malformed, an unknown or a
   * deleted key or session; 403 for a cookie that another site sends; 404 for an organisation that a person names and
   * does not belong to; 503 for administration that is off, whoever asks.
   */
  authenticate(credentials: Credentials, operation: Operation): Principal | null {
    const need = operationNeeds[operation];
    if (need === 'nothing') return null;
    if (need === 'administrator' && !this.#administrationIsOn) throw administrationOff();
    const authorization = credentials.header('authorization');
    if (authorization === undefined || authorization === '') {
      const cookie = cookieOf(credentials, need === 'administrator' ? 'admin' : 'session');
      if (cookie === undefined) throw unauthorised(credentialMissing(need));
      refuseForeign(credentials);
      return this.#signedIn(cookie, credentials, need);
    }
    const token = bearerOf(authorization);
    if (token === undefined)
      throw unauthorised(`The Authorization header must read "Bearer <${credentialOf(need)}>".`);
    if (token.startsWith(sessionPrefix)) return this.#signedIn(token, credentials, need);
    const digest = hash('sha256', token, 'hex');
    const principal = this.#recall(digest) ?? this.#lookUp(token, digest);
    if (principal === null) throw unauthorised(credentialUnknown(need));
    if (principal.kind === 'organisation') this.#keys.noteUse(principal);
    return principal;
  }

  /** Somebody who signed in; where an operation works inside an organisation, the one that the request names. */
  #signedIn(token: string, credentials: Credentials, need: Need): Principal {
    const session = this.#sessions.find(token);
    if (session === undefined) throw unauthorised(noSession);
    const { sessionId, userId } = session;
    if (userId === null) return { kind: 'administrator' };
    const organization = credentials.header('x-quarry-organization')?.toLowerCase();
    if (organization === undefined || (need !== 'read' && need !== 'write')) {
      return { kind: 'person', userId, sessionId };
    }
    const found = uuidPattern.test(organization) ? this.#organisations.find(organization) : undefined;
    const isMember = found && this.#memberships.roleOf({ organizationId: organization, userId }) !== null;
    if (!isMember)
      throw noOrganisation(organization, { userId, organizationId: found?.organizationId ?? null });
    const { organizationId, zdr } = found;
    return { kind: 'organisation', organizationId, keyId: sessionId, userId, permission: 'all', zdr };
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
    if (key === undefined || this.#keys.hasExpired(key)) return null;
    const organisation = this.#organisations.find(key.organizationId);
    if (organisation === undefined) return null;
    const { keyId, organizationId, permission } = key;
    const restriction = restrictionOf(key);
    const principal = {
      kind: 'organisation',
      organizationId,
      keyId,
      permission,
      ...(restriction === null ? {} : { restriction }),
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

/** What an operation takes, for the sentences of a 401. */
function credentialOf(need: Need): string {
  if (need === 'person') return 'session token';
  return need === 'administrator' ? 'administrator key' : 'API key';
}

function credentialMissing(need: Need): string {
  const credential = credentialOf(need);
  const what = need === 'person' ? 'You are not signed in' : `The ${credential} is missing`;
  return `${what}: send the header "Authorization: Bearer <${credential}>".`;
}

function credentialUnknown(need: Need): string {
  if (need === 'person') return noSession;
  if (need === 'administrator')
    return 'The administrator key is not valid: send the value of QUARRY_ADMIN_KEY.';
  return 'The API key is not valid: it is unknown, was deleted or has expired.';
}

const noSession = 'The session is not valid: it is unknown or has ended. Sign in again.';

function digestBytes(digest: string): Buffer {
  return Buffer.from(digest, 'hex');
}

function administrationOff(): AppError {
  return new AppError(
    'unavailable',
    'Administration is off: start the server with QUARRY_ADMIN_KEY or QUARRY_ADMIN_PASSWORD_HASH set to use /v1/admin.',
    { shouldRetry: false },
  );
}
