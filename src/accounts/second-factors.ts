import { Secret, TOTP } from 'otpauth';
import { rateLimitAddress } from '../admission/address-key.ts';
import { ExponentialBackoff } from '../admission/exponential-backoff.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { rateLimits } from '../core/rate-limits.ts';
import type { Sealer } from '../core/sealer.ts';
import type { SecondFactorStatus } from '../schemas/second-factors.ts';
import { type SecondFactor, SecondFactorRecords } from '../storage/second-factors.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import type { User } from '../storage/users.ts';
import { hashToken } from './secret-token.ts';

/**
 * Id under which the administrator's second factor is stored. The administrator is not a user, and no user
 * has this id.
 */
export const administratorId = '00000000-0000-0000-0000-000000000000';

const secretBytes = 20;
const recoveryCodeCount = 10;
const recoveryCodeBytes = 10;
const stepMs = 30_000;
/**
 * Number of time steps before and after the current one whose codes are accepted, because clocks differ and
 * typing takes time.
 */
const windowSteps = 1;
const codePattern = /^\d{6}$/;

export interface SecondFactorsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly audit: AuditLog;
  /** Seals the secrets of one-time passwords. */
  readonly sealer: Sealer;
  /** QUARRY_ADMIN_PASSWORD_HASH. Changing the password disables the second factor of the administrator. */
  readonly adminPasswordHash: string | null;
}

/** Data for setting up an authenticator app. */
export interface SecondFactorEnrollment {
  /** Base32. */
  readonly secret: string;
  /** `otpauth://totp/...`, for a QR code. */
  readonly url: string;
}

/** Aborts the write of a sign-in that still needs a second-factor code. */
export class SecondFactorRequiredError extends Error {
  override readonly name = 'SecondFactorRequiredError';
  readonly user: User;

  constructor(user: User) {
    super('the sign-in needs a second factor');
    this.user = user;
  }
}

/**
 * Second factors of sign-ins: time-based one-time passwords (RFC 6238) from an authenticator app, and
 * recovery codes that work once each. A wrong code delays further attempts for that user from the same
 * address. One-time passwords of a user are also limited per hour; recovery codes are not, so that an
 * attacker cannot lock a user out.
 */
export class SecondFactors {
  readonly #options: SecondFactorsOptions;
  readonly #records: SecondFactorRecords;
  readonly #sealer: Sealer;
  readonly #backoff: ExponentialBackoff;
  readonly #codeAttempts: SlidingWindowLimiter;
  readonly #changes = new Mutex();

  constructor(options: SecondFactorsOptions) {
    this.#options = options;
    this.#records = new SecondFactorRecords(options.store);
    this.#sealer = options.sealer;
    this.#backoff = new ExponentialBackoff(options.clock);
    this.#codeAttempts = new SlidingWindowLimiter(
      'codes (recovery codes are still accepted)',
      rateLimits.oneTimeCodes,
      options.clock,
    );
  }

  isEnabled(userId: string): boolean {
    return this.status(userId).enabledAt !== null;
  }

  /** Throws `SecondFactorRequiredError` for a user whose second factor is enabled. */
  assertNotRequired(user: User): void {
    if (this.isEnabled(user.userId)) throw new SecondFactorRequiredError(user);
  }

  status(userId: string): SecondFactorStatus {
    const found = this.#find(userId);
    return {
      enabledAt: found?.enabledAt ?? null,
      recoveryCodesLeft: found?.enabledAt ? found.recoveryHashes.length : 0,
    };
  }

  /**
   * Creates a secret that `confirm` enables; the secret of an earlier call becomes void. Errors: 409 while
   * the second factor is enabled.
   */
  begin(userId: string, label: string): Promise<SecondFactorEnrollment> {
    return this.#changes.run(async () => {
      if (this.isEnabled(userId)) {
        throw new AppError(
          'conflict',
          'Two-factor authentication is already enabled. Disable it before you set it up again.',
        );
      }
      const secret = new Secret({ buffer: new Uint8Array(this.#options.random.bytes(secretBytes)).buffer });
      const sealedSecret = this.#sealer.seal(secret.base32, userId);
      const binding = this.#binding(userId);
      const record = { sealedSecret, binding, enabledAt: null, lastStep: 0, recoveryHashes: [] };
      await this.#options.store.write([this.#records.put(userId, record)]);
      return { secret: secret.base32, url: createTotp(secret, label).toString() };
    });
  }

  /**
   * Enables the second factor. Returns the recovery codes, which are shown once. Errors: 400 if no setup was
   * started or the code is wrong; 429.
   */
  confirm(userId: string, code: string, by: Actor): Promise<string[]> {
    return this.#changes.run(async () => {
      const found = this.#find(userId);
      if (found === undefined || found.enabledAt !== null) {
        throw new AppError(
          'bad_request',
          'There is no pending two-factor setup. Start with begin-second-factor.',
        );
      }
      const lastStep = this.#withBackoff(userId, by, () => this.#matchTimeStep(userId, found, code));
      if (lastStep === null) throw wrongCodeError('bad_request');
      const { store, clock, random } = this.#options;
      const codes = Array.from({ length: recoveryCodeCount }, () => generateRecoveryCode(random));
      const recoveryHashes = codes.map((each) => hashToken(normalizeCode(each)));
      const record = { ...found, enabledAt: clock.now(), lastStep, recoveryHashes };
      await store.write([
        this.#records.put(userId, record),
        this.#auditEntry('second_factor.enabled', userId, by),
      ]);
      return codes;
    });
  }

  /** Disables the second factor with a code. Errors: 400 if it is disabled or the code is wrong; 429. */
  async disable(userId: string, code: string, by: Actor): Promise<void> {
    if (!this.isEnabled(userId)) throw new AppError('bad_request', 'Two-factor authentication is disabled.');
    if (!(await this.check(userId, code, by))) throw wrongCodeError('bad_request');
    await this.#remove(userId, 'second_factor.disabled', by);
  }

  /** Disables the second factor without a code, for the administrator. Idempotent. */
  async reset(userId: string, by: Actor): Promise<void> {
    await this.#remove(userId, 'second_factor.reset', by);
  }

  /** Consumes a code. Returns whether it is correct. Errors: 429 after too many wrong ones. */
  check(userId: string, code: string, by: Actor): Promise<boolean> {
    return this.#changes.run(async () => {
      const found = this.#find(userId);
      if (found === undefined || found.enabledAt === null) return false;
      const after = this.#withBackoff(userId, by, () => this.#recordAfterUse(userId, found, code));
      if (after === null) return false;
      const isRecovery = after.recoveryHashes.length < found.recoveryHashes.length;
      const entries = isRecovery ? [this.#auditEntry('second_factor.recovery_code_used', userId, by)] : [];
      // Allowed on a full disk, and written before the sign-in: a code must not work twice.
      await this.#options.store.write([this.#records.put(userId, after), ...entries], {
        mayUseReserve: true,
      });
      return true;
    });
  }

  /** Returns the record after the use of a code; null for a wrong code. */
  #recordAfterUse(userId: string, found: SecondFactor, code: string): SecondFactor | null {
    const recovery = hashToken(normalizeCode(code));
    if (found.recoveryHashes.includes(recovery)) {
      return { ...found, recoveryHashes: found.recoveryHashes.filter((each) => each !== recovery) };
    }
    const lastStep = this.#matchTimeStep(userId, found, code);
    if (lastStep === null) return null;
    return { ...found, lastStep };
  }

  /** Delays further attempts of an address after wrong codes. */
  #withBackoff<Result>(userId: string, by: Actor, test: () => Result | null): Result | null {
    const keys = [`${userId} ${rateLimitAddress(by.address ?? '')}`];
    this.#backoff.check(keys);
    const result = test();
    if (result === null) this.#backoff.recordFailure(keys);
    else this.#backoff.reset(keys);
    return result;
  }

  /** Returns the time step of a one-time password that is currently valid and unused; null otherwise. */
  #matchTimeStep(userId: string, found: SecondFactor, code: string): number | null {
    const token = code.replace(/\s/g, '');
    if (!codePattern.test(token)) return null;
    this.#codeAttempts.consume(userId);
    const timestamp = this.#options.clock.now();
    const delta = createTotp(Secret.fromBase32(this.#unseal(userId, found)), '').validate({
      token,
      timestamp,
      window: windowSteps,
    });
    if (delta === null) return null;
    const step = Math.floor(timestamp / stepMs) + delta;
    return step > found.lastStep ? step : null;
  }

  #unseal(userId: string, { sealedSecret }: SecondFactor): string {
    const secret = this.#sealer.open(sealedSecret, userId);
    if (secret !== null) return secret;
    throw new AppError(
      'conflict',
      'The secret of this server was replaced after two-factor authentication was set up. Use a recovery code, or ask the administrator to reset your second factor.',
      { shouldRetry: false },
    );
  }

  /** Operation to be written with the end of all access to an account. */
  deleteOperation(userId: string): WriteOperation {
    return this.#records.delete(userId);
  }

  #remove(userId: string, action: string, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const operations = [this.#records.delete(userId), this.#auditEntry(action, userId, by)];
      await this.#options.store.write(operations, { mayUseReserve: true });
    });
  }

  #find(userId: string): SecondFactor | undefined {
    const found = this.#records.get(userId);
    return found?.binding === this.#binding(userId) ? found : undefined;
  }

  #binding(userId: string): string {
    return userId === administratorId ? hashToken(this.#options.adminPasswordHash ?? '') : '';
  }

  #auditEntry(action: string, target: string, by: Actor) {
    return this.#options.audit.entryOperation({ ...by, organizationId: null, action, target });
  }
}

export function wrongCodeError(status: 'bad_request' | 'unauthorized'): AppError {
  return new AppError(
    status,
    'The code is invalid, expired or already used. Wait for the next code of your app, or send a recovery code.',
  );
}

function createTotp(secret: Secret, label: string): TOTP {
  return new TOTP({ issuer: 'Quarry', label, secret, digits: 6, period: stepMs / 1_000 });
}

/** Returns 80 random bits as `abcd-efgh-ijkl-mnop`, in base32 letters. */
function generateRecoveryCode(random: Random): string {
  const { base32 } = new Secret({ buffer: new Uint8Array(random.bytes(recoveryCodeBytes)).buffer });
  return base32.toLowerCase().replace(/.{4}(?=.)/g, '$&-');
}

/** Normalizes typed codes: removes hyphens and spaces, ignores case. */
function normalizeCode(code: string): string {
  return code.replace(/[\s-]/g, '').toLowerCase();
}
