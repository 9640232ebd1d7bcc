import { createCipheriv, createDecipheriv, createHmac, hash } from 'node:crypto';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { type RepeatableCall, type RepeatableCallPlace, RepeatableCalls } from '../store/repeatable-calls.ts';
import type { Store } from '../store/store.ts';
import type { PersonCall } from './user-operations.ts';

const keyShape = /^[\x20-\x7e]{1,255}$/;
const sweptMax = 1_000;
const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

export interface IdempotencyOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Seal replies, together with the key that the client chose: the first one; the others open earlier replies. */
  readonly secrets: readonly Uint8Array[];
  readonly callsPerPersonMax?: number;
}

/** A change that may be repeated. */
export interface RepeatableWork<T> {
  readonly work: () => Promise<T>;
  /**
   * For a reply with a secret in it, which must not be stored: the sentence that repetitions get instead, with 409. Null
   * for a reply that may be stored.
   */
  readonly withheld?: ((reply: T) => string | null) | undefined;
}

/** What is kept of a call that ended well: its reply, or why there is none to repeat. */
type StoredOutcome = { readonly reply: unknown } | { readonly refusal: string };

/**
 * Changes that are sent with an `Idempotency-Key` are done once, however often they are sent: by the same person, of the
 * same operation, for a day. The call is noted before its work begins and its reply after it ended, so that a crash in
 * between never repeats it: whoever sends it again is told that its outcome is unknown.
 */
export class Idempotency {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #chance: Chance;
  readonly #secrets: readonly Uint8Array[];
  readonly #callsPerPersonMax: number;
  readonly #records: RepeatableCalls;
  /** Calls whose work has begun and not ended. */
  readonly #running = new Set<string>();

  constructor(options: IdempotencyOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#chance = options.chance;
    this.#secrets = options.secrets;
    this.#callsPerPersonMax = options.callsPerPersonMax ?? limits.repeatableCallsPerPersonMax;
    this.#records = new RepeatableCalls(options.store);
  }

  /**
   * The reply of `work`, or of the call that did it before. The caller authorizes the person first: a stored reply says
   * nothing about what they may do now. Errors: 400 for an impossible key; 409 when another request was sent with it,
   * while the first is worked on, when a crash cut that off, and for a reply that is withheld; 429 for too many keys in a
   * day.
   */
  async once<T>(call: PersonCall, request: unknown, { work, withheld }: RepeatableWork<T>): Promise<T> {
    const key = call.visitor.idempotencyKey;
    if (key === undefined) return work();
    if (!keyShape.test(key)) {
      throw new AppError('bad_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
    }
    const { userId } = call.principal;
    const place = { userId, callHash: hash('sha256', `${call.operation} ${key}`, 'hex') };
    const requestHash = hash('sha256', JSON.stringify(request), 'hex');
    if (this.#running.has(nameOf(place))) {
      throw new AppError('conflict', 'The first request with this Idempotency-Key is still being worked on.');
    }
    const known = this.#records.get(place);
    if (known !== undefined && known.expiresAt > this.#clock.now()) {
      return replyOf<T>(this.#open(answered(known, requestHash), place, key));
    }
    this.#running.add(nameOf(place));
    try {
      return await this.#first(place, requestHash, key, { work, withheld });
    } finally {
      this.#running.delete(nameOf(place));
    }
  }

  /** Forgets the calls whose day is over; for housekeeping. */
  async sweep(): Promise<void> {
    const expired = await this.#records.expired(this.#clock.now(), sweptMax);
    const idle = expired.filter((place) => !this.#running.has(nameOf(place)));
    await this.#store.write(
      idle.map((place) => this.#records.delete(place)),
      { mayUseReserve: true },
    );
  }

  async #first<T>(
    place: RepeatableCallPlace,
    requestHash: string,
    key: string,
    { work, withheld }: RepeatableWork<T>,
  ): Promise<T> {
    const most = this.#callsPerPersonMax;
    if ((await this.#records.count(place.userId, most)) >= most) {
      throw new AppError('rate_limited', `A person may send ${most} different Idempotency-Keys a day.`);
    }
    const begun = { requestHash, reply: null, expiresAt: this.#clock.now() + limits.repeatableCallMsMax };
    await this.#store.write([this.#records.put(place, begun)], { mayUseReserve: true });
    let reply: T;
    try {
      reply = await work();
    } catch (error) {
      // What is refused has changed nothing and may be tried again. Of what broke, nobody knows how far it got.
      if (error instanceof AppError && (error.status < 500 || error.options.mayRepeat === true))
        await this.#store.write([this.#records.delete(place)], { mayUseReserve: true });
      throw error;
    }
    const refusal = withheld?.(reply) ?? null;
    const stored: StoredOutcome = refusal === null ? { reply } : { refusal };
    const sealed = this.#seal(JSON.stringify(stored), place, key);
    await this.#store.write([this.#records.put(place, { ...begun, reply: sealed })], { mayUseReserve: true });
    return reply;
  }

  #seal(text: string, place: RepeatableCallPlace, key: string): Uint8Array {
    const iv = this.#chance.bytes(ivBytes);
    const sealing = createCipheriv(cipher, sealKey(this.#secrets[0]!, place, key), iv);
    const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()]);
    return Buffer.concat([iv, sealing.getAuthTag(), sealed]);
  }

  #open(reply: Uint8Array, place: RepeatableCallPlace, key: string): string {
    for (const secret of this.#secrets) {
      const text = openedWith(sealKey(secret, place, key), reply);
      if (text !== null) return text;
    }
    // Sealed with a secret of the installation that was forgotten since.
    throw lost();
  }
}

function sealKey(secret: Uint8Array, { userId }: RepeatableCallPlace, key: string): Uint8Array {
  return createHmac('sha256', secret).update(`${userId} ${key}`).digest();
}

/** Null for what was not sealed with this key. */
function openedWith(sealKey: Uint8Array, reply: Uint8Array): string | null {
  const opening = createDecipheriv(cipher, sealKey, reply.subarray(0, ivBytes));
  opening.setAuthTag(reply.subarray(ivBytes, ivBytes + tagBytes));
  const text = opening.update(reply.subarray(ivBytes + tagBytes));
  try {
    return Buffer.concat([text, opening.final()]).toString();
  } catch {
    return null;
  }
}

/** The sealed reply. 409 where there is none for this request. */
function answered({ requestHash, reply }: RepeatableCall, sent: string): Uint8Array {
  if (requestHash !== sent) {
    throw new AppError(
      'conflict',
      'This Idempotency-Key was sent with another request: each request needs a key of its own.',
    );
  }
  if (reply === null) throw cutOff();
  return reply;
}

function replyOf<T>(stored: string): T {
  const outcome = JSON.parse(stored) as StoredOutcome;
  if ('refusal' in outcome) throw new AppError('conflict', outcome.refusal, { shouldRetry: false });
  // Earlier versions stored the bare reply, an API key in it included: it is not repeated.
  if (!('reply' in outcome)) throw lost();
  return outcome.reply as T;
}

/** A reply is stored only after its change. */
function lost(): AppError {
  return new AppError(
    'conflict',
    'The first request with this Idempotency-Key made its change, but the reply is lost, because the operator of this server replaced its secret: look for what it changed instead of sending it again.',
    { shouldRetry: false },
  );
}

function cutOff(): AppError {
  return new AppError(
    'conflict',
    'The first request with this Idempotency-Key was cut off: see whether it was done, and send it with a new key if not.',
  );
}

function nameOf({ userId, callHash }: RepeatableCallPlace): string {
  return `${userId} ${callHash}`;
}
