import { addressKey } from '../admission/address-key.ts';
import { BackOff } from '../admission/back-off.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Refusals } from '../audit/refusals.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type * as wire from '../schemas/accounts.ts';
import type { Store } from '../store/store.ts';
import { isPassword } from './password.ts';
import { administratorId, type SecondFactors, wrongCode } from './second-factors.ts';
import type { Sessions } from './sessions.ts';
import { timestamp } from './user-operations.ts';
import type { Cookie, Outcome, Visitor } from './visitor.ts';

export interface AdministratorSignInOptions {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly audit: AuditLog;
  readonly refusals: Pick<Refusals, 'note'>;
  readonly clock: Clock;
  readonly secondFactors: SecondFactors;
  /** QUARRY_ADMIN_PASSWORD_HASH; null turns the administrator's sign-in off. */
  readonly adminPasswordHash: string | null;
}

/** The semaphore also serves callers that can leave; a password check is over before that pays. */
const stays = { gone: false, onGone: () => {} };

/**
 * The administrator's sign-in by password. Wrong passwords slow down the address that sends them and no other one, so
 * that an attacker cannot keep the administrator out. One password is hashed at a time, because each check costs 19 MiB
 * and 30 ms of a core; addresses take turns.
 */
export class AdministratorSignIn {
  readonly #options: AdministratorSignInOptions;
  readonly #backOff: BackOff;
  readonly #checks = new FairSemaphore({
    permits: 1,
    waitingMaxPerKey: limits.passwordsWaitingMax,
    errors: { queueFull: tooManyAtOnce, cancelled: tooManyAtOnce },
  });

  constructor(options: AdministratorSignInOptions) {
    this.#options = options;
    this.#backOff = new BackOff(options.clock);
  }

  /**
   * Errors: 401 for a wrong password or a wrong code of the second factor, 429 for too many of one address, 503 when it
   * is not configured.
   */
  async login(
    visitor: Visitor,
    { password, code }: wire.AdminLoginRequest,
  ): Promise<Outcome<wire.AdminStatusResponse>> {
    const { adminPasswordHash } = this.#options;
    if (adminPasswordHash === null) throw adminOff();
    const from = addressKey(visitor.address);
    this.#backOff.check([from]);
    await this.#checks.acquire(from, stays);
    try {
      // Again, because guesses sent at the same moment have to wait as those sent one after another.
      this.#backOff.check([from]);
      if (!(await isPassword(password, adminPasswordHash))) throw this.#wrong(visitor, from);
    } finally {
      this.#checks.release();
    }
    await this.#checkCode(visitor, code ?? '');
    this.#backOff.succeeded([from]);
    return this.#open(visitor);
  }

  async #checkCode({ address }: Visitor, code: string): Promise<void> {
    const { secondFactors, refusals } = this.#options;
    if (!secondFactors.isOn(administratorId)) return;
    if (code === '') {
      throw new AppError('unauthorised', 'The administrator has a second factor: send its `code`, too.');
    }
    if (await secondFactors.check(administratorId, code, { actor: 'administrator', address })) return;
    const fact = { organizationId: null, actor: null, address, target: 'second factor' };
    refusals.note({ ...fact, action: 'admin.login_failed' });
    throw wrongCode('unauthorised');
  }

  async logout(visitor: Visitor): Promise<Outcome<wire.AdminStatusResponse>> {
    const token = visitor.bearer ?? visitor.cookie('admin');
    if (token !== undefined) await this.#options.sessions.end(token, visitor.address);
    return { kind: 'json', body: { is_admin: false }, cookie: { name: 'admin', value: null, seconds: 0 } };
  }

  #wrong({ address }: Visitor, from: string): AppError {
    this.#backOff.failed([from]);
    // In the background: a full disk must not change the reply.
    this.#options.refusals.note({
      organizationId: null,
      actor: null,
      address,
      action: 'admin.login_failed',
      target: null,
    });
    return new AppError('unauthorised', 'The password is wrong.');
  }

  async #open(visitor: Visitor): Promise<Outcome<wire.AdminStatusResponse>> {
    const { store, sessions, audit } = this.#options;
    const { address } = visitor;
    const held = visitor.isBrowser ? visitor.held('admin') : undefined;
    const { token, session, operations } = sessions.open(null, visitor, held);
    const fact = { organizationId: null, actor: 'administrator', address, target: null };
    const entry = audit.entry({ ...fact, action: 'admin.login' });
    await store.write([...operations, entry], { mayUseReserve: true });
    await sessions.endSurplus(null, address);
    const body = { is_admin: true, expires_at: timestamp(session.expiresAt) };
    if (!visitor.isBrowser) return { kind: 'json', body: { ...body, access_token: token } };
    const cookie: Cookie = { name: 'admin', value: token, seconds: limits.adminSessionMsMax / 1_000 };
    return { kind: 'json', body, cookie };
  }
}

function tooManyAtOnce(): AppError {
  return new AppError(
    'rate_limited',
    'Too many passwords of your address are being checked; try again shortly.',
    { retryAfterMs: 1_000 },
  );
}

function adminOff(): AppError {
  return new AppError(
    'unavailable',
    'The administrator cannot sign in: start the server with QUARRY_ADMIN_PASSWORD_HASH, which "quarry hash-password" makes.',
    { shouldRetry: false },
  );
}
