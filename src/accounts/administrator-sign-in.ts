import { rateLimitAddress } from '../admission/address-key.ts';
import { ExponentialBackoff } from '../admission/exponential-backoff.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { DeniedAccessLog } from '../audit/denied-access-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type * as wire from '../schemas/sign-in.ts';
import type { Store } from '../storage/store.ts';
import type { AccountResponse, ClientInfo, ResponseCookie } from './client-info.ts';
import { verifyPassword } from './password.ts';
import type { PasswordQueue } from './password-queue.ts';
import { administratorId, type SecondFactors, wrongCodeError } from './second-factors.ts';
import type { Sessions } from './sessions.ts';

export interface AdministratorSignInOptions {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly audit: AuditLog;
  readonly deniedAccessLog: Pick<DeniedAccessLog, 'record'>;
  readonly clock: Clock;
  readonly secondFactors: SecondFactors;
  readonly passwordQueue: PasswordQueue;
  /** QUARRY_ADMIN_PASSWORD_HASH; null disables the administrator sign-in. */
  readonly adminPasswordHash: string | null;
}

/**
 * Administrator sign-in by password. A wrong password delays only the address that sent it, so an attacker
 * cannot lock the administrator out.
 */
export class AdministratorSignIn {
  readonly #options: AdministratorSignInOptions;
  readonly #backoff: ExponentialBackoff;

  constructor(options: AdministratorSignInOptions) {
    this.#options = options;
    this.#backoff = new ExponentialBackoff(options.clock);
  }

  /**
   * Errors: 401 for a wrong password or second-factor code; 429 for too many attempts from one address; 503
   * if the sign-in is not configured.
   */
  async login(
    client: ClientInfo,
    { password, code }: wire.AdminLoginRequest,
  ): Promise<AccountResponse<wire.AdminStatusResponse>> {
    const { adminPasswordHash, passwordQueue } = this.#options;
    if (adminPasswordHash === null) throw administratorSignInDisabledError();
    const clientKey = rateLimitAddress(client.address);
    this.#backoff.check([clientKey]);
    await passwordQueue.run(clientKey, async () => {
      // Checked again after the wait, so that concurrent guesses are delayed like consecutive ones.
      this.#backoff.check([clientKey]);
      if (!(await verifyPassword(password, adminPasswordHash)))
        throw this.#wrongPasswordError(client, clientKey);
    });
    await this.#checkCode(client, code ?? '');
    this.#backoff.reset([clientKey]);
    return this.#createSession(client);
  }

  async #checkCode({ address }: ClientInfo, code: string): Promise<void> {
    const { secondFactors, deniedAccessLog } = this.#options;
    if (!secondFactors.isEnabled(administratorId)) return;
    if (code === '') {
      throw new AppError(
        'unauthorized',
        'The administrator account has two-factor authentication enabled: also send the field code.',
      );
    }
    if (await secondFactors.check(administratorId, code, { actor: 'administrator', address })) return;
    const auditEvent = { organizationId: null, actor: null, address, target: 'second factor' };
    deniedAccessLog.record({ ...auditEvent, action: 'admin.login_failed' });
    throw wrongCodeError('unauthorized');
  }

  async logout(client: ClientInfo): Promise<AccountResponse<wire.AdminStatusResponse>> {
    const token = client.bearer ?? client.cookie('admin');
    if (token !== undefined) await this.#options.sessions.end(token, client.address);
    return {
      kind: 'json',
      body: { is_admin: false },
      cookie: { name: 'admin', value: null, maxAgeSeconds: 0 },
    };
  }

  #wrongPasswordError({ address }: ClientInfo, clientKey: string): AppError {
    this.#backoff.recordFailure([clientKey]);
    // Recorded in the background: a full disk must not change the reply.
    this.#options.deniedAccessLog.record({
      organizationId: null,
      actor: null,
      address,
      action: 'admin.login_failed',
      target: null,
    });
    return new AppError('unauthorized', 'The password is wrong.');
  }

  async #createSession(client: ClientInfo): Promise<AccountResponse<wire.AdminStatusResponse>> {
    const { store, sessions, audit } = this.#options;
    const { address } = client;
    const previousToken = client.isBrowser ? client.sessionToReplace('admin') : undefined;
    const { token, session, operations } = sessions.create(null, client, previousToken);
    const auditEvent = { organizationId: null, actor: 'administrator', address, target: null };
    const entry = audit.entryOperation({ ...auditEvent, action: 'admin.login' });
    await store.write([...operations, entry], { mayUseReserve: true });
    await sessions.enforceSessionLimit(null, address);
    const body = { is_admin: true, expires_at: toTimestamp(session.expiresAt) };
    if (!client.isBrowser) return { kind: 'json', body: { ...body, access_token: token } };
    const cookie: ResponseCookie = {
      name: 'admin',
      value: token,
      maxAgeSeconds: limits.adminSessionMsMax / 1_000,
    };
    return { kind: 'json', body, cookie };
  }
}

function administratorSignInDisabledError(): AppError {
  return new AppError(
    'unavailable',
    'Administrator sign-in is disabled. Set QUARRY_ADMIN_PASSWORD_HASH (create the hash with "quarry hash-password") and restart the server.',
    { shouldRetry: false },
  );
}
