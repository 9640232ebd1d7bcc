import { createCipheriv, createDecipheriv, createHmac, hash } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import {
  type IdempotencyKey,
  type IdempotencyRecord,
  IdempotencyRecords,
} from '../storage/idempotency-records.ts';
import type { Store } from '../storage/store.ts';
import type { UserCall } from './user-operations.ts';

const keyPattern = /^[\x20-\x7e]{1,255}$/;
const sweepMax = 1_000;
const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

export interface IdempotencyOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Secrets that seal replies, together with the key chosen by the client. The first seals; all are tried to
   * open earlier replies.
   */
  readonly secrets: readonly Uint8Array[];
  readonly callsPerUserMax?: number;
}

/** Change that may be repeated. */
export interface IdempotentWork<T> {
  readonly work: () => Promise<T>;
  /**
   * Returns the message of the 409 for repetitions if the reply contains a secret and must not be stored;
   * null if the reply may be stored.
   */
  readonly withheldReason?: ((reply: T) => string | null) | undefined;
}

/** Stored outcome of a successful call: its reply, or the reason why it cannot be repeated. */
type StoredOutcome = { readonly reply: unknown } | { readonly refusal: string };

/**
 * Runs a change with an `Idempotency-Key` once per user, operation and day, regardless of how often it is
 * sent. The call is recorded before its work starts and its reply after it ends, so a crash in between never
 * repeats it: a repeated request receives an error that its outcome is unknown.
 */
export class Idempotency {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #secrets: readonly Uint8Array[];
  readonly #callsPerUserMax: number;
  readonly #records: IdempotencyRecords;
  /** Calls whose work has started and not ended. */
  readonly #running = new Set<string>();

  constructor(options: IdempotencyOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#secrets = options.secrets;
    this.#callsPerUserMax = options.callsPerUserMax ?? limits.idempotencyKeysPerUserMax;
    this.#records = new IdempotencyRecords(options.store);
  }

  /**
   * Returns the reply of `work`, or of the earlier call with the same key. The caller authorizes the user
   * first: a stored reply does not reflect current permissions. Errors: 400 for an invalid key; 409 if the
   * key was used for another request, while the first call runs, after a crash interrupted it, and for a
   * withheld reply; 429 for too many keys per day.
   */
  async runOnce<T>(
    call: UserCall,
    request: unknown,
    { work, withheldReason }: IdempotentWork<T>,
  ): Promise<T> {
    const key = call.client.idempotencyKey;
    if (key === undefined) return work();
    if (!keyPattern.test(key)) {
      throw new AppError('bad_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
    }
    const { userId } = call.principal;
    const recordKey = { userId, callHash: hash('sha256', `${call.operation} ${key}`, 'hex') };
    const requestHash = hash('sha256', JSON.stringify(request), 'hex');
    if (this.#running.has(toRecordId(recordKey))) {
      throw new AppError('conflict', 'The first request with this Idempotency-Key is still in progress.');
    }
    const storedRecord = this.#records.get(recordKey);
    if (storedRecord !== undefined && storedRecord.expiresAt > this.#clock.now()) {
      return parseReply<T>(this.#open(requireReply(storedRecord, requestHash), recordKey, key));
    }
    this.#running.add(toRecordId(recordKey));
    try {
      return await this.#runFirst(recordKey, requestHash, key, { work, withheldReason });
    } finally {
      this.#running.delete(toRecordId(recordKey));
    }
  }

  /** Deletes calls older than a day. Called by periodic maintenance. */
  async sweep(): Promise<void> {
    const expired = await this.#records.listExpired(this.#clock.now(), sweepMax);
    const idle = expired.filter((recordKey) => !this.#running.has(toRecordId(recordKey)));
    await this.#store.write(
      idle.map((recordKey) => this.#records.delete(recordKey)),
      { mayUseReserve: true },
    );
  }

  async #runFirst<T>(
    recordKey: IdempotencyKey,
    requestHash: string,
    key: string,
    { work, withheldReason }: IdempotentWork<T>,
  ): Promise<T> {
    const callsMax = this.#callsPerUserMax;
    if ((await this.#records.count(recordKey.userId, callsMax)) >= callsMax) {
      throw new AppError(
        'rate_limited',
        `A user can send at most ${callsMax} different Idempotency-Keys per day.`,
      );
    }
    const pendingRecord = {
      requestHash,
      reply: null,
      expiresAt: this.#clock.now() + limits.idempotencyKeyMsMax,
    };
    await this.#store.write([this.#records.put(recordKey, pendingRecord)], { mayUseReserve: true });
    let reply: T;
    try {
      reply = await work();
    } catch (error) {
      // A rejected call has changed nothing and may be repeated. The outcome of an internal error is unknown.
      if (error instanceof AppError && (error.status < 500 || error.options.isRepeatable === true))
        await this.#store.write([this.#records.delete(recordKey)], { mayUseReserve: true });
      throw error;
    }
    const refusal = withheldReason?.(reply) ?? null;
    const stored: StoredOutcome = refusal === null ? { reply } : { refusal };
    const sealed = this.#seal(JSON.stringify(stored), recordKey, key);
    await this.#store.write([this.#records.put(recordKey, { ...pendingRecord, reply: sealed })], {
      mayUseReserve: true,
    });
    return reply;
  }

  #seal(text: string, recordKey: IdempotencyKey, key: string): Uint8Array {
    const iv = this.#random.bytes(ivBytes);
    const cipherStream = createCipheriv(cipher, sealKey(this.#secrets[0]!, recordKey, key), iv);
    const sealed = Buffer.concat([cipherStream.update(text, 'utf8'), cipherStream.final()]);
    return Buffer.concat([iv, cipherStream.getAuthTag(), sealed]);
  }

  #open(reply: Uint8Array, recordKey: IdempotencyKey, key: string): string {
    for (const secret of this.#secrets) {
      const text = openedWith(sealKey(secret, recordKey, key), reply);
      if (text !== null) return text;
    }
    // Sealed with a secret that has since been removed from the installation.
    throw replyLostError();
  }
}

function sealKey(secret: Uint8Array, { userId }: IdempotencyKey, key: string): Uint8Array {
  return createHmac('sha256', secret).update(`${userId} ${key}`).digest();
}

/** Returns null for data that was not sealed with this key. */
function openedWith(sealKey: Uint8Array, reply: Uint8Array): string | null {
  const decipherStream = createDecipheriv(cipher, sealKey, reply.subarray(0, ivBytes));
  decipherStream.setAuthTag(reply.subarray(ivBytes, ivBytes + tagBytes));
  const text = decipherStream.update(reply.subarray(ivBytes + tagBytes));
  try {
    return Buffer.concat([text, decipherStream.final()]).toString();
  } catch {
    return null;
  }
}

/** Returns the sealed reply. Errors: 409 if there is none for this request. */
function requireReply({ requestHash, reply }: IdempotencyRecord, requestHashSent: string): Uint8Array {
  if (requestHash !== requestHashSent) {
    throw new AppError(
      'conflict',
      'This Idempotency-Key was already used with a different request. Use a new key for each request.',
    );
  }
  if (reply === null) throw interruptedCallError();
  return reply;
}

function parseReply<T>(stored: string): T {
  const outcome = JSON.parse(stored) as StoredOutcome;
  if ('refusal' in outcome) throw new AppError('conflict', outcome.refusal, { shouldRetry: false });
  // Earlier versions stored the bare reply, including API keys; it is not repeated.
  if (!('reply' in outcome)) throw replyLostError();
  return outcome.reply as T;
}

/** A reply is stored only after its change. */
function replyLostError(): AppError {
  return new AppError(
    'conflict',
    'The change of the first request with this Idempotency-Key was applied, but its reply can no longer be read because the secret of this server was replaced. Check the result of the change instead of repeating the request.',
    { shouldRetry: false },
  );
}

function interruptedCallError(): AppError {
  return new AppError(
    'conflict',
    'The first request with this Idempotency-Key was interrupted. Check whether the change was applied; if not, send it again with a new key.',
  );
}

function toRecordId({ userId, callHash }: IdempotencyKey): string {
  return `${userId} ${callHash}`;
}
