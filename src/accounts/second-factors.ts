import { Secret, TOTP } from 'otpauth';
import { addressKey } from '../admission/address-key.ts';
import { BackOff } from '../admission/back-off.ts';
import { RateWindow } from '../admission/rate-window.ts';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Sealing } from '../base/sealing.ts';
import { Mutex } from '../core/async/mutex.ts';
import { type SecondFactor, SecondFactorRecords } from '../store/second-factors.ts';
import type { Store } from '../store/store.ts';
import type { User } from '../store/users.ts';
import { tokenDigest } from './secret-token.ts';

/** The administrator is no user; no user has this id. */
export const administratorId = '00000000-0000-0000-0000-000000000000';

const secretBytes = 20;
const recoveryCodes = 10;
const recoveryBytes = 10;
const stepMs = 30_000;
/** Steps before and after the present one whose codes are accepted: clocks differ, and typing takes time. */
const window = 1;
const codeShape = /^\d{6}$/;

export interface SecondFactorsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly audit: AuditLog;
  /** Seals the keys of one-time passwords. */
  readonly sealing: Sealing;
  /** QUARRY_ADMIN_PASSWORD_HASH: another password turns the second factor of the administrator off. */
  readonly adminPasswordHash: string | null;
}

/** What an authenticator app is given. */
export interface SecondFactorOffer {
  /** Base32. */
  readonly secret: string;
  /** `otpauth://totp/...`, for a QR code. */
  readonly url: string;
}

export interface SecondFactorStatus {
  /** Milliseconds since the epoch; null while it is off. */
  readonly enabledAt: number | null;
  readonly recoveryCodesLeft: number;
}

/** Refuses the write of a sign-in that still needs the code of the second factor. */
export class SecondFactorNeeded extends Error {
  override readonly name = 'SecondFactorNeeded';
  readonly user: User;

  constructor(user: User) {
    super('the sign-in needs a second factor');
    this.user = user;
  }
}

/**
 * Second factors of sign-ins: time-based one-time passwords (RFC 6238) of an authenticator app, and recovery codes that
 * work once each. A wrong code slows down the address that sent it for that person, and codes of one person are limited
 * by the hour; recovery codes are not, so that nobody can keep a person out.
 */
export class SecondFactors {
  readonly #options: SecondFactorsOptions;
  readonly #records: SecondFactorRecords;
  readonly #sealing: Sealing;
  readonly #backOff: BackOff;
  readonly #codes: RateWindow;
  readonly #changes = new Mutex();

  constructor(options: SecondFactorsOptions) {
    this.#options = options;
    this.#records = new SecondFactorRecords(options.store);
    this.#sealing = options.sealing;
    this.#backOff = new BackOff(options.clock);
    const hourly = [{ ms: 3_600_000, max: limits.oneTimeCodesPerHourMax }];
    this.#codes = new RateWindow('codes (a recovery code is accepted)', hourly, options.clock);
  }

  isOn(userId: string): boolean {
    return this.status(userId).enabledAt !== null;
  }

  /** Throws `SecondFactorNeeded` for a user whose second factor is on. */
  require(user: User): void {
    if (this.isOn(user.userId)) throw new SecondFactorNeeded(user);
  }

  status(userId: string): SecondFactorStatus {
    const found = this.#find(userId);
    return {
      enabledAt: found?.enabledAt ?? null,
      recoveryCodesLeft: found?.enabledAt ? found.recoveryHashes.length : 0,
    };
  }

  /** Makes a key that `confirm` turns on; the key of an earlier call is void. 409 while the second factor is on. */
  begin(userId: string, label: string): Promise<SecondFactorOffer> {
    return this.#changes.run(async () => {
      if (this.isOn(userId)) {
        throw new AppError('conflict', 'The second factor is on: disable it first to set up another.');
      }
      const secret = new Secret({ buffer: new Uint8Array(this.#options.chance.bytes(secretBytes)).buffer });
      const sealedSecret = this.#sealing.seal(secret.base32, userId);
      const binding = this.#bindingOf(userId);
      const record = { sealedSecret, binding, enabledAt: null, lastStep: 0, recoveryHashes: [] };
      await this.#options.store.write([this.#records.put(userId, record)]);
      return { secret: secret.base32, url: totpOf(secret, label).toString() };
    });
  }

  /** Turns it on; returns the recovery codes, which are shown once. Errors: 400 nothing begun or a wrong code; 429. */
  confirm(userId: string, code: string, by: Actor): Promise<string[]> {
    return this.#changes.run(async () => {
      const found = this.#find(userId);
      if (found === undefined || found.enabledAt !== null) {
        throw new AppError('bad_request', 'No second factor waits for its first code: begin first.');
      }
      const lastStep = this.#guess(userId, by, () => this.#stepOf(userId, found, code));
      if (lastStep === null) throw wrongCode('bad_request');
      const { store, clock, chance } = this.#options;
      const codes = Array.from({ length: recoveryCodes }, () => recoveryCode(chance));
      const recoveryHashes = codes.map((each) => tokenDigest(plainCode(each)));
      const record = { ...found, enabledAt: clock.now(), lastStep, recoveryHashes };
      await store.write([
        this.#records.put(userId, record),
        this.#entry('second_factor.enabled', userId, by),
      ]);
      return codes;
    });
  }

  /** Turns it off with a code. Errors: 400 when it is off or the code is wrong; 429. */
  async disable(userId: string, code: string, by: Actor): Promise<void> {
    if (!this.isOn(userId)) throw new AppError('bad_request', 'The second factor is off.');
    if (!(await this.check(userId, code, by))) throw wrongCode('bad_request');
    await this.#remove(userId, 'second_factor.disabled', by);
  }

  /** Turns it off without a code, for the administrator. Idempotent. */
  async reset(userId: string, by: Actor): Promise<void> {
    await this.#remove(userId, 'second_factor.reset', by);
  }

  /** Uses a code up: true for the right one. Errors: 429 after too many wrong ones. */
  check(userId: string, code: string, by: Actor): Promise<boolean> {
    return this.#changes.run(async () => {
      const found = this.#find(userId);
      if (found === undefined || found.enabledAt === null) return false;
      const after = this.#guess(userId, by, () => this.#used(userId, found, code));
      if (after === null) return false;
      const isRecovery = after.recoveryHashes.length < found.recoveryHashes.length;
      const entries = isRecovery ? [this.#entry('second_factor.recovery_code_used', userId, by)] : [];
      // Also on a full disk, and before the sign-in: a code must not work twice.
      await this.#options.store.write([this.#records.put(userId, after), ...entries], {
        mayUseReserve: true,
      });
      return true;
    });
  }

  /** The record after the use of a code; null for a wrong one. */
  #used(userId: string, found: SecondFactor, code: string): SecondFactor | null {
    const recovery = tokenDigest(plainCode(code));
    if (found.recoveryHashes.includes(recovery)) {
      return { ...found, recoveryHashes: found.recoveryHashes.filter((each) => each !== recovery) };
    }
    const lastStep = this.#stepOf(userId, found, code);
    if (lastStep === null) return null;
    // Sealed again with the current secret of the installation, so that an earlier one can be forgotten.
    const sealedSecret = this.#sealing.seal(this.#unseal(userId, found), userId);
    return { ...found, sealedSecret, lastStep };
  }

  /** Slows down an address whose guesses are wrong. */
  #guess<Result>(userId: string, by: Actor, test: () => Result | null): Result | null {
    const keys = [`${userId} ${addressKey(by.address ?? '')}`];
    this.#backOff.check(keys);
    const result = test();
    if (result === null) this.#backOff.failed(keys);
    else this.#backOff.succeeded(keys);
    return result;
  }

  /** The time step of a one-time password that is right now and was not used; null for another one. */
  #stepOf(userId: string, found: SecondFactor, code: string): number | null {
    const token = code.replace(/\s/g, '');
    if (!codeShape.test(token)) return null;
    this.#codes.take(userId);
    const timestamp = this.#options.clock.now();
    const delta = totpOf(Secret.fromBase32(this.#unseal(userId, found)), '').validate({
      ...{ token, timestamp, window },
    });
    if (delta === null) return null;
    const step = Math.floor(timestamp / stepMs) + delta;
    return step > found.lastStep ? step : null;
  }

  #unseal(userId: string, { sealedSecret }: SecondFactor): string {
    const secret = this.#sealing.open(sealedSecret, userId);
    if (secret !== null) return secret;
    throw new AppError(
      'conflict',
      'The secret of the installation was replaced since this second factor was set up: use a recovery code, or ask the administrator to reset the second factor.',
      { shouldRetry: false },
    );
  }

  #remove(userId: string, action: string, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const operations = [this.#records.delete(userId), this.#entry(action, userId, by)];
      await this.#options.store.write(operations, { mayUseReserve: true });
    });
  }

  #find(userId: string): SecondFactor | undefined {
    const found = this.#records.get(userId);
    return found?.binding === this.#bindingOf(userId) ? found : undefined;
  }

  #bindingOf(userId: string): string {
    return userId === administratorId ? tokenDigest(this.#options.adminPasswordHash ?? '') : '';
  }

  #entry(action: string, target: string, by: Actor) {
    return this.#options.audit.entry({ ...by, organizationId: null, action, target });
  }
}

export function wrongCode(status: 'bad_request' | 'unauthorised'): AppError {
  return new AppError(
    status,
    'The code is wrong, too old, or was used already: wait for the next one of your app, or send a recovery code.',
  );
}

function totpOf(secret: Secret, label: string): TOTP {
  return new TOTP({ issuer: 'Quarry', label, secret, digits: 6, period: stepMs / 1_000 });
}

/** 80 bits as `abcd-efgh-ijkl-mnop`, in the letters of base32. */
function recoveryCode(chance: Chance): string {
  const { base32 } = new Secret({ buffer: new Uint8Array(chance.bytes(recoveryBytes)).buffer });
  return base32.toLowerCase().replace(/.{4}(?=.)/g, '$&-');
}

/** As people type it: without hyphens and blanks, in any case. */
function plainCode(code: string): string {
  return code.replace(/[\s-]/g, '').toLowerCase();
}
